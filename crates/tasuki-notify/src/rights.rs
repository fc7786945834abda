//! Becoming a job's user, for good.

use nix::unistd::{Uid, User, initgroups, setgid, setuid};
use std::{env, ffi::CString};

/// The user in the place of root, whose jobs are told of with no rights at all.
const NOBODY: &str = "nobody";

/// Makes this process one of the user with this name, with all groups of the user's; of root's jobs one of
/// `nobody`. A process that is not root's stays what it is. Call it before any thread is started.
///
/// # Errors
/// In words: there is no such user on this host, or the system refuses.
pub fn become_user(name: &str) -> Result<(), String> {
    if !Uid::effective().is_root() {
        return Ok(());
    }
    let name = if name == "root" { NOBODY } else { name };
    let account = User::from_name(name).map_err(|errno| format!("user {name}: {errno}"))?;
    let account = account.ok_or_else(|| format!("there is no user {name} on this host"))?;
    if account.uid.is_root() {
        return Err(format!("user {name} has root's number"));
    }
    let words = CString::new(name).map_err(|error| error.to_string())?;
    let fail = |what: &str, errno: nix::Error| format!("cannot take the {what} of {name}: {errno}");
    initgroups(&words, account.gid).map_err(|errno| fail("groups", errno))?;
    setgid(account.gid).map_err(|errno| fail("group", errno))?;
    setuid(account.uid).map_err(|errno| fail("rights", errno))?;
    if setuid(Uid::from_raw(0)).is_ok() {
        return Err("the rights of root could be taken again".into());
    }
    // A folder of root's may be closed to the user.
    env::set_current_dir("/").map_err(|error| error.to_string())
}
