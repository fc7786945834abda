//! What agents are told, and what they say.

use crate::target::{Debuggee, Target};
use serde::{Deserialize, Serialize};

/// An order to an agent. It answers each with a [`Report`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Say which processes are meant. No process stands still for it.
    List(Target),
    /// Run a debugger for each of these processes, which stand still from then on.
    Attach(Vec<Debuggee>),
    /// Give the debuggers of these processes, by their numbers, a command.
    Command(Vec<u32>, String),
    /// Answer when something has changed, or after so many milliseconds.
    Wait(u64),
    /// Have these processes stop, and these debuggers end what they do.
    Interrupt(Vec<u32>),
    /// Let these processes go on without a debugger.
    Detach(Vec<u32>),
}

/// What an agent answers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The processes that are meant: the answer to [`Order::List`].
    pub found: Vec<Debuggee>,
    /// The processes that have a debugger, or have had one.
    pub states: Vec<Told>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// What a debugger has said since the last report.
#[derive(Debug, Serialize, Deserialize)]
pub struct Told {
    /// The number of its process.
    pub pid: u32,
    /// What it does now.
    pub state: State,
    /// Its words.
    pub text: String,
}

/// What a debugger and its process do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// The debugger is at work.
    Busy,
    /// The process stands still, and the debugger awaits a command.
    Stopped,
    /// The process runs; the debugger takes no command.
    Running,
    /// There is no debugger any more, and why.
    Gone(String),
}

impl State {
    /// Whether the debugger does not take commands, but will.
    pub fn is_at_work(&self) -> bool {
        matches!(self, Self::Busy | Self::Running)
    }
}
