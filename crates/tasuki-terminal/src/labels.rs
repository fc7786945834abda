//! Lines of several writers, each with its writer's name.

use std::collections::BTreeMap;

/// Puts the name of its writer before every line of what several writers write.
#[derive(Debug, Default)]
pub struct Labels {
    /// Whether the last line of a writer's stream is not at its end yet.
    open: BTreeMap<(String, bool), bool>,
}

impl Labels {
    /// Adds to `bytes` what a writer has written to its standard output or error. A line that comes in pieces
    /// gets one name.
    pub fn add(&mut self, writer: &str, is_error: bool, piece: &[u8], bytes: &mut Vec<u8>) {
        let is_open = self.open.entry((writer.to_owned(), is_error)).or_default();
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            if !*is_open {
                bytes.extend(format!("[{writer}] ").into_bytes());
            }
            bytes.extend(line);
            *is_open = !line.ends_with(b"\n");
        }
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_one_name_however_it_comes() {
        let mut labels = Labels::default();
        assert!(labels.is_empty());
        let mut bytes = Vec::new();
        for (writer, is_error, piece) in
            [("3", false, "one\ntw"), ("4", false, "x\n"), ("3", true, "e\n"), ("3", false, "o\nthree\n")]
        {
            labels.add(writer, is_error, piece.as_bytes(), &mut bytes);
        }
        assert_eq!(String::from_utf8(bytes).unwrap(), "[3] one\n[3] tw[4] x\n[3] e\no\n[3] three\n");
        assert!(!labels.is_empty());
    }
}
