//! What a host shows of its load: processors, packets, interrupts.

use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};
use std::{
    collections::HashSet,
    fs,
    time::{Duration, Instant},
};
use tasuki_host::NicCounts;
use tasuki_sys::{
    tcp::bare_segments,
    ticks::{Shares, Ticks},
};
use tasuki_tune::Sample;

/// What a host has counted since the machine's start.
#[derive(Clone, Debug)]
pub struct Counts {
    at: Instant,
    /// Time of the processors that are looked at.
    ticks: Ticks,
    /// Interrupts of the NICs; `None`: they have none that could be counted.
    interrupts: Option<u64>,
    /// TCP segments sent without data.
    bare: u64,
    /// What each NIC has counted.
    pub nics: Vec<NicCounts>,
}

/// Counts processor time, and the interrupts of some NICs.
pub struct Sampler {
    processors: Vec<usize>,
    interrupts: HashSet<u32>,
}

impl Sampler {
    /// Finds the interrupts of these NICs (virtual ones have none) and the processors: those that this
    /// process may run on, which in a lab are the host's own, and elsewhere usually all.
    pub fn new(interfaces: &[String]) -> Self {
        let processors = own_processors();
        Self { processors, interrupts: interfaces.iter().flat_map(|name| interrupts_of(name)).collect() }
    }

    /// Whether interrupts can be counted; else packets stand for them.
    pub fn counts_interrupts(&self) -> bool {
        !self.interrupts.is_empty()
    }

    /// The counts now, with those of the NICs, which the caller has looked at.
    pub fn look(&self, nics: Vec<NicCounts>) -> Counts {
        let ticks = Ticks::of(&self.processors).unwrap_or_default();
        let all = fs::read_to_string("/proc/interrupts").unwrap_or_default();
        let interrupts = (!self.interrupts.is_empty()).then(|| count(&all, &self.interrupts));
        let bare = bare_segments().unwrap_or_default();
        Counts { at: Instant::now(), ticks, interrupts, bare, nics }
    }
}

impl Counts {
    /// What happened between an earlier look and this one.
    pub fn since(&self, before: &Counts) -> Sample {
        let Shares { user, busy, .. } = self.ticks.since(&before.ticks).shares().unwrap_or_default();
        let packets = |counts: &Counts| counts.nics.iter().map(|nic| nic.packets).sum::<u64>();
        let packets = packets(self).saturating_sub(packets(before)) as f64;
        let sent = |counts: &Counts| counts.nics.iter().map(|nic| nic.sent_packets).sum::<u64>();
        let sent =
            sent(self).saturating_sub(sent(before)).saturating_sub(self.bare.saturating_sub(before.bare));
        let interrupts = self.interrupts.zip(before.interrupts);
        let interrupts = interrupts.map(|(now, before)| now.saturating_sub(before) as f64);
        Sample {
            seconds: self.at.duration_since(before.at).max(Duration::from_micros(1)).as_secs_f64(),
            busy,
            user,
            packets,
            sent: sent as f64,
            interrupts: interrupts.unwrap_or(packets),
        }
    }
}

/// The processors that this process may run on.
fn own_processors() -> Vec<usize> {
    // The kernel refuses to tell if the machine has more processors than a set holds. Then all numbers that
    // the set could hold are taken: processors that are not there have no ticks.
    let set = sched_getaffinity(Pid::from_raw(0)).ok();
    let is_own = |number: &usize| set.is_none_or(|set| set.is_set(*number) == Ok(true));
    (0..CpuSet::count()).filter(is_own).collect()
}

/// The numbers of a NIC's interrupts, as sysfs has them.
fn interrupts_of(interface: &str) -> Vec<u32> {
    let device = format!("/sys/class/net/{interface}/device");
    let several = fs::read_dir(format!("{device}/msi_irqs")).into_iter().flatten().flatten();
    let several: Vec<u32> = several.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    if !several.is_empty() {
        return several;
    }
    let one = fs::read_to_string(format!("{device}/irq")).ok().and_then(|text| text.trim().parse().ok());
    one.filter(|number| *number > 0).into_iter().collect()
}

/// The sum of these interrupts over all processors, from `/proc/interrupts`.
fn count(text: &str, numbers: &HashSet<u32>) -> u64 {
    let of_line = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        if !numbers.contains(&number.trim().parse().ok()?) {
            return None;
        }
        Some(rest.split_whitespace().map_while(|word| word.parse::<u64>().ok()).sum::<u64>())
    };
    text.lines().filter_map(of_line).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_read_as_the_kernel_writes_them() {
        let interrupts = "           CPU0       CPU1\n  \
             1:          9          0   IO-APIC   1-edge      i8042\n \
             24:      10000       2345   PCI-MSI 65536-edge      ens4\n \
             25:  1 2  PCI-MSI ens4-TxRx-1\nNMI: 5 5 x\n";
        assert_eq!(count(interrupts, &HashSet::from([24, 25])), 12_348);
        assert_eq!(count(interrupts, &HashSet::from([7])), 0);
    }
}
