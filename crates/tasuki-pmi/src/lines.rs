//! Cuts what a rank sends into requests. A request is a line, or, if it begins with `mcmd=`, all lines up
//! to `endcmd`.

/// The beginning of a request of several lines, and its last line.
const MANY: &str = "mcmd=";
const LAST: &str = "endcmd";

/// Bytes that have come and are not a whole request yet.
#[derive(Debug, Default)]
pub struct Lines {
    /// Bytes of the line that is not complete.
    partial: Vec<u8>,
    /// The lines of a request of several, each with its end.
    many: String,
}

impl Lines {
    /// Takes bytes up to the end of the next request. Returns how many it took, and the request, without
    /// the end of its last line.
    ///
    /// # Errors
    /// What is wrong with the line: its length, or a byte that is not printable ASCII.
    pub fn take(&mut self, bytes: &[u8], limit: usize) -> Result<(usize, Option<String>), String> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        let text = &bytes[..end.unwrap_or(taken)];
        if self.many.len() + self.partial.len() + text.len() > limit {
            return Err(format!("a request of more than {limit} bytes"));
        }
        if let Some(byte) = text.iter().find(|byte| !matches!(**byte, b' '..=b'~' | b'\t')) {
            return Err(format!("byte {byte:#04x} in a request, which is not printable ASCII"));
        }
        self.partial.extend_from_slice(text);
        if end.is_none() {
            return Ok((taken, None));
        }
        let line = String::from_utf8(std::mem::take(&mut self.partial)).map_err(|error| error.to_string())?;
        Ok((taken, self.line(line)))
    }

    fn line(&mut self, line: String) -> Option<String> {
        if self.many.is_empty() && !line.starts_with(MANY) {
            return Some(line);
        }
        if line == LAST {
            return Some(std::mem::take(&mut self.many));
        }
        self.many.push_str(&line);
        self.many.push('\n');
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut bytes: &[u8], limit: usize) -> Result<Vec<String>, String> {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let (taken, request) = lines.take(bytes, limit)?;
            bytes = &bytes[taken..];
            found.extend(request);
        }
        Ok(found)
    }

    #[test]
    fn requests_of_one_and_of_several_lines() {
        let bytes = b"cmd=a b=c\nmcmd=spawn\nnprocs=1\n\nendcmd\ncmd=d\ncmd=not whole";
        assert_eq!(all(bytes, 100).unwrap(), ["cmd=a b=c", "mcmd=spawn\nnprocs=1\n\n", "cmd=d"]);
    }

    #[test]
    fn length_and_bytes_are_bounded() {
        assert_eq!(all(b"1234\n", 4).unwrap(), ["1234"]);
        assert!(all(b"12345\n", 4).unwrap_err().contains("more than 4 bytes"));
        assert!(all(b"mcmd=a\nb\nc\nd\ne\n", 12).is_err(), "all lines of a request count");
        assert!(all(b"cmd=\0\n", 12).unwrap_err().contains("0x00"));
        assert!(all("cmd=ü\n".as_bytes(), 12).is_err());
    }
}
