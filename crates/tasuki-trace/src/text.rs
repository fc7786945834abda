//! A trace as the text that simulators read.

use std::io::{self, Write};

use crate::join::{Direction, Joined};

impl Joined {
    /// Writes the trace as `docs/reference/trace-format.md` describes. `of` is what it is a trace of, for
    /// people; line breaks in it are left out.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, of: &str, out: &mut dyn Write) -> io::Result<()> {
        let of: String = of.chars().filter(|character| !character.is_control()).collect();
        writeln!(out, "tasuki-trace 1\nranks {}\n# {of}", self.ranks.len())?;
        writeln!(out, "# rank event peer bytes compute_us # begin_us")?;
        for (rank, (events, end)) in self.ranks.iter().zip(&self.ends).enumerate() {
            for event in events {
                let direction = match event.direction {
                    Direction::Send => "send",
                    Direction::Receive => "recv",
                };
                let (compute, begin) = (micros(event.compute), micros(event.at));
                writeln!(out, "{rank} {direction} {} {} {compute} # {begin}", event.peer, event.bytes)?;
            }
            writeln!(out, "{rank} end - 0 {}", micros(*end))?;
        }
        Ok(())
    }

    /// Number of messages, each of which has a send and a receive.
    pub fn messages(&self) -> u64 {
        self.sends().count() as u64
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.sends().sum()
    }

    fn sends(&self) -> impl Iterator<Item = u64> {
        let events = self.ranks.iter().flatten();
        events.filter(|event| event.direction == Direction::Send).map(|event| event.bytes)
    }
}

/// Nanoseconds as microseconds.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::{Event, LeftOut};

    #[test]
    fn the_text_has_a_header_and_a_line_for_each_event_and_end() {
        let send = Event { direction: Direction::Send, peer: 1, bytes: 8, compute: 1_050, at: 0 };
        let receive = Event { direction: Direction::Receive, peer: 0, bytes: 8, compute: 0, at: 12_345_678 };
        let joined =
            Joined { ranks: vec![vec![send], vec![receive]], ends: vec![0, 9], left_out: LeftOut::default() };
        let mut text = Vec::new();
        joined.write("a\n.out", &mut text).unwrap();
        let expected = "tasuki-trace 1\nranks 2\n# a.out\n# rank event peer bytes compute_us # begin_us\n\
                        0 send 1 8 1.050 # 0.000\n0 end - 0 0.000\n\
                        1 recv 0 8 0.000 # 12345.678\n1 end - 0 0.009\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert_eq!((joined.messages(), joined.bytes()), (1, 8));
    }
}
