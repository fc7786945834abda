//! Measuring cables once it is known what is joined to what: orders to the hosts at both ends.

use crate::{
    blame,
    discoverer::{ANSWER, Discoverer},
    infer::Graph,
    measure::{self, Line, Measured, Pace},
    model::{Carried, PortId},
    protocol::{Answer, Order, Sent},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::Duration,
};

/// How long frames may be under way, those in queues among them.
const TRAVEL: Duration = Duration::from_millis(30);
/// How often a line is measured that seems to be slow or narrow.
const TRIALS: usize = 3;

/// What the trials of a line have shown, for each of its two ways.
#[derive(Clone, Default)]
struct Trials {
    largest: [Option<u32>; 2],
    paces: [Vec<Pace>; 2],
}

impl Trials {
    /// Whether nothing is left to be known.
    fn is_enough(&self, line: &Line) -> bool {
        let is_whole = self.largest.iter().all(|largest| *largest == Some(line.mtu));
        is_whole && self.paces.iter().all(|paces| paces.contains(&Pace::All))
    }
}

impl Discoverer<'_> {
    /// Measures every line both ways, some at once, and of the NICs of switches which one is slow, and adds
    /// what is found to the graph.
    pub(crate) fn measure(&mut self, graph: &mut Graph, at_once: usize) -> Vec<Measured> {
        let lines = measure::lines(&self.hosts, graph);
        let mut all: Vec<(Line, Measured)> = self.try_out(&lines, at_once, [0.5, 0.8]);
        for (line, found) in &all {
            graph.findings.extend(measure::narrow(&self.hosts, line, found));
        }
        let only = |all: &[(Line, Measured)]| all.iter().map(|(_, found)| *found).collect::<Vec<_>>();
        for round in 0..blame::ROUNDS {
            let more = blame::more(&self.hosts, graph, &only(&all), round);
            if more.is_empty() {
                break;
            }
            let more: Vec<Line> =
                more.into_iter().filter_map(|ports| measure::line(&self.hosts, ports)).collect();
            let found = self.try_out(&more, at_once, [0.8, 0.9]);
            all.extend(found);
        }
        let measured = only(&all);
        let slow = blame::slow(&self.hosts, graph, &measured);
        for (line, found) in &all {
            for finding in blame::findings(&self.hosts, line, found, &slow) {
                if !graph.findings.contains(&finding) {
                    graph.findings.push(finding);
                }
            }
        }
        measured
    }

    /// Measures lines, while the progress goes from one part to another.
    fn try_out(&mut self, lines: &[Line], at_once: usize, [from, to]: [f64; 2]) -> Vec<(Line, Measured)> {
        let mut trials = vec![Trials::default(); lines.len()];
        for again in 0..TRIALS {
            let todo = (0..lines.len()).filter(|&line| !trials[line].is_enough(&lines[line]));
            let todo: Vec<usize> = todo.collect();
            // What looked slow beside others is measured alone.
            let at_once = if again == 0 { at_once } else { 1 };
            let rounds = measure::rounds(lines, &todo, at_once);
            for (number, round) in rounds.iter().enumerate() {
                let tries = again as f64 + number as f64 / rounds.len() as f64;
                (self.progress)(from + (to - from) * tries / TRIALS as f64, "what cables carry");
                for way in 0..2 {
                    self.trials += 1;
                    self.trial(lines, round, way, self.trials, &mut trials);
                }
            }
        }
        let all = lines.iter().zip(&trials).map(|(line, found)| {
            let paces = [0, 1].map(|way| measure::best(&found.paces[way]));
            (*line, measure::measured(line, found.largest, paces))
        });
        all.collect()
    }

    /// Sends frames by all lines of a round one way, and notes what came of them.
    fn trial(&mut self, lines: &[Line], round: &[usize], way: usize, trial: u32, trials: &mut [Trials]) {
        let from: BTreeMap<usize, usize> =
            round.iter().map(|&line| (lines[line].ports[way].host, line)).collect();
        let failed = &self.failed;
        let order = |host: usize| {
            let line = &lines[*from.get(&host).filter(|_| !failed.contains_key(&host))?];
            Some(Order::Send { nic: line.ports[way].nic, train: measure::train(line, trial) })
        };
        let answers = self.agents.tell::<_, Answer>(ANSWER, order);
        let mut sent: BTreeMap<usize, Sent> = BTreeMap::new();
        for (host, answer) in answers.into_iter().enumerate() {
            match answer {
                Some(Ok(Answer::Sent(all))) => drop(sent.insert(host, all)),
                Some(Err(why)) => drop(self.failed.insert(host, why)),
                _ => {}
            }
        }
        thread::sleep(TRAVEL);
        let to: BTreeSet<usize> = round.iter().map(|&line| lines[line].ports[1 - way].host).collect();
        self.report(|host| to.contains(&host));
        for &number in round {
            let line = &lines[number];
            let [from, to] = [line.ports[way], line.ports[1 - way]];
            let (came, missed) = self.came(to, trial);
            let found = &mut trials[number];
            if came.largest > 0 {
                found.largest[way] = found.largest[way].max(Some(came.largest));
            }
            let sent = sent.get(&from.host).copied().unwrap_or_default();
            found.paces[way].push(measure::pace(&measure::train(line, trial), sent, &came, missed));
        }
    }

    /// What came of a trial on a NIC, and how many frames its host missed.
    fn came(&self, to: PortId, trial: u32) -> (Carried, u64) {
        let nic = self.hosts.get(to.host).and_then(Option::as_ref).and_then(|host| host.nics.get(to.nic));
        let heard = nic.map(|nic| &nic.heard);
        let carried = heard.and_then(|heard| heard.carried).filter(|carried| carried.trial == trial);
        (carried.unwrap_or_default(), heard.map_or(0, |heard| heard.missed))
    }
}
