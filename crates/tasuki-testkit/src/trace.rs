//! What happened in a run: as a hash, by which two runs are compared, and as text, for the search of a fault.

use std::collections::VecDeque;

use tasuki_random::mix;

/// How much text a run keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// None, which is fastest.
    #[default]
    None,
    /// The last lines, so many.
    Tail(usize),
    /// Every line goes to standard error at once.
    Echo,
}

/// What happened in a run.
pub struct Trace {
    text: Text,
    lines: VecDeque<String>,
    hash: u64,
}

impl Trace {
    /// Without any events.
    pub fn new(text: Text) -> Trace {
        Trace { text, lines: VecDeque::new(), hash: 0 }
    }

    /// Adds something that happened to the hash of the run.
    pub fn mark(&mut self, words: &[u64]) {
        for &word in words {
            self.hash = mix(self.hash.rotate_left(5) ^ word);
        }
    }

    /// The hash of all that happened.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Keeps or prints a line, if text is wanted; otherwise the line is not made.
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

    /// The lines that were kept.
    pub fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }
}
