//! Output that a terminal does not obey: everything that the command prints for people passes this module.
//!
//! Names and messages come from other users (programs' names), other hosts (what they answer), frames (names
//! of hosts and NICs) and files. A control character in one could retitle or recolour a terminal, move its
//! cursor over what was printed before, or have it type text. So `print`, `println` and `eprintln` in the
//! crates of the command are this module's macros and not the standard library's (`#[macro_use] extern crate
//! tasuki_terminal`): whatever is printed passes [`visible`], and no place can forget it.

use std::{borrow::Cow, fmt::Write};

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

/// As the macro of the standard library, of a text that has passed [`visible`].
#[macro_export]
macro_rules! print {
    ($($words:tt)*) => {
        ::std::print!("{}", $crate::visible(&::std::format!($($words)*)))
    };
}

/// As the macro of the standard library, of a text that has passed [`visible`].
#[macro_export]
macro_rules! println {
    () => { ::std::println!() };
    ($($words:tt)*) => {
        ::std::println!("{}", $crate::visible(&::std::format!($($words)*)))
    };
}

/// As the macro of the standard library, of a text that has passed [`visible`].
#[macro_export]
macro_rules! eprintln {
    () => { ::std::eprintln!() };
    ($($words:tt)*) => {
        ::std::eprintln!("{}", $crate::visible(&::std::format!($($words)*)))
    };
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
