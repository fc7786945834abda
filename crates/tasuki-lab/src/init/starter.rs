//! The end of the connection to the process that started `lab-init`.

use super::{
    mounts,
    outcome::{Outcome, while_doing},
};
use crate::{channel::Channel, protocol::Commit};
use nix::unistd::dup2_stderr;
use std::fs::OpenOptions;

/// Waits for the starter's last message. True: it lets the lab go. False: it has ended, and the lab ends with
/// it.
pub(super) fn let_go(control: &Channel) -> bool {
    matches!(control.receive::<Commit>(), Ok(Some(_))) && redirect_log().is_ok()
}

/// Sends later errors to a file in the lab instead of the starter's terminal.
fn redirect_log() -> Outcome<()> {
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(mounts::LAB_FOLDER.to_owned() + "/log")
        .map_err(while_doing("open the log"))?;
    dup2_stderr(&log).map_err(while_doing("redirect the log"))
}
