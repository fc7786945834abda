//! Stage 3, `rcstest`: random messages among the hosts of a rack, then of a module, then among all, while
//! memory and processor are busy.

use super::Checker;
use crate::{
    finding::{Finding, Kind, Part},
    protocol::{Answer, Order, RandomReport},
};
use std::{collections::BTreeMap, time::Duration};
use tasuki_cluster::Host;

/// Longest time for which agents work without an answer. The progress bar moves once in this time.
const SLICE: Duration = Duration::from_secs(10);

impl Checker<'_> {
    /// Runs the stage.
    pub(super) fn random_messages(&mut self) {
        let groupings = groupings(&self.cluster.hosts, |host| self.facts[host].is_some());
        let mut totals: Vec<RandomReport> = vec![RandomReport::default(); self.cluster.hosts.len()];
        for (number, groups) in groupings.iter().enumerate() {
            let mut left = self.options.time / groupings.len() as u32;
            let whole = left;
            while !left.is_zero() {
                let done = number as f64 + 1.0 - left.as_secs_f64() / whole.as_secs_f64().max(1e-3);
                (self.progress)(
                    0.75 + 0.2 * done / groupings.len() as f64,
                    "random messages, memory and processor",
                );
                let now = left.min(SLICE);
                self.slice(groups, now, &mut totals);
                left -= now;
            }
        }
        self.judge_random(&totals);
    }

    fn slice(&mut self, groups: &[Vec<usize>], time: Duration, totals: &mut [RandomReport]) {
        let seed = self.random.next_u64();
        let (plan, facts, options) = (&self.plan, &self.facts, &self.options);
        let hosts: usize = groups.iter().map(Vec::len).sum();
        // Hosts that share a machine share what it can carry, so each is given a part of it.
        let bytes_per_second =
            options.total_bits_per_second.map_or(0, |total| total / 8 / hosts.max(1) as u64);
        let order = |host: usize| {
            let group = groups.iter().find(|group| group.contains(&host))?;
            let peer = |&other: &usize| {
                let port = facts[other].as_ref()?.random_port;
                (other != host).then(|| (plan.hosts[other].host.clone(), plan.hosts[host].peers[other], port))
            };
            let peers = group.iter().filter_map(peer).collect();
            let ms = time.as_millis() as u64;
            // They also share its processors, so each uses one thread.
            let workers = usize::from(options.total_bits_per_second.is_some());
            Some(Order::Random { seed, ms, peers, memory_mb: options.memory_mb, workers, bytes_per_second })
        };
        let answers = self.agents.tell(time + Duration::from_secs(60), order);
        for (total, answer) in totals.iter_mut().zip(answers) {
            if let Some(Ok(Answer::Random(report))) = answer {
                add(total, *report);
            }
        }
    }

    fn judge_random(&mut self, totals: &[RandomReport]) {
        let name = |host: usize| self.cluster.hosts[host].name.clone();
        let mut findings = Vec::new();
        let blamed: Vec<String> =
            self.report.findings.iter().map(|finding| finding.part.name().to_owned()).collect();
        for (host, report) in totals.iter().enumerate() {
            if report.memory_errors > 0 {
                let says =
                    format!("{}: {} words of memory were not as written", name(host), report.memory_errors);
                let advice = "test its memory (memtest86+), module by module; then the processor's cooling \
                              and the power supply";
                findings.push(
                    Finding::new(3, Kind::Content, Part::Memory(name(host)), says, advice)
                        .seen(format!("in {} rounds", report.memory_rounds)),
                );
            }
            for (from, count) in &report.wrong {
                let says = format!(
                    "{count} messages from {from} to {} came with another content, although TCP's checksum \
                     was right",
                    name(host)
                );
                let advice = "memory or NIC of one of the two: the one that is in other such pairs, too";
                findings.push(Finding::new(
                    3,
                    Kind::Content,
                    Part::Route(format!("{from} - {}", name(host))),
                    says,
                    advice,
                ));
            }
            for (peer, why) in &report.broken {
                let is_known = blamed.iter().any(|part| part.contains(&name(host)) || part.contains(peer));
                if !is_known && !self.facts.is_empty() {
                    let says = format!("{} could not send to {peer}: {why}", name(host));
                    let part = Part::Route(format!("{} - {peer}", name(host)));
                    findings.push(Finding::new(
                        3,
                        Kind::Unreachable,
                        part,
                        says,
                        "stage 1 and 2 say which part; run them again if they found nothing",
                    ));
                }
            }
        }
        self.report.findings.extend(findings);
        let row = |(host, report): (usize, &RandomReport)| {
            let number = |count: u64| count.to_string();
            let wrong: u64 = report.wrong.iter().map(|(_, count)| count).sum();
            vec![
                name(host),
                number(report.sent.0),
                number(report.sent.1),
                number(report.received.0),
                number(wrong),
                number(report.memory_rounds),
                number(report.memory_errors),
            ]
        };
        let names = ["host", "messages sent", "bytes", "received", "wrong", "rounds of memory", "errors"]
            .map(str::to_owned)
            .to_vec();
        let rows = totals.iter().enumerate().map(row).collect();
        self.report.tables.push(("Random messages".into(), names, rows));
    }
}

