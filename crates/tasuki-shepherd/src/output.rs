//! What a rank writes, in whole lines.

use std::time::{Duration, Instant};

/// A line that is longer than this is passed on in parts, in bytes.
const LINE_MAX: usize = 64 << 10;
/// How long the beginning of a line waits for its end: a program that prompts waits for an answer.
pub const PROMPT_DELAY: Duration = Duration::from_millis(200);

/// Cuts a stream into lines.
#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
    /// When the partial line began to wait.
    since: Option<Instant>,
}

/// Bytes to pass on, and whether they end with a whole line.
pub type Piece = (Vec<u8>, bool);

impl Lines {
    /// Takes bytes that were written at `now`. Returns what can be passed on.
    pub fn take(&mut self, bytes: &[u8], now: Instant) -> Option<Piece> {
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
        let mut piece = std::mem::take(&mut self.partial);
        if whole == 0 {
            piece.extend_from_slice(bytes);
            if piece.len() >= LINE_MAX {
                self.since = None;
                return Some((piece, false));
            }
            self.partial = piece;
            self.since = self.since.or(Some(now));
            return None;
        }
        piece.extend_from_slice(&bytes[..whole]);
        self.partial = bytes[whole..].to_vec();
        self.since = (!self.partial.is_empty()).then_some(now);
        Some((piece, true))
    }

    /// When [`Lines::late`] will have something, if nothing comes.
    pub fn deadline(&self) -> Option<Instant> {
        self.since.map(|since| since + PROMPT_DELAY)
    }

    /// The beginning of a line that has waited long enough.
    pub fn late(&mut self, now: Instant) -> Option<Piece> {
        self.deadline().filter(|deadline| *deadline <= now).and_then(|_| self.rest())
    }

    /// What is left at the end of the stream.
    pub fn rest(&mut self) -> Option<Piece> {
        self.since = None;
        let partial = std::mem::take(&mut self.partial);
        (!partial.is_empty()).then_some((partial, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_passed_on_and_the_rest_waits_for_its_end() {
        let now = Instant::now();
        let mut lines = Lines::default();
        assert_eq!(lines.take(b"ab", now), None);
        assert_eq!(lines.take(b"c\nd\ne", now), Some((b"abc\nd\n".to_vec(), true)));
        assert_eq!(lines.take(b"\n", now), Some((b"e\n".to_vec(), true)));
        assert_eq!((lines.rest(), lines.deadline()), (None, None));
        assert_eq!(lines.take(b"end", now), None);
        assert_eq!(lines.rest(), Some((b"end".to_vec(), false)));
    }

    #[test]
    fn a_prompt_does_not_wait_for_ever() {
        let now = Instant::now();
        let mut lines = Lines::default();
        lines.take(b"name", now);
        lines.take(b": ", now + PROMPT_DELAY / 2);
        assert_eq!(lines.deadline(), Some(now + PROMPT_DELAY));
        assert_eq!(lines.late(now + PROMPT_DELAY / 2), None);
        assert_eq!(lines.late(now + PROMPT_DELAY), Some((b"name: ".to_vec(), false)));
        assert_eq!(lines.late(now + PROMPT_DELAY * 2), None);
    }

    #[test]
    fn a_line_without_end_is_passed_on_in_parts() {
        let now = Instant::now();
        let mut lines = Lines::default();
        let part = vec![b'x'; LINE_MAX / 2];
        assert_eq!(lines.take(&part, now), None);
        let (piece, whole) = lines.take(&part, now).unwrap();
        assert_eq!((piece.len(), whole), (LINE_MAX, false));
        assert_eq!(lines.take(b"y\n", now), Some((b"y\n".to_vec(), true)));
    }
}
