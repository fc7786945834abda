//! Users, as the system's databases know them.

use crate::{ShepherdError, User};
use nix::unistd::{Uid, User as Account, getgrouplist};
use std::ffi::CString;

impl User {
    /// The user with this id, with all its groups and no limits.
    ///
    /// # Errors
    /// If there is no such user, or the databases cannot be asked.
    pub fn of_uid(uid: u32) -> Result<Self, ShepherdError> {
        let no_user = |why: String| ShepherdError::User { uid, why };
        let account = Account::from_uid(Uid::from_raw(uid)).map_err(|error| no_user(error.to_string()))?;
        let account = account.ok_or_else(|| no_user("there is no such user on this host".into()))?;
        let name = CString::new(account.name.as_bytes()).map_err(|error| no_user(error.to_string()))?;
        let groups = getgrouplist(&name, account.gid).map_err(|error| no_user(error.to_string()))?;
        Ok(Self {
            name: account.name,
            uid,
            gid: account.gid.as_raw(),
            groups: groups.into_iter().map(|group| group.as_raw()).collect(),
            limits: Vec::new(),
        })
    }
}
