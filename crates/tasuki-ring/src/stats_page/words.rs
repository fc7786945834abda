//! How a record is put into words, and text into words.
//! Every record is a row of 64-bit words. Text is padded with zero bytes.

/// A record that fits into `WORDS` words.
pub(crate) trait Words: Sized {
    /// Words that the record takes, without the sequence word.
    const WORDS: usize;
    /// Writes the record into exactly `WORDS` words.
    fn put(&self, into: &mut Cursor<'_>);
    /// Reads a record from as many words.
    fn get(from: &mut Cursor<'_>) -> Self;
}

/// An upper bound of `WORDS` for all records.
pub(crate) const WORDS_MAX: usize = 64;

/// Goes over words one by one; beyond the end it writes nothing and reads zero.
pub(crate) struct Cursor<'a>(pub(crate) &'a mut [u64]);

impl Cursor<'_> {
    /// Appends a number.
    pub(crate) fn number(&mut self, value: u64) {
        if let Some((first, rest)) = std::mem::take(&mut self.0).split_first_mut() {
            *first = value;
            self.0 = rest;
        }
    }

    /// Takes the next number.
    pub(crate) fn read(&mut self) -> u64 {
        let Some((first, rest)) = std::mem::take(&mut self.0).split_first_mut() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Appends at most `words * 8` bytes of `text`, cut between characters.
    pub(crate) fn text(&mut self, text: &str, words: usize) {
        let bytes = &text.as_bytes()[..text.floor_char_boundary(words * 8)];
        for word in 0..words {
            let part = bytes.get(word * 8..).unwrap_or_default();
            let mut padded = [0; 8];
            let len = part.len().min(8);
            padded[..len].copy_from_slice(&part[..len]);
            self.number(u64::from_le_bytes(padded));
        }
    }

    /// Takes text that takes up `words` words.
    pub(crate) fn read_text(&mut self, words: usize) -> String {
        let bytes: Vec<u8> = (0..words).flat_map(|_| self.read().to_le_bytes()).collect();
        let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        let mut words = [0; 2];
        Cursor(&mut words).text("0123456789abcdé", 2);
        assert_eq!(Cursor(&mut words).read_text(2), "0123456789abcdé");
        Cursor(&mut words).text("0123456789abcdeé", 2);
        assert_eq!(Cursor(&mut words).read_text(2), "0123456789abcde");
    }
}
