//! The load of a host.

use crate::{HostSample, NicLoad, RankLoad, per_second};
use serde::Serialize;

/// What a host does now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostLoad {
    /// The host's name.
    pub host: String,
    /// Number of processors.
    pub processors: u32,
    /// Share of their time that they work, 0 to 1.
    pub busy: f64,
    /// Processes that ran or wanted to, averaged over a minute.
    pub load: f64,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Memory that programs cannot get any more, bytes.
    pub memory_used_bytes: u64,
    /// Temperature of the hottest sensor, degrees Celsius.
    pub celsius: Option<f32>,
    /// Bytes per second that its NICs send.
    pub sent: f64,
    /// Bytes per second that its NICs receive.
    pub received: f64,
    /// Damaged frames per second.
    pub errors: f64,
    /// NICs that are up.
    pub nics_up: usize,
    /// All NICs that are shown.
    pub nics: usize,
    /// Processes that use Tasuki.
    pub ranks: usize,
}

impl HostLoad {
    /// Of two samples of a host, and of what was made of them already for its NICs and processes.
    pub(crate) fn between(
        host: &str,
        before: &HostSample,
        now: &HostSample,
        nics: &[NicLoad],
        ranks: &[RankLoad],
    ) -> Self {
        let (then, processors) = (&before.processors, &now.processors);
        let all = processors.all_ns.saturating_sub(then.all_ns);
        Self {
            host: host.into(),
            processors: processors.count,
            busy: per_second(then.busy_ns, processors.busy_ns, all as f64).min(1.0),
            load: processors.load,
            memory_bytes: now.memory.total,
            memory_used_bytes: now.memory.total.saturating_sub(now.memory.available),
            celsius: now.celsius,
            sent: nics.iter().map(|nic| nic.sent).sum(),
            received: nics.iter().map(|nic| nic.received).sum(),
            errors: nics.iter().map(|nic| nic.errors).sum(),
            nics_up: nics.iter().filter(|nic| nic.up).count(),
            nics: nics.len(),
            ranks: ranks.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Memory, Processors};

    // proc_stat(5): of 400 ticks that two processors had in two seconds, 300 were not idle.
    #[test]
    fn a_host_works_for_the_share_of_ticks_that_are_not_idle() {
        let sample = |busy_ns, all_ns| HostSample {
            processors: Processors { count: 2, busy_ns, all_ns, load: 1.5 },
            memory: Memory { total: 1000, available: 400 },
            ..HostSample::default()
        };
        let load = |before, now| HostLoad::between("n1", &before, &now, &[], &[]);
        let busy = load(sample(1000, 5000), sample(1300, 5400));
        assert_eq!((busy.busy, busy.memory_used_bytes, busy.processors), (0.75, 600, 2));
        assert_eq!(load(sample(1000, 5000), sample(1000, 5000)).busy, 0.0, "no tick has passed");
        assert_eq!(load(sample(1000, 5000), sample(10, 20)).busy, 0.0, "the host booted anew");
    }
}
