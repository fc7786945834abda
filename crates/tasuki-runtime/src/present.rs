//! What a host says of itself when it joins the others.

use crate::Bundle;
use std::thread;
use tasuki_control::{JobId, Report};

/// What a host says of itself.
#[derive(Clone, Copy)]
pub(crate) struct Present {
    /// Cores that ranks may use.
    pub cores: u32,
    /// Memory, bytes; 0: unknown.
    pub memory: u64,
}

impl Present {
    /// Of this host. Hosts of a lab share this machine's memory.
    pub fn of(bundle: &Bundle) -> Self {
        let sharers = if bundle.lab { bundle.hosts.len().max(1) as u64 } else { 1 };
        Self {
            cores: thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            memory: memory() / sharers,
        }
    }

    /// `jobs`: those that were taken over.
    pub fn report(self, jobs: Vec<JobId>) -> Report {
        Report::Present { cores: self.cores, memory: self.memory, jobs }
    }
}

/// Memory of this machine, bytes; 0: unknown (proc_meminfo(5)).
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
