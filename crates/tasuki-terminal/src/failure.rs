//! How commands fail: a message for people and an exit code for scripts.

use std::fmt::Display;

/// Exit code of `tasuki-agent` and of `lab exec` if the command could not be started, as of ssh.
pub const NOT_STARTED: u8 = 255;

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    /// What to tell the user.
    pub message: String,
    /// The process's exit code.
    pub code: u8,
}

impl Failure {
    /// A failure with exit code 1.
    pub fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), code: 1 }
    }

    /// A failure because of wrong arguments.
    pub fn usage(message: impl Display) -> Self {
        Self::new(message).with_code(2)
    }

    /// This failure with another exit code.
    pub fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
