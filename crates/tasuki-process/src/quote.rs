//! Words for a shell.

use std::ffi::OsStr;

/// A word for a POSIX shell, which gives it back unchanged (POSIX.1-2017, Shell Command Language, section
/// 2.2.2).
pub fn quote(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn words_pass_a_shell_unchanged() {
        for word in ["--host", "/a b", "it's", "$HOME", "", "a;b", "100M", "a\nb", "*", "`id`", "\\", "~"] {
            let script = format!("printf %s {}", quote(word.as_ref()));
            let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
