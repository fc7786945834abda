//! What the program was given last, and which look is left out for it.

/// The outcome of the last polls.
#[derive(Clone, Copy, Default)]
pub(super) struct Given {
    /// The last poll gave the program a message, and nothing is left that it waits for. Programs read until
    /// there is nothing (Open MPI 4.1 after each message): the next look would find a message that comes
    /// before the receive for it, which is dearer than one that comes after it. So that look is left out.
    pub served: bool,
    /// The last call gave completions without a poll.
    pub ready: bool,
}
