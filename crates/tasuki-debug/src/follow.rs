//! What gdb prints, line by line.

use std::{
    io::{BufRead, BufReader},
    process::ChildStdout,
    sync::mpsc::Sender,
    thread,
};
use tasuki_stacks::mi::{Record, record};

/// Hands on every record of a gdb's output, and `None` at its end.
pub(crate) fn follow(output: ChildStdout, tell: impl Fn(Option<Record>) -> bool + Send + 'static) {
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        // What a program prints need not be UTF-8.
        while matches!(output.read_until(b'\n', &mut line), Ok(length) if length > 0) {
            let text = String::from_utf8_lossy(&line);
            if let Some(record) = record(text.trim_end())
                && !tell(Some(record))
            {
                return;
            }
            line.clear();
        }
        tell(None);
    });
}

/// A function for [`follow`] that makes an event of each record and sends it.
pub(crate) fn to<T: Send + 'static>(
    events: &Sender<T>,
    event: impl Fn(Option<Record>) -> T + Send + 'static,
) -> impl Fn(Option<Record>) -> bool + Send + 'static {
    let events = events.clone();
    move |record| events.send(event(record)).is_ok()
}
