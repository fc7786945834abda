//! What the list says of a variable.

use std::fmt;

/// A part of Tasuki that reads variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    /// Every endpoint: programs over the libfabric provider, and programs that use `tasuki.h`.
    Endpoints,
    /// The libfabric provider, and the libfabric in front of the system's.
    Provider,
    /// The `tasuki` command.
    Command,
    /// The ranks of submitted jobs, for which Tasuki sets them.
    Ranks,
    /// The tests.
    Tests,
}

impl Reader {
    /// All readers, in the order of the documentation.
    pub const ALL: [Reader; 5] =
        [Reader::Endpoints, Reader::Provider, Reader::Command, Reader::Ranks, Reader::Tests];
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reader::Endpoints => "programs that send messages",
            Reader::Provider => "the libfabric provider",
            Reader::Command => "the tasuki command",
            Reader::Ranks => "ranks of submitted jobs",
            Reader::Tests => "tests",
        })
    }
}

/// The values that a variable may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, or what the text says.
    ChoiceOr(&'static [&'static str], &'static str),
    /// A whole number of something, as `a number of MiB`.
    Number(&'static str),
    /// Anything that the text describes, as `an IP address`.
    Text(&'static str),
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Choice(words) => match words {
                [all @ .., last] if !all.is_empty() => write!(f, "{} or {last}", all.join(", ")),
                words => f.write_str(&words.join(", ")),
            },
            Values::ChoiceOr(words, text) => write!(f, "{}, or {text}", words.join(", ")),
            Values::Number(text) | Values::Text(text) => f.write_str(text),
        }
    }
}

/// One variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What holds if it is not set: the value as it would be written, or a description. Empty: nothing.
    pub default: &'static str,
    /// The values that it may have; any other is an error.
    pub values: Values,
    /// What it does.
    pub meaning: &'static str,
    /// The parts that read it.
    pub readers: &'static [Reader],
}

impl Variable {
    /// The words that it may be set to; none if it takes something else.
    pub const fn words(&self) -> &'static [&'static str] {
        match self.values {
            Values::Choice(words) | Values::ChoiceOr(words, _) => words,
            Values::Number(_) | Values::Text(_) => &[],
        }
    }
}
