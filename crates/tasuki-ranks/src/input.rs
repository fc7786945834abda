//! Standard input, for rank 0.

use crate::connection::Word;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::{getpgrp, read, tcgetpgrp},
};
use std::{
    io::{self, IsTerminal},
    os::fd::AsFd,
    sync::mpsc::{Receiver, SyncSender},
    thread,
    time::Duration,
};
use tasuki_shepherd::INPUT_WINDOW;

/// Bytes that are read at once. A shepherd takes twice as many before rank 0 has read any.
const PIECE: usize = INPUT_WINDOW / 2;
/// How often a command in the background looks whether its terminal is its own again.
const BACKGROUND: Duration = Duration::from_millis(500);

/// Tells what comes on standard input, a piece at a time, the next when the one before was `taken`; until it
/// ends, or nobody takes any more.
pub(crate) fn feed(words: &SyncSender<Word>, taken: &Receiver<()>) {
    let input = io::stdin();
    loop {
        // A process of the background that reads its terminal is stopped, and its job with it.
        while input.is_terminal() && tcgetpgrp(&input).is_ok_and(|group| group != getpgrp()) {
            thread::sleep(BACKGROUND);
        }
        let mut bytes = vec![0; PIECE];
        let _ = poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
        match read(&input, &mut bytes) {
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            // What cannot be read is at its end.
            Ok(0) | Err(_) => return drop(words.send(Word::InputEnd)),
            Ok(count) => {
                bytes.truncate(count);
                if words.send(Word::Input(bytes)).is_err() || taken.recv().is_err() {
                    return;
                }
            }
        }
    }
}
