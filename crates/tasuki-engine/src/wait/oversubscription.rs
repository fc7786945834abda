//! Oversubscription: whether more threads want to run than there are processors that this process may use.
//!
//! What counts is what *this process* may use: the processors of its affinity mask (sched_getaffinity(2),
//! which reflects cpusets) and the quota of its cgroup (`cpu.max`). Eight ranks that are pinned to two of 64
//! processors are oversubscribed; a busy neighbour on the other 62 is not our affair. The kernel tells how
//! many threads of the whole machine want to run (`/proc/loadavg`), not on which processors. So:
//!
//! * no more threads than our processors want to run, wherever they are: not oversubscribed;
//! * more do, and we may use the whole machine: oversubscribed, as any of them may be on any of our
//!   processors;
//! * more do, and we may use a part of the machine: oversubscribed if the peers on this host whose masks
//!   overlap ours are too many for our processors, or if the asking thread itself has had to wait for a
//!   processor lately (`/proc/thread-self/schedstat`).
//!
//! One reader serves all threads of an endpoint: what one has learnt the others need not ask again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tasuki_proto::Time;
use tasuki_tuning::oversubscription;

use super::processors::{Processors, RunDelay, RunningThreads, affinity_of};
use crate::api::Peer;

/// The reader. Cheap to clone: all clones are one.
#[derive(Clone)]
pub(crate) struct Oversubscription {
    shared: Arc<Shared>,
    /// A processor for everybody is taken for granted (`TASUKI_SENDER_COPIES=always`).
    assume_spare: bool,
    /// When yields of this thread were last taken up twice in a row, which means that another thread wants
    /// its processor.
    yields_taken_up: Option<Time>,
}

struct Shared {
    /// The last answer: when it was given, ns, in the upper 48 bits (in units of 256 ns, 0: never), and the
    /// excess in the lower 16.
    last: AtomicU64,
    reader: Mutex<Reader>,
}

#[derive(Default)]
struct Reader {
    processors: Processors,
    running: RunningThreads,
    delay: RunDelay,
    /// Until then a delay of the past counts.
    delayed_until: Time,
    /// Process ids of peers on this host.
    peers: BTreeMap<Peer, i32>,
}

impl Oversubscription {
    pub fn new(assume_spare: bool) -> Oversubscription {
        let shared = Shared { last: AtomicU64::new(0), reader: Mutex::default() };
        Oversubscription { shared: Arc::new(shared), assume_spare, yields_taken_up: None }
    }

    /// A peer on this host, of this process id, may compete for our processors.
    pub fn add_peer(&self, peer: Peer, pid: i32) {
        self.reader().peers.insert(peer, pid);
    }

    pub fn remove_peer(&self, peer: Peer) {
        self.reader().peers.remove(&peer);
    }

    /// Threads that want to run beyond the processors that we may use. `askers`: how many of them run only to
    /// ask, and do not count. Looks now, which takes a few microseconds.
    pub fn excess(&self, now: Time, askers: u32) -> u32 {
        let excess = self.reader().excess(now, askers);
        let stamp = (now.0 >> 8).max(1) << 16;
        self.shared.last.store(stamp | u64::from(excess.min(0xffff)), Ordering::Relaxed);
        excess
    }

    /// As [`Oversubscription::excess`], or what any thread has learnt less than `age_ns` ago.
    pub fn recent_excess(&self, now: Time, age_ns: u64, askers: u32) -> u32 {
        let last = self.shared.last.load(Ordering::Relaxed);
        let then = Time(last >> 16 << 8);
        if last != 0 && now.since_ns(then) < age_ns { last as u32 & 0xffff } else { self.excess(now, askers) }
    }

    /// Whether this thread's yields were taken up recently.
    pub fn note_yields(&mut self, taken_up: bool, now: Time) {
        self.yields_taken_up = taken_up.then_some(now);
    }

    /// Whether there is a processor for everybody, so that two may work where one could.
    pub fn has_spare_processor(&mut self, now: Time) -> bool {
        if self.assume_spare {
            return true;
        }
        if self
            .yields_taken_up
            .is_some_and(|since| now.since_ns(since) < oversubscription::OVERSUBSCRIBED_FOR_NS)
        {
            return false;
        }
        let age = if self.shared.last.load(Ordering::Relaxed) & 0xffff > 0 {
            oversubscription::OVERSUBSCRIBED_FOR_NS
        } else {
            oversubscription::FREE_FOR_NS
        };
        self.recent_excess(now, age, 0) == 0
    }

    fn reader(&self) -> std::sync::MutexGuard<'_, Reader> {
        // A panic of another thread leaves nothing half done that matters here.
        self.shared.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    fn excess(&mut self, now: Time, askers: u32) -> u32 {
        let Some(running) = self.running.count() else { return 0 };
        let usable = self.processors.usable(now);
        let excess = beyond(running.saturating_sub(askers), usable);
        if excess == 0 || self.processors.are_all() {
            return excess;
        }
        // The others may be elsewhere. Our own share of the machine is short if we notice it ...
        if self.delay.share_since_last(now).is_some_and(|share| share >= oversubscription::DELAY_SHARE_MIN) {
            self.delayed_until = Time(now.0.saturating_add(oversubscription::DELAY_COUNTS_FOR_NS));
        }
        if now < self.delayed_until {
            return excess;
        }
        // ... or if the peers that share it are too many.
        excess.min(beyond(self.sharers(), usable))
    }

