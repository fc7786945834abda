//! What is wrong, or worth a look, by what hosts say of themselves. Pure.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tasuki_load::{Load, NicLoad};

/// Damage is told of for so long after the last of it, seconds.
const REMEMBERED: u64 = 3600;
/// A host that has not answered for so long at the beginning is told of, seconds.
const FIRST_ANSWER: u64 = 5;
/// Frames without room that are told of: a few are lost whenever a cable is cut.
const DROPPED: u64 = 10;
/// Packets per second that ranks hold to be lost: fewer are usual when queues are full.
const LOST: f64 = 10.0;
/// From this temperature on, processors of most kinds slow down.
const HOT_CELSIUS: f32 = 90.0;
/// From this share on, memory is full.
const FULL: f64 = 0.95;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Something is wrong.
    Bad,
    /// Worth a look.
    Doubtful,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Problem {
    pub severity: Severity,
    /// The part: a host `n1`, a NIC `n1:eth1`, or a cable `n1:eth1 - n2:eth1`.
    pub part: String,
    /// What is wrong with it.
    pub says: String,
    /// What to do.
    pub advice: String,
}

impl Problem {
    pub fn bad(part: impl Into<String>, says: String, advice: &str) -> Self {
        Self { severity: Severity::Bad, part: part.into(), says, advice: advice.into() }
    }

    pub fn doubtful(part: impl Into<String>, says: String, advice: &str) -> Self {
        Self { severity: Severity::Doubtful, ..Self::bad(part, says, advice) }
    }
}

/// A counter that should stand still.
#[derive(Debug)]
struct Counter {
    first: u64,
    last: u64,
    grown_at: Option<u64>,
}

impl Counter {
    /// How much it has grown since it was first seen, if it has within the time that is remembered.
    fn growth(&mut self, now: u64, second: u64) -> Option<(u64, u64)> {
        if now < self.last {
            // It began anew, as after a restart of the host.
            *self = Self { first: 0, last: 0, grown_at: None };
        }
        if now > self.last {
            (self.last, self.grown_at) = (now, Some(second));
        }
        let ago = second - self.grown_at?;
        (ago <= REMEMBERED).then_some((now - self.first, ago))
    }
}

/// Remembers what counters were.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    counters: BTreeMap<(String, &'static str), Counter>,
}

impl Memory {
    /// What is wrong now, the worst first; `second` counts from the beginning.
    pub fn look(&mut self, load: &Load, second: u64) -> Vec<Problem> {
        let mut problems = hosts(load, second);
        problems.extend(dead_cables(load));
        for nic in &load.nics {
            self.counted(nic, second, &mut problems);
        }
        problems.extend(ranks(load));
        problems.extend(watched(load));
        let unread = load.problems.iter().map(|says| {
            let (host, why) = says.split_once(": ").unwrap_or(("", says));
            Problem::doubtful(host, why.into(), "tasuki top --once says so too")
        });
        problems.extend(unread);
        problems.sort();
        problems
    }

    fn counted(&mut self, nic: &NicLoad, second: u64, problems: &mut Vec<Problem>) {
        let part = format!("{}:{}", nic.host, nic.nic);
        let mut growth = |what, now| {
            let fresh = || Counter { first: now, last: now, grown_at: None };
            self.counters.entry((part.clone(), what)).or_insert_with(fresh).growth(now, second)
        };
        let told = |count: u64, what: &str, ago: u64| {
            let frames = if count == 1 { "frame" } else { "frames" };
            format!("{count} {frames} {what} since it is watched, the last {}", when(ago))
        };
        if let Some((count, ago)) = growth("damaged", nic.errors_total) {
            let advice = "the cable, or the port at its other end: tasuki check";
            problems.push(Problem::bad(&*part, told(count, "damaged", ago), advice));
        }
        if let Some((count, ago)) =
            growth("dropped", nic.dropped_total).filter(|(count, _)| *count >= DROPPED)
        {
            let says = told(count, "dropped for want of room", ago);
            problems.push(Problem::doubtful(&*part, says, "a receiver that is too slow: tasuki check"));
        }
        if nic.lost > LOST {
            let says = format!("ranks lose {:.0} packets a second over it", nic.lost);
            problems.push(Problem::doubtful(&*part, says, "tasuki stats --watch says between which"));
        }
    }
}

/// How long ago, in words.
fn when(seconds: u64) -> String {
    match seconds {
        0..=2 => "now".into(),
        3..=119 => format!("{seconds} s ago"),
        _ => format!("{} min ago", seconds / 60),
    }
}

fn hosts(load: &Load, second: u64) -> Vec<Problem> {
    let lost = load.lost.iter().map(|lost| {
        let advice = "is it on, and does ssh reach it? It is asked again every two seconds";
        Problem::bad(&*lost.host, format!("does not answer: {}", lost.why), advice)
    });
    let awaited = load
        .awaited
        .iter()
        .filter(|_| second >= FIRST_ANSWER)
        .map(|host| Problem::doubtful(&**host, "has not answered yet".into(), "it is waited for"));
    let mut problems: Vec<Problem> = lost.chain(awaited).collect();
    for host in &load.hosts {
        if let Some(celsius) = host.celsius.filter(|celsius| *celsius >= HOT_CELSIUS) {
            let says = format!("{celsius:.0} °C: processors may slow down");
            problems.push(Problem::doubtful(&*host.host, says, "fans, and what is in front of them"));
        }
        if host.memory_used_bytes as f64 > FULL * host.memory_bytes as f64 {
            let says = "less than a twentieth of its memory is free".into();
            problems.push(Problem::doubtful(&*host.host, says, "which rank has it: table Ranks"));
        }
    }
    problems
}

