//! Standard input from memory.

use nix::sys::memfd::{MFdFlags, memfd_create};
use std::{
    fs::File,
    io::{self, Seek, Write},
};

/// A file in memory that holds `text` and is read from its beginning, for use as a command's standard input.
///
/// Unlike a pipe it never makes the writer wait for the reader, and the reader sees all of the text even if
/// this process ends meanwhile.
///
/// # Errors
/// What memfd_create(2) or write(2) says.
pub fn text_file(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"input", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_command_reads_the_whole_text() {
        let text = "line\n".repeat(100_000);
        let output = Command::new("wc").arg("-c").stdin(text_file(&text).unwrap()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), text.len().to_string());
    }
}
