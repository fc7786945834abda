//! What the kernel's polling thread does, seen from outside of the lab: the processor time that it takes, and
//! how often it is woken, which stands for interrupts.

use crate::BenchError;
use nix::{
    time::{ClockId, clock_getcpuclockid},
    unistd::Pid,
};
use std::{
    fs,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tasuki_sys::clock::monotonic_ns;

/// Time between two samples. What happens between two samples is taken to happen evenly.
const PAUSE: Duration = Duration::from_millis(20);

/// The number of the kernel's thread of this name. No other thread has the name: the number of what the
/// thread polls is part of it.
pub(super) fn polling_thread(name: &str) -> Result<u32, BenchError> {
    let is_it =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name);
    let entries = fs::read_dir("/proc")?.flatten();
    let mut numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.find(is_it).ok_or_else(|| {
        BenchError::refused(format!(
            "the kernel's thread {name} cannot be seen from here: is this a container?"
        ))
    })
}

/// What the thread had done at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sample {
    at_ns: u64,
    /// How often it has gone to sleep, which is how often it was woken.
    woken: f64,
    /// Processor time, seconds.
    seconds: f64,
}

/// What the thread did in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Polling {
    /// How often it was woken.
    pub woken: f64,
    /// Processor time, seconds.
    pub seconds: f64,
}

/// Samples a thread again and again until it is dropped.
pub(super) struct PollingSampler {
    samples: Arc<Mutex<Vec<Sample>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PollingSampler {
    /// Begins to sample a thread of the kernel.
    pub fn begin(pid: u32) -> Result<Self, BenchError> {
        let unseen = || {
            BenchError::refused(format!("the kernel's thread {pid}, which polls, cannot be seen from here"))
        };
        let clock = i32::try_from(pid).ok().and_then(|pid| clock_getcpuclockid(Pid::from_raw(pid)).ok());
        let clock = clock.ok_or_else(unseen)?;
        let first = sample(pid, clock).ok_or_else(unseen)?;
        let samples = Arc::new(Mutex::new(vec![first]));
        let stop = Arc::new(AtomicBool::new(false));
        let (all, ended) = (Arc::clone(&samples), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                thread::sleep(PAUSE);
                all.lock().unwrap_or_else(PoisonError::into_inner).extend(sample(pid, clock));
            }
        });
        Ok(Self { samples, stop, thread: Some(thread) })
    }

    /// What the thread did between two times of CLOCK_MONOTONIC, nanoseconds.
    pub fn between(&self, [from, to]: [u64; 2]) -> Polling {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let (begun, ended) = (at(&samples, from), at(&samples, to));
        Polling { woken: ended.woken - begun.woken, seconds: ended.seconds - begun.seconds }
    }
}

impl Drop for PollingSampler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn sample(pid: u32, clock: ClockId) -> Option<Sample> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let woken = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    let time = clock.now().ok()?;
    let seconds = time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9;
    Some(Sample { at_ns: monotonic_ns(), woken: woken.trim().parse().ok()?, seconds })
}

/// What the thread had done at a time, in proportion between the samples before and after it.
fn at(samples: &[Sample], ns: u64) -> Sample {
    let after = samples.partition_point(|sample| sample.at_ns < ns);
    let (Some(before), Some(after)) = (samples.get(after.saturating_sub(1)), samples.get(after)) else {
        return samples.last().copied().unwrap_or_default();
    };
    let part = match after.at_ns.saturating_sub(before.at_ns) {
        0 => 0.0,
        apart => ns.saturating_sub(before.at_ns) as f64 / apart as f64,
    };
    let mean = |before: f64, after: f64| before + part * (after - before);
    Sample { at_ns: ns, woken: mean(before.woken, after.woken), seconds: mean(before.seconds, after.seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_between_two_samples_is_shared_out_by_time() {
        let samples = [(100, 10.0), (200, 30.0), (400, 70.0)];
        let samples = samples.map(|(at_ns, woken)| Sample { at_ns, woken, seconds: woken / 10.0 });
        for (ns, woken) in
            [(0, 10.0), (100, 10.0), (150, 20.0), (200, 30.0), (300, 50.0), (400, 70.0), (500, 70.0)]
        {
            assert_eq!(at(&samples, ns).woken, woken, "at {ns}");
        }
        assert_eq!(at(&samples, 300).seconds, 5.0);
        assert_eq!(at(&[], 5), Sample::default());
    }
}