/// Cables without a signal at an end, each once. A NIC without a cable has none to miss.
fn dead_cables(load: &Load) -> Vec<Problem> {
    let mut dead: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for nic in load.nics.iter().filter(|nic| !nic.up) {
        let Some(to) = &nic.to else { continue };
        let own = format!("{}:{}", nic.host, nic.nic);
        let cable = if own < *to { format!("{own} - {to}") } else { format!("{to} - {own}") };
        dead.entry(cable).or_default().insert(own);
    }
    let problem = |(cable, at): (String, BTreeSet<String>)| {
        let ends: Vec<String> = at.into_iter().collect();
        let says = format!("no signal at {}", ends.join(" and "));
        Problem::bad(cable, says, "is it plugged in, and the other end on? tasuki check says what else")
    };
    dead.into_iter().map(problem).collect()
}

/// What `tasuki watch` says: rails by which nothing comes although there may be a signal, and who is led
/// around them.
fn watched(load: &Load) -> Vec<Problem> {
    let rails: BTreeSet<&String> = load.watched.iter().flat_map(|watched| &watched.says.dead).collect();
    let dead = rails.into_iter().map(|rail| {
        let says = "tasuki watch hears nothing over it".into();
        Problem::bad(&**rail, says, "pairs of hosts are led around it until it heals; tasuki check says why")
    });
    let detours = load.watched.iter().flat_map(|watched| {
        watched.says.detours.iter().map(|(to, by)| {
            let says = format!("reaches {to} by {}", by.join(" and "));
            Problem::doubtful(&*watched.host, says, "tasuki watch leads it around a dead cable")
        })
    });
    dead.chain(detours).collect()
}

fn ranks(load: &Load) -> Vec<Problem> {
    let dead = load.ranks.iter().filter(|rank| rank.dead_peers > 0).map(|rank| {
        let name = rank.rank.map_or_else(|| format!("process {}", rank.pid), |rank| format!("rank {rank}"));
        let peers = if rank.dead_peers == 1 { "a peer" } else { "peers" };
        let says = format!("{name} of {} holds {peers} to be dead", rank.program);
        Problem::bad(&*rank.host, says, "tasuki stacks says where each rank is")
    });
    dead.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_load::{HostLoad, Lost, WatchSample, Watched};

    fn nic(host: &str, to: &str, up: bool) -> NicLoad {
        let to = (!to.is_empty()).then(|| to.to_owned());
        NicLoad { host: host.into(), nic: "eth1".into(), to, up, ..NicLoad::default() }
    }

    fn told(problems: &[Problem]) -> Vec<(&str, &str)> {
        problems.iter().map(|problem| (problem.part.as_str(), problem.says.as_str())).collect()
    }

    #[test]
    fn a_dead_cable_is_one_problem_and_a_nic_without_a_cable_is_none() {
        let nics = vec![nic("n2", "n1:eth1", false), nic("n1", "n2:eth1", false), nic("n3", "", false)];
        let lost = vec![Lost { host: "n4".into(), why: "its agent ended".into() }];
        let load = Load { nics, lost, awaited: vec!["n5".into()], ..Load::default() };
        let dead = ("n1:eth1 - n2:eth1", "no signal at n1:eth1 and n2:eth1");
        let gone = ("n4", "does not answer: its agent ended");
        assert_eq!(told(&Memory::default().look(&load, 0)), [dead, gone]);
        assert_eq!(told(&Memory::default().look(&load, 9)), [dead, gone, ("n5", "has not answered yet")]);
    }

    #[test]
    fn damage_is_told_of_for_an_hour_after_it_has_grown_and_old_damage_is_not() {
        let mut memory = Memory::default();
        let mut look = |second, errors_total| {
            let load = Load {
                nics: vec![NicLoad { errors_total, ..nic("n1", "n2:eth1", true) }],
                ..Load::default()
            };
            memory.look(&load, second).into_iter().map(|problem| problem.says).collect::<Vec<_>>()
        };
        assert_eq!(look(0, 70), [""; 0], "it was there before");
        assert_eq!(look(10, 73), ["3 frames damaged since it is watched, the last now"]);
        assert_eq!(look(310, 73), ["3 frames damaged since it is watched, the last 5 min ago"]);
        assert_eq!(look(10 + 3601, 73), [""; 0]);
        assert_eq!(look(3700, 2), ["2 frames damaged since it is watched, the last now"], "it began anew");
    }

    #[test]
    fn what_watches_say_is_told_once_for_a_rail_and_for_every_host_that_is_led_around() {
        let watched = |host: &str, to: &str| Watched {
            host: host.into(),
            says: WatchSample {
                dead: vec!["n1:eth1 - n2:eth1".into()],
                detours: vec![(to.into(), vec!["n3".into()])],
            },
        };
        let load = Load { watched: vec![watched("n2", "n1"), watched("n1", "n2")], ..Load::default() };
        assert_eq!(
            told(&Memory::default().look(&load, 0)),
            [
                ("n1:eth1 - n2:eth1", "tasuki watch hears nothing over it"),
                ("n1", "reaches n2 by n3"),
                ("n2", "reaches n1 by n3")
            ]
        );
    }

    #[test]
    fn memory_that_is_full_and_heat_are_worth_a_look() {
        let host = HostLoad {
            host: "n1".into(),
            memory_bytes: 100,
            memory_used_bytes: 96,
            celsius: Some(95.0),
            ..HostLoad::default()
        };
        let problems = Memory::default().look(&Load { hosts: vec![host], ..Load::default() }, 0);
        assert!(problems.len() == 2 && problems.iter().all(|one| one.severity == Severity::Doubtful));
    }
}
