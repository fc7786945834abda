//! Which processes of a host are meant.

use crate::stand;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasuki_stacks::{Selection, halted, user_name};

/// Which processes are meant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Target {
    /// Those that use Tasuki and that the selection has.
    Selection {
        /// Job, program, ranks.
        selection: Selection,
        /// Whether only those are meant that a signal has stopped.
        stopped: bool,
    },
    /// Those that stand before their program until a debugger comes, with this name of their job.
    Standing(String),
}

/// A process that a debugger can be asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Debuggee {
    /// Its number on its host.
    pub pid: u32,
    /// Its rank.
    pub rank: Option<u32>,
    /// Its program's name.
    pub program: String,
    /// The job of the resident runtime that it belongs to.
    pub job: Option<String>,
    /// The name of its user, as its host knows him.
    #[serde(default)]
    pub user: Option<String>,
    /// Why no debugger can have it.
    pub problem: Option<String>,
}

impl Target {
    /// The processes of this host that are meant, and what could not be read.
    pub(crate) fn local(&self) -> (Vec<Debuggee>, Vec<String>) {
        match self {
            Self::Standing(name) => (stand::standing(name), Vec::new()),
            Self::Selection { selection, stopped } => selected(selection, *stopped),
        }
    }
}

fn selected(selection: &Selection, stopped: bool) -> (Vec<Debuggee>, Vec<String>) {
    let (samples, problems) = tasuki_load::processes();
    // A process with several endpoints has a page for each.
    let mut found = BTreeMap::new();
    for sample in samples.into_iter().filter(|sample| selection.has(sample)) {
        let (pid, is_known) = (sample.pid(), sample.cpu_ns.is_some());
        if stopped && !(is_known && halted::is_stopped(pid)) {
            continue;
        }
        let problem = match is_known {
            true => halted::obstacle(pid),
            false => Some("its process id on this host is not known, or it has ended".into()),
        };
        let (page, job) = (sample.page, sample.job);
        let user = page.user.map(user_name);
        let debuggee = Debuggee { pid, rank: page.rank, program: page.program, job, user, problem };
        // A page whose process is not known may say the number of any other.
        found.entry((pid, is_known)).or_insert(debuggee);
    }
    (found.into_values().collect(), problems)
}
