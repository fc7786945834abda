//! Output that a terminal does not obey: everything that the command prints for people passes this module.
//!
//! Names and messages come from other users (programs' names), other hosts (what they answer), frames (names
//! of hosts and NICs) and files. A control character in one could retitle or recolour a terminal, move its
//! cursor over what was printed before, or have it type text. So `print`, `println` and `eprintln` in the
//! crates of the command are this module's macros and not the standard library's (`#[macro_use] extern crate
//! tasuki_terminal`): whatever is printed passes [`visible`], and no place can forget it.
//!
//! Unlike those of the standard library they never panic where a reader has gone or a disk is full, which
//! would end a command before it has put hosts back: the failure is kept, and [`written`] says it.

use crate::failure::Failure;
use std::{
    borrow::Cow,
    fmt::Write,
    io::{self, Write as _},
    process::ExitCode,
    sync::OnceLock,
};

/// Why what was printed did not arrive; unset while all of it has.
static LOST: OnceLock<String> = OnceLock::new();

/// Whether a terminal obeys a character, or reorders the text around it: controls (C0, DEL, C1), marks of
/// direction (Unicode Standard Annex 9, section 2) and separators of lines.
fn is_obeyed(c: char) -> bool {
    let is_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || is_direction || matches!(c, '\u{2028}' | '\u{2029}')
}

/// The text, with every character that a terminal would obey written out, as `\u{1b}`. Line ends and tabs
/// stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
}

/// [`visible`] for a part of a line, such as a cell of a table: line ends and tabs are written out too,
/// because a name could make lines of its own with them.
pub fn in_a_line(text: &str) -> Cow<'_, str> {
    written_out(text, is_obeyed)
}

fn written_out(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_bad(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// JSON in which every character that a terminal would obey is escaped as JSON has it, which means the same
/// to a program. Outside of strings, JSON has none of these characters but line ends.
pub fn visible_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_obeyed(c) && c != '\n' {
            // All characters that a terminal obeys are below U+10000, so one escape is enough.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Writes to standard output, unless that has failed before.
pub fn put(write: impl FnOnce(&mut io::Stdout) -> io::Result<()>) {
    if LOST.get().is_some() {
        return;
    }
    if let Err(error) = write(&mut io::stdout()) {
        let why = error.to_string();
        // Its number says nothing to people.
        let _ = LOST.set(why.split_once(" (os error").map_or(why.as_str(), |(words, _)| words).to_owned());
    }
}

/// What `print` and `println` are made of.
#[doc(hidden)]
pub fn put_text(text: &str) {
    put(|out| out.write_all(visible(text).as_bytes()));
}

/// What `eprintln` is made of. There is nobody to be told that this does not arrive.
#[doc(hidden)]
pub fn put_error(text: &str) {
    let _ = io::stderr().write_all(visible(text).as_bytes());
}

/// Whether all that was printed has arrived, as far as this process can know. A command that prints until it
/// is ended has to ask.
///
/// # Errors
/// Why not.
pub fn written() -> Result<(), Failure> {
    put(io::Stdout::flush);
    match LOST.get() {
        None => Ok(()),
        Some(why) => Err(Failure::new(format!("cannot write to standard output: {why}"))),
    }
}

/// Says how a command has failed, and gives the exit code of its process. What could not be printed makes a
/// failure of a success.
pub fn end(result: Result<ExitCode, Failure>) -> ExitCode {
    let result = match (result, written()) {
        (Ok(code), Err(lost)) if code == ExitCode::SUCCESS => Err(lost),
        (Ok(code), Err(lost)) => {
            eprintln!("tasuki: {}", lost.message);
            Ok(code)
        }
        (result, _) => result,
    };
    result.unwrap_or_else(|Failure { message, code }| {
        eprintln!("tasuki: {message}");
        ExitCode::from(code)
    })
}

/// As the macro of the standard library, of a text that passes [`visible`]; it never panics.
#[macro_export]
macro_rules! print {
    ($($words:tt)*) => { $crate::put_text(&::std::format!($($words)*)) };
}

/// As the macro of the standard library, of a text that passes [`visible`]; it never panics.
#[macro_export]
macro_rules! println {
    () => { $crate::put_text("\n") };
    ($($words:tt)*) => { $crate::put_text(&(::std::format!($($words)*) + "\n")) };
}

/// As the macro of the standard library, of a text that passes [`visible`]; it never panics.
#[macro_export]
macro_rules! eprintln {
    () => { $crate::put_error("\n") };
    ($($words:tt)*) => { $crate::put_error(&(::std::format!($($words)*) + "\n")) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sequences that terminals obey: title, colour, clearing, answers typed as input, 8-bit forms, and text
    /// that is set backwards.
    const ATTACKS: [&str; 8] = [
        "\u{1b}]0;owned\u{7}",
        "\u{1b}[31;1m",
        "\u{1b}[2J\u{1b}[H",
        "\u{1b}[6n",
        "\u{9b}31m",
        "over\rwritten\u{8}\u{7f}",
        "\u{202e}txt.exe",
        "one\u{2028}two\u{85}",
    ];

    #[test]
    fn nothing_that_is_obeyed_is_left() {
        for attack in ATTACKS {
            for said in [visible(attack), in_a_line(attack)] {
                assert!(!said.chars().any(is_obeyed), "{attack:?}: {said:?}");
            }
        }
        assert_eq!(visible("a\u{1b}[31m"), "a\\u{1b}[31m");
        assert_eq!(in_a_line("two\nlines\t"), "two\\u{a}lines\\u{9}");
        let plain = "Schränke → 2.5 us\n\tn1 - n2";
        assert!(matches!(visible(plain), Cow::Borrowed(text) if text == plain));
    }

    #[test]
    fn json_means_the_same_and_is_harmless() {
        for attack in ATTACKS {
            let json = serde_json::to_string_pretty(&[attack, "plain\n"]).unwrap();
            let shown = visible_json(&json);
            assert!(!shown.chars().any(|c| is_obeyed(c) && c != '\n'), "{shown:?}");
            assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), [attack, "plain\n"]);
        }
    }
}
