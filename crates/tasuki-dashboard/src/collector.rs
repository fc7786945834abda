//! Looks at all hosts once a second: what they do now goes to everybody who has the page open, and into the
//! history.

use crate::{
    findings::Findings,
    history::{History, Span},
    problems::{Memory, Problem},
    subjects::{Subjects, Told},
};
use serde::Serialize;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};
use tasuki_fleet::Fleet;
use tasuki_http::Feed;
use tasuki_load::{Load, Watcher};

/// Time between two looks at hosts.
const INTERVAL: Duration = Duration::from_secs(1);
/// A look is in the middle of its second, so that a thread that is late by less than half a second does not
/// miss one.
const OFFSET: Duration = Duration::from_millis(500);
/// So many browsers may have the page open.
const PAGES_MAX: usize = 16;

/// What the page is told every second.
#[derive(Serialize)]
struct Event<'a> {
    /// Seconds since the dashboard began: one that is missing was not received.
    second: u64,
    load: &'a Load,
    problems: &'a [Problem],
}

/// What has a history, and the history.
#[derive(Debug)]
struct Kept {
    subjects: Subjects,
    history: History,
}

/// What was seen of all hosts.
#[derive(Debug)]
pub(crate) struct Collector {
    began: Instant,
    /// `None`: no host has answered yet.
    kept: Mutex<Option<Kept>>,
    pub feed: Feed,
}

impl Collector {
    pub fn new() -> Self {
        Self { began: Instant::now(), kept: Mutex::default(), feed: Feed::new(PAGES_MAX) }
    }

    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at hosts until the process ends.
    pub fn run(&self, fleet: Fleet, mut findings: Option<Findings>) {
        let mut watcher = Watcher::start(fleet, INTERVAL);
        let mut memory = Memory::default();
        for second in 0.. {
            let due = OFFSET + INTERVAL * second;
            thread::sleep(due.saturating_sub(self.began.elapsed()));
            let load = watcher.load();
            let second = self.began.elapsed().as_secs();
            self.keep(watcher.fleet(), &load, second);
            let mut problems = memory.look(&load, second);
            problems.extend(findings.iter_mut().flat_map(Findings::now));
            problems.sort();
            self.tell(&load, second, &problems);
        }
    }

    /// Adds the figures of a second to the history.
    fn keep(&self, fleet: &Fleet, load: &Load, second: u64) {
        let mut kept = self.kept();
        if kept.is_none() && (fleet.cluster().is_some() || !load.hosts.is_empty()) {
            let subjects = match fleet.cluster() {
                Some(cluster) => Subjects::of_cluster(cluster),
                None => Subjects::of_load(load),
            };
            *kept = Some(Kept { history: History::new(subjects.columns()), subjects });
        }
        if let Some(Kept { subjects, history }) = kept.as_mut() {
            history.record(second, &subjects.row(load));
        }
    }

    /// Tells those who have the page open.
    fn tell(&self, load: &Load, second: u64, problems: &[Problem]) {
        // Structures of texts and numbers have a text.
        if let Ok(text) = serde_json::to_string(&Event { second, load, problems }) {
            self.feed.publish(text);
        }
    }

    /// The history of the cluster (an empty name), a host or a NIC; `None`: there is none.
    pub fn told(&self, name: &str, span: Span) -> Option<Told> {
        let second = self.began.elapsed().as_secs();
        let kept = self.kept();
        let Kept { subjects, history } = kept.as_ref()?;
        subjects.told(history, name, span, second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_load::HostLoad;

    #[test]
    fn a_look_is_in_the_history() {
        let collector = Collector::new();
        assert!(collector.told("", Span::Hour).is_none(), "nothing is known yet");
        let host = HostLoad { host: "n1".into(), busy: 0.5, ..HostLoad::default() };
        let load = Load { hosts: vec![host], ..Load::default() };
        collector.keep(&Fleet::Local, &load, 0);
        let told = serde_json::to_value(collector.told("n1", Span::Hour)).expect("JSON");
        assert_eq!(told["series"][0]["mean"], serde_json::json!([0.5]));
        assert!(collector.told("n2", Span::Hour).is_none());
    }
}
