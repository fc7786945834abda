//! A comment can be understood without its neighbours, and is about a thing and not about "whoever" does
//! something.

use crate::breach::{Breach, Law};
use crate::tree::{Tree, part_of};

pub const LAW: Law = Law {
    name: "comments",
    remedy: "begin with the thing that the comment is about, and name what it is the same as: not \"The \
             same, under one \
             lock.\" but \"Like `poll_many`, but also makes progress, under one acquisition of the lock.\"; \
             not \"Who has the lock\" but \"The thread that holds the lock\"",
};

/// How a comment must not begin.
const BEGINNINGS: [&str; 6] = ["The same", "And ", "Who ", "Whoever ", "Whose ", "Whom "];

pub fn check(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, lexed) in tree.rust() {
        let riddles = lexed.comments.iter().filter(|comment| is_riddle(&comment.text));
        breaches.extend(riddles.map(|comment| Breach {
            file: path.to_owned(),
            line: comment.line,
            what: format!("a comment begins so: {}", comment.text.chars().take(60).collect::<String>()),
            key: part_of(path).to_owned(),
            weight: 1,
        }));
    }
    breaches
}

fn is_riddle(comment: &str) -> bool {
    let text = comment.trim_start_matches(['/', '!', '*']).trim_start();
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn riddles_are_found_in_every_kind_of_comment() {
        let lines = |text: &str| -> Vec<usize> {
            let breaches = check(&Tree::of(&[("crates/a/src/b.rs", text)]));
            breaches.into_iter().map(|breach| breach.line).collect()
        };
        assert_eq!(
            lines("/// The same, under one lock.\nfn a() {} // Who has it.\n//! And more.\n/* Whoever */"),
            [1, 2, 3, 4]
        );
        assert_eq!(lines("/// The sameness of a.\n"), [1], "the law looks at words' beginnings");
        assert_eq!(lines("/// Like `b`.\n// Android who\n//  The peer.\nlet a = \"// Who \";"), [0; 0]);
    }
}