    /// Threads that compete for our processors, as far as they are known: this one, and the peers on this
    /// host by how much their masks overlap ours.
    fn sharers(&mut self) -> u32 {
        let Reader { processors, peers, .. } = self;
        let share = |pid: &i32| affinity_of(*pid).map_or(0.0, |theirs| processors.share_of(&theirs));
        let peers: f64 = peers.values().map(share).sum();
        1 + peers.round() as u32
    }
}

/// By how much `threads` exceed `processors`. Kernel threads come and go, so on a large machine a few more
/// are no excess.
fn beyond(threads: u32, processors: u32) -> u32 {
    threads.saturating_sub(processors.saturating_add(processors / oversubscription::SLACK_PROCESSORS))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::clock::Clock;
    use nix::sched::{CpuSet, sched_setaffinity};
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::unistd::Pid;
    use std::sync::atomic::AtomicBool;
    use std::thread::{JoinHandle, spawn};
    use std::time::Duration;

    #[test]
    fn more_threads_than_processors_are_an_excess() {
        for (threads, processors, excess) in [(2, 2, 0), (3, 2, 1), (65, 64, 0), (80, 64, 8)] {
            assert_eq!(beyond(threads, processors), excess, "{threads} on {processors}");
        }
        assert_eq!(beyond(u32::MAX, u32::MAX), 0, "unknown");
    }

    #[test]
    fn an_answer_is_remembered_and_the_helper_shares_it() {
        let program = Oversubscription::new(false);
        let helper = program.clone();
        let now = Time(5_000_000_000);
        let excess = program.excess(now, 0);
        // Whatever runs by now, the answer of a moment ago is given.
        assert_eq!(helper.recent_excess(Time(now.0 + 1_000), 1_000_000, 1), excess);
    }

    #[test]
    fn yields_that_are_taken_up_mean_that_there_is_no_spare_processor() {
        let mut processors = Oversubscription::new(false);
        processors.note_yields(true, Time(0));
        assert!(!processors.has_spare_processor(Time(oversubscription::OVERSUBSCRIBED_FOR_NS - 1)));
        assert!(Oversubscription::new(true).has_spare_processor(Time(0)), "taken for granted");
    }

    /// Threads that spin, on one processor or wherever they may, until this is dropped.
    pub(in crate::wait) struct Spinners(Arc<AtomicBool>, Vec<JoinHandle<()>>);

    impl Spinners {
        pub fn new(cpu: Option<usize>, count: usize) -> Spinners {
            let stop = Arc::new(AtomicBool::new(false));
            let spin = || {
                let stop = Arc::clone(&stop);
                spawn(move || {
                    cpu.inspect(|cpu| pin(*cpu));
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                })
            };
            let threads = (0..count).map(|_| spin()).collect();
            Spinners(stop, threads)
        }
    }

    impl Drop for Spinners {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
            self.1.drain(..).for_each(|thread| thread.join().expect("no panic"));
        }
    }

    fn pin(cpu: usize) {
        let mut set = CpuSet::new();
        set.set(cpu).expect("a number of a processor");
        sched_setaffinity(Pid::from_raw(0), &set).expect("a processor that this process may use");
    }

    /// How often this thread was taken off its processor for another that wanted it (getrusage(2)).
    fn preemptions() -> i64 {
        getrusage(UsageWho::RUSAGE_THREAD).expect("a count").involuntary_context_switches()
    }

    /// Two processors that this process may use; without them the test that asks is skipped.
    fn two_processors() -> Option<[usize; 2]> {
        let mask = affinity_of(0).expect("a mask");
        let two = mask.first_chunk().copied();
        if two.is_none() {
            eprintln!("skipped: one processor is not enough");
        }
        two
    }

    /// Polls for some time slices. Gives the last excess, and whether this thread was preempted meanwhile.
    pub(in crate::wait) fn poll(processors: &Oversubscription, clock: Clock) -> (u32, bool) {
        let before = preemptions();
        let (end, mut excess) = (clock.now().0 + 50_000_000, 0);
        while clock.now().0 < end {
            excess = processors.excess(clock.now(), 0);
        }
        (excess, preemptions() > before)
    }

    #[test]
    fn ranks_that_share_our_processor_oversubscribe_it_though_another_is_idle() {
        let Some([ours, _]) = two_processors() else { return };
        spawn(move || {
            pin(ours);
            let _ranks = Spinners::new(Some(ours), 3);
            let (processors, clock) = (Oversubscription::new(false), Clock::new());
            let found = (0..100).any(|_| poll(&processors, clock).0 > 0);
            assert!(found, "four threads on one processor");
        })
        .join()
        .expect("no panic");
    }

    #[test]
    fn a_busy_neighbour_on_other_processors_does_not_concern_us() {
        let Some([ours, other]) = two_processors() else { return };
        spawn(move || {
            pin(ours);
            let _neighbour = Spinners::new(Some(other), 6);
            // While another thread wants this processor too, the answer is rightly another one.
            let quiet = (0..60).any(|_| {
                let (processors, clock) = (Oversubscription::new(false), Clock::new());
                let (excess, preempted) = poll(&processors, clock);
                assert!(excess == 0 || preempted, "{excess} threads too many without having been preempted");
                std::thread::sleep(Duration::from_millis(20));
                !preempted
            });
            if !quiet {
                eprintln!("skipped: the processor was never free of others");
            }
        })
        .join()
        .expect("no panic");
    }
}
