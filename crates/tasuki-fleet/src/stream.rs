//! What the agent of a host prints: its answers line by line, and the last lines of its standard error. What
//! is kept of either is bounded, whatever the agent prints.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io::{BufRead, BufReader, Read},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, channel, sync_channel},
    },
    thread,
    time::Duration,
};

/// How many times as long it is waited for a first line of a stream that goes on.
const PATIENCE: u32 = 10;
/// How many bytes an answer has at most: the longest tell all rules of a firewall. A longer line comes in
/// pieces, none of which is an answer.
pub const ANSWER: usize = 128 << 20;
/// How many answers are read before they are asked for. An agent that prints more waits.
const AHEAD: usize = 1;
/// How many bytes of a line of standard error are kept together.
const ERROR: u64 = 4096;

/// Lines of a stream as they come. The channel ends with the stream.
pub fn answers(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = sync_channel(AHEAD);
    if let Some(stream) = stream {
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            while let Some(line) = next_line(&mut stream, ANSWER as u64) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// The last lines of a stream. It is read all the time, so that its writer never waits.
pub struct Tail {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Nothing is ever sent; it ends with the stream.
    ended: Receiver<Infallible>,
}

impl Tail {
    /// Follows a stream and keeps its last `most` lines.
    pub fn of(stream: Option<impl Read + Send + 'static>, most: usize) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, ended) = channel();
        if let Some(stream) = stream {
            let lines = lines.clone();
            thread::spawn(move || {
                let _ended_with_this_thread = sender;
                let mut stream = BufReader::new(stream);
                while let Some(line) = next_line(&mut stream, ERROR) {
                    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                    lines.push_back(line);
                    if lines.len() > most {
                        lines.pop_front();
                    }
                }
            });
        }
        Self { lines, ended }
    }

    /// The last lines once the stream has ended, or after `limit` if it goes on; where there is none, after
    /// ten times as long.
    pub fn last(&self, limit: Duration) -> Vec<String> {
        for _ in 0..PATIENCE {
            let has_ended = self.ended.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected);
            let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if has_ended || !lines.is_empty() {
                return lines.iter().cloned().collect();
            }
        }
        Vec::new()
    }
}

/// The next line of a stream, or the next `most` bytes of it if it is longer; `None`: the stream has ended.
/// What is not UTF-8 is replaced.
fn next_line(stream: &mut impl BufRead, most: u64) -> Option<String> {
    let mut line = Vec::new();
    match stream.take(most).read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn an_endless_line_comes_in_pieces_and_odd_bytes_are_replaced() {
        let mut endless = BufReader::new(io::repeat(b'a'));
        assert_eq!(next_line(&mut endless, 5), Some("aaaaa".into()));
        assert_eq!(next_line(&mut endless, 3), Some("aaa".into()));
        let mut odd = &b"\xff\r\nnext"[..];
        assert_eq!(next_line(&mut odd, 9), Some("\u{fffd}".into()));
        assert_eq!([next_line(&mut odd, 9), next_line(&mut odd, 9)], [Some("next".into()), None]);
    }

    #[test]
    fn of_a_long_stream_the_last_lines_are_kept() {
        let text: String = (0..1000).map(|number| format!("{number}\n")).collect();
        assert_eq!(Tail::of(Some(io::Cursor::new(text)), 2).last(LONG), ["998", "999"]);
        assert!(Tail::of(None::<io::Empty>, 2).last(LONG).is_empty());
    }
}