/// Groups of hosts: by rack, then by module, then all. A level is left out if it is not known or has only one
/// group. Hosts without a rack are in one group together.
fn groupings(hosts: &[Host], is_known: impl Fn(usize) -> bool) -> Vec<Vec<Vec<usize>>> {
    let by = |key: &dyn Fn(&Host) -> Option<&str>| {
        let mut groups: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        for (number, host) in hosts.iter().enumerate().filter(|(number, _)| is_known(*number)) {
            groups.entry(key(host)).or_default().push(number);
        }
        groups.into_values().collect::<Vec<_>>()
    };
    let mut all = vec![by(&|host| host.rack.as_deref()), by(&|host| host.module.as_deref())];
    all.retain(|groups| groups.len() > 1);
    all.push(by(&|_| None));
    all.dedup();
    all
}

fn add(total: &mut RandomReport, report: RandomReport) {
    let sum = |(a, b): (u64, u64), (c, d): (u64, u64)| (a + c, b + d);
    total.sent = sum(total.sent, report.sent);
    total.received = sum(total.received, report.received);
    for (from, count) in report.wrong {
        match total.wrong.iter_mut().find(|(known, _)| *known == from) {
            Some((_, known)) => *known += count,
            None => total.wrong.push((from, count)),
        }
    }
    for (peer, why) in report.broken {
        if !total.broken.iter().any(|(known, _)| *known == peer) {
            total.broken.push((peer, why));
        }
    }
    total.memory_errors += report.memory_errors;
    total.memory_rounds += report.memory_rounds;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::Cluster;

    fn of(places: &[(&str, &str)], is_known: impl Fn(usize) -> bool) -> Vec<Vec<Vec<usize>>> {
        let mut text = String::new();
        for (number, (rack, module)) in places.iter().enumerate() {
            let place = |key: &str, value: &str| {
                if value.is_empty() { String::new() } else { format!("{key} = \"{value}\"\n") }
            };
            let nic = "nic = [{ name = \"eth1\" }]\n";
            let places = place("rack", rack) + &place("module", module);
            text += &format!(
                "[[host]]\nname = \"n{number}\"\n{nic}{places}[[cable]]\nends = [\"n{number}:eth1\", \
                 \"sw1\"]\n"
            );
        }
        text += "[[switch]]\nname = \"sw1\"\nports = 8\n";
        groupings(&Cluster::parse(&text, None).unwrap().hosts, is_known)
    }

    /// The SCore III paper, section 4.3: within racks, within modules of two racks, all.
    #[test]
    fn from_racks_to_modules_to_all() {
        let places = [("a", "A"), ("a", "A"), ("b", "A"), ("c", "B"), ("d", "B"), ("c", "B")];
        let all = vec![vec![0, 1, 2, 3, 4, 5]];
        let racks = vec![vec![0, 1], vec![2], vec![3, 5], vec![4]];
        let modules = vec![vec![0, 1, 2], vec![3, 4, 5]];
        assert_eq!(of(&places, |_| true), [racks, modules, all]);
        let without = of(&places, |host| host != 3);
        assert_eq!(without[0], [vec![0, 1], vec![2], vec![5], vec![4]]);
    }

    #[test]
    fn one_rack_or_none_is_all() {
        assert_eq!(of(&[("", ""), ("", "")], |_| true), [[[0, 1]]]);
        assert_eq!(of(&[("a", "A"), ("a", "A")], |_| true), [[[0, 1]]]);
        // Modules of one rack each would repeat the test of the racks, so they are left out.
        let racks = vec![vec![0], vec![1]];
        assert_eq!(of(&[("a", "A"), ("b", "B")], |_| true), [racks, vec![vec![0, 1]]]);
    }
}
