//! Tells users of the end of their jobs: by e-mail, through the host's mailer, or by a POST of HTTP.
//!
//! A process for each job does it ([`notify_main`]), with the rights of the job's user, so that neither the
//! user's mailer nor a server that does not answer is any concern of the daemon, which starts them and asks
//! what became of them ([`Notifiers`]). Every step has a limit.
#![forbid(unsafe_code)]

mod children;
mod http;
mod mail;

mod message;
mod process;
mod rights;

pub use children::{Notifiers, Task};
pub use process::notify_main;

/// The command of Tasuki that runs [`notify_main`].
pub const COMMAND: &str = "notify-user";
