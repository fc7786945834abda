//! Names that were given up for the field's words do not come back.
//!
//! A name is looked for in identifiers (whole ones, or a part between underscores or capitals) and in the
//! names of files, in the crates in which it was given up. The same word may be right elsewhere.

use crate::breach::{Breach, Law};
use crate::lexer::{Kind, lex};
use crate::tree::{Tree, part_of};

pub const LAW: Law = Law {
    name: "words",
    remedy: "use the field's word that the message names, in identifiers, names of files, comments and tests",
};

/// How a word is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As {
    /// A part of an identifier: `joint` is found in `JointCopy` and `is_joint`.
    Part,
    /// The whole identifier, whatever its case: `way` is found in `Way` and not in `way_back`.
    Whole,
}

struct Word {
    old: &'static str,
    new: &'static str,
    find: As,
    /// Crates without `tasuki-`. Empty: all.
    crates: &'static [&'static str],
}

const fn part(old: &'static str, new: &'static str, crates: &'static [&'static str]) -> Word {
    Word { old, new, find: As::Part, crates }
}

const fn whole(old: &'static str, new: &'static str, crates: &'static [&'static str]) -> Word {
    Word { old, new, find: As::Whole, crates }
}

/// Crates through which a message goes.
const PATH: &[&str] =
    &["ring", "link", "msg", "proto", "wire", "frames", "bulk", "engine", "ofi", "capi", "sim", "broker"];

/// The `tasuki` command and its arguments.
const COMMAND: &[&str] = &["cli", "args"];

const WORDS: &[Word] = &[
    whole("at_once", "inline, fast path", PATH),
    whole("send_at_once", "inline, fast path", PATH),
    whole("line", "inline, fast path (or the name of what it holds: cache line, text)", &["engine"]),
    part("joint", "dual copy", PATH),
    part("gate", "biased lock", &["engine"]),
    whole("upper", "upcalls", &["engine"]),
    part("burst", "coalesce", &["engine"]),
    part("bursts", "coalesce", &["engine"]),
    part("held", "coalesced", &["engine", "models"]),
    part("minder", "coalescing watchdog", &["engine"]),
    part("patience", "wait policy", PATH),
    whole("looks", "poll budget", PATH),
    part("company", "oversubscription", &["engine", "ofi", "capi", "cli", "args"]),
    part("crowd", "oversubscription", &["engine", "ofi", "capi"]),
    whole("service", "rma", &["engine", "msg"]),
    whole("way", "route", PATH),
    whole("ways", "routes", PATH),
    part("taking", "rx", &["engine"]),
    part("giving", "tx", &["engine"]),
    whole("note", "control message", &["engine"]),
    whole("notes", "control messages", &["engine"]),
    whole("offers", "rendezvous keys", &["engine", "msg"]),
    part("draft", "tx packet", &["proto"]),
    whole("late", "deferred ack", &["proto"]),
    whole("fill", "pack frames", &["proto"]),
    whole("aside", "deferred close", &["engine"]),
    whole("watch", "liveness", &["engine"]),
    whole("places", "fleet", COMMAND),
    whole("here", "local", COMMAND),
];

/// Names that contain a word which was given up and mean something else: tc(8) calls a token bucket's size
/// its burst, and `pool_held` is the memory of the pool that unexpected messages occupy.
const OTHER_MEANINGS: &[&str] = &["burst_bytes", "pool_held"];

pub fn check(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in tree.with_extension("rs") {
        let part = part_of(path);
        let name = part.strip_prefix("tasuki-").unwrap_or(part);
        let words: Vec<&Word> =
            WORDS.iter().filter(|word| word.crates.is_empty() || word.crates.contains(&name)).collect();
        if words.is_empty() {
            continue;
        }
        let mut breach = |line, name: &str, word: &Word| {
            let what = format!("`{name}`: not `{}` but {}", word.old, word.new);
            breaches.push(Breach { file: path.to_owned(), line, what, key: part.to_owned(), weight: 1 });
        };
        let own_name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
        let folders = path.split("/src/").nth(1).unwrap_or_default().split('/').rev().skip(1);
        for name in folders.chain([own_name]) {
            words.iter().filter(|word| word.is_in(name)).for_each(|word| breach(1, name, word));
        }
        for token in lex(text).tokens.iter().filter(|token| token.kind == Kind::Ident) {
            words
                .iter()
                .filter(|word| word.is_in(&token.text))
                .for_each(|word| breach(token.line, &token.text, word));
        }
    }
    breaches
}

impl Word {
    fn is_in(&self, identifier: &str) -> bool {
        if OTHER_MEANINGS.contains(&identifier) {
            return false;
        }
        let parts = parts(identifier);
        let old: Vec<&str> = self.old.split('_').collect();
        match self.find {
            As::Whole => parts == old,
            As::Part => parts.windows(old.len()).any(|window| window == old.as_slice()),
        }
    }
}

/// The parts of an identifier in lower case: `is_joint` and `IsJoint` are both `is`, `joint`.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut after_small = false;
    for character in identifier.chars() {
        if character == '_' {
            parts.push(String::new());
        } else {
            if parts.is_empty() || character.is_uppercase() && after_small {
                parts.push(String::new());
            }
            if let Some(last) = parts.last_mut() {
                last.extend(character.to_lowercase());
            }
        }
        after_small = character.is_lowercase() || character.is_ascii_digit();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|breach| breach.line).collect()
    }

    #[test]
    fn identifiers_are_split_at_underscores_and_capitals() {
        assert_eq!(parts("JointCopy_of2Ends"), ["joint", "copy", "of2", "ends"]);
        assert_eq!(parts("SLOT_STATE"), ["slot", "state"]);
        assert_eq!(parts("_x"), ["x"]);
    }

    #[test]
    fn an_old_word_is_found_as_a_part_or_as_a_whole() {
        let path = "crates/tasuki-engine/src/x.rs";
        assert_eq!(lines(path, "fn is_joint() {}\nstruct JointCopy;\n// joint\nlet a = \"joint\";"), [1, 2]);
        assert_eq!(lines(path, "enum Way {}\nfn way_back() {}\nlet way = 1;"), [1, 3]);
        assert_eq!(lines(path, "fn send_at_once() {}\nfn two_at_once() {}\nfn at() { once() }"), [1]);
    }

    #[test]
    fn a_word_is_forbidden_where_it_was_given_up_and_not_elsewhere() {
        assert_eq!(lines("crates/tasuki-topo/src/x.rs", "enum Way {}"), [0; 0]);
        assert_eq!(lines("crates/tasuki-cli/src/x.rs", "mod places;"), [1]);
        assert_eq!(lines("crates/tasuki-args/src/x.rs", "struct Places;\nlet here = 1;"), [1, 2]);
        assert_eq!(lines("crates/tasuki-models/src/x.rs", "fn send_held() {}\nlet pool_held = 1;"), [1]);
    }

    #[test]
    fn names_of_files_and_folders_count() {
        assert_eq!(lines("crates/tasuki-engine/src/minder.rs", ""), [1]);
        assert_eq!(lines("crates/tasuki-cli/src/apply/here.rs", ""), [1]);
        assert_eq!(lines("crates/tasuki-engine/src/crowd/mod.rs", ""), [1]);
    }
}
