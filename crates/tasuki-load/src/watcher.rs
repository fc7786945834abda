//! All hosts of a fleet, each asked again and again.
//!
//! A host is asked by a thread of its own, so that one that answers late, or not at all, delays nobody.

use crate::{HostSample, Load, host_agent::HostAgent};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};
use tasuki_fleet::Fleet;

/// A lost host gets a new agent after so long.
const AGAIN: Duration = Duration::from_secs(2);

/// What a host's thread has to say.
type Answer = (usize, Result<HostSample, String>);

/// What is known of one host.
#[derive(Default)]
struct Known {
    before: Option<HostSample>,
    now: Option<HostSample>,
    lost: Option<String>,
}

/// Looks at all hosts of a fleet, until it is dropped.
pub struct Watcher {
    fleet: Arc<Fleet>,
    known: Vec<Known>,
    answers: Receiver<Answer>,
    interval_ns: Arc<AtomicU64>,
}

impl Watcher {
    /// Starts an agent on every host, and asks each once in every interval.
    pub fn start(fleet: Fleet, interval: Duration) -> Self {
        let (sender, answers) = channel();
        let (fleet, interval_ns) = (Arc::new(fleet), Arc::new(AtomicU64::new(0)));
        let watcher = Self {
            known: (0..fleet.len()).map(|_| Known::default()).collect(),
            fleet: Arc::clone(&fleet),
            answers,
            interval_ns: Arc::clone(&interval_ns),
        };
        watcher.set_interval(interval);
        for host in 0..fleet.len() {
            let (fleet, interval, sender) = (Arc::clone(&fleet), Arc::clone(&interval_ns), sender.clone());
            thread::spawn(move || ask(&fleet, host, &interval, &sender));
        }
        watcher
    }

    /// The hosts.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Asks hosts at another interval from their next answers on.
    pub fn set_interval(&self, interval: Duration) {
        let ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        self.interval_ns.store(ns, Ordering::Relaxed);
    }

    /// Waits until a host has answered, for no longer than `limit`.
    fn wait(&mut self, limit: Duration) {
        match self.answers.recv_timeout(limit) {
            Ok(answer) => self.take(answer),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }

    /// Waits until every host has answered twice, so that its rates are known, or is lost; for no longer than
    /// `limit`.
    pub fn wait_for_rates(&mut self, limit: Duration) {
        let end = Instant::now() + limit;
        while self.known.iter().any(|host| host.before.is_none() && host.lost.is_none()) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.wait(left);
        }
    }

    /// What all hosts do, by their latest two answers.
    pub fn load(&mut self) -> Load {
        while let Ok(answer) = self.answers.try_recv() {
            self.take(answer);
        }
        let mut load = Load { title: self.fleet.title(), ..Load::default() };
        for (number, known) in self.known.iter().enumerate() {
            match (&known.now, &known.lost) {
                (_, Some(why)) => load.add_lost(self.fleet.name(number), why),
                (Some(now), None) => {
                    load.add(&self.fleet, number, known.before.as_ref().unwrap_or(now), now);
                }
                (None, None) => load.awaited.push(self.fleet.name(number)),
            }
        }
        load.finish();
        load
    }

    fn take(&mut self, (host, answer): Answer) {
        self.known[host] = match answer {
            Ok(sample) => Known { before: self.known[host].now.take(), now: Some(sample), lost: None },
            Err(why) => Known { lost: Some(why), ..Known::default() },
        };
    }
}

/// Asks one host until nobody wants to know any more.
fn ask(fleet: &Fleet, host: usize, interval_ns: &AtomicU64, answers: &Sender<Answer>) {
    let mut agent = HostAgent::new(host);
    loop {
        let answer = agent.look(fleet);
        let pause = match &answer {
            Ok(_) => Duration::from_nanos(interval_ns.load(Ordering::Relaxed)),
            Err(_) => AGAIN,
        };
        if answers.send((host, answer)).is_err() {
            return;
        }
        thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ns: u64) -> HostSample {
        HostSample { at_ns, ..HostSample::default() }
    }

    /// A watcher of this machine that is told by the test what its host answers.
    fn told() -> (Watcher, Sender<Answer>) {
        let (sender, answers) = channel();
        let interval_ns = Arc::new(AtomicU64::new(0));
        let known = vec![Known::default()];
        (Watcher { fleet: Arc::new(Fleet::Local), known, answers, interval_ns }, sender)
    }

    #[test]
    fn a_host_is_awaited_then_shown_then_lost_then_shown_without_rates() {
        let (mut watcher, host) = told();
        assert_eq!(watcher.load().awaited.len(), 1);
        host.send((0, Ok(sample(1)))).expect("sends");
        host.send((0, Ok(sample(2)))).expect("sends");
        let load = watcher.load();
        assert_eq!((load.hosts.len(), load.awaited.len(), load.lost.len()), (1, 0, 0));
        assert_eq!(watcher.known[0].before, Some(sample(1)));
        host.send((0, Err("gone".into()))).expect("sends");
        let load = watcher.load();
        assert_eq!((load.hosts.len(), load.lost[0].why.as_str()), (0, "gone"));
        host.send((0, Ok(sample(9)))).expect("sends");
        assert_eq!((watcher.load().hosts.len(), &watcher.known[0].before), (1, &None));
    }

    #[test]
    fn rates_are_waited_for_no_longer_than_the_limit() {
        let (mut watcher, host) = told();
        watcher.wait_for_rates(Duration::ZERO);
        assert_eq!(watcher.load().awaited.len(), 1);
        host.send((0, Ok(sample(1)))).expect("sends");
        host.send((0, Ok(sample(2)))).expect("sends");
        watcher.wait_for_rates(Duration::from_secs(600));
        assert!(watcher.known[0].before.is_some());
    }
}
