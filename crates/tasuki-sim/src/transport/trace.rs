//! What happened, as a number that two runs can be compared by, and as text for those who look for a fault.

use std::collections::VecDeque;

use crate::mix;

/// How much text a run keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// None: the fastest.
    #[default]
    None,
    /// The last lines.
    Tail(usize),
    /// Every line, to standard error at once.
    Echo,
}

pub(crate) struct Trace {
    text: Text,
    lines: VecDeque<String>,
    hash: u64,
}

impl Trace {
    pub fn new(text: Text) -> Trace {
        Trace { text, lines: VecDeque::new(), hash: 0 }
    }

    /// Takes something that happened into the hash of the run.
    pub fn mark(&mut self, words: &[u64]) {
        for &word in words {
            self.hash = mix(self.hash.rotate_left(5) ^ word);
        }
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Keeps a line, if anybody wants it.
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        match self.text {
            Text::None => {}
            Text::Echo => eprintln!("{}", line()),
            Text::Tail(most) => {
                if self.lines.len() >= most {
                    self.lines.pop_front();
                }
                self.lines.push_back(line());
            }
        }
    }

    pub fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }
}
