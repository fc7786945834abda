//! Reading a trace. Everything that would make a replay hang is an error that names the line where it shows.

use super::{Collective, Event, Trace, What};
use std::collections::HashMap;
use thiserror::Error;

/// Most ranks: a guard against a wrong number in the header.
const RANKS_MAX: u32 = 1 << 20;
/// Most bytes of a message: each of its packets takes memory, and their number fits 32 bits.
const BYTES_MAX: u64 = 1 << 35;

/// An error in a trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// A line that does not follow the format.
    #[error("line {line}: {problem}")]
    Line {
        /// Number of the line, from 1.
        line: u32,
        /// What is wrong, and what is wanted.
        problem: String,
    },
    /// A line is missing.
    #[error("{0}")]
    Missing(String),
}

fn wrong<T>(line: u32, problem: impl Into<String>) -> Result<T, TraceError> {
    Err(TraceError::Line { line, problem: problem.into() })
}

impl Trace {
    /// Reads a trace from its text.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let mut reader = Reader::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            reader.line(number as u32 + 1, &words)?;
        }
        if reader.ranks.is_none() {
            return Err(TraceError::Missing("no line `ranks N`; is this a trace (tasuki-trace 1)?".into()));
        }
        let trace = Trace { events: reader.events, groups: reader.groups };
        trace.check_messages()?;
        trace.check_collectives()?;
        Ok(trace)
    }

    /// Checks that every send has its receive and every receive its send, with as many bytes.
    fn check_messages(&self) -> Result<(), TraceError> {
        let mut sent: HashMap<(u32, u32), Vec<(u32, u64)>> = HashMap::new();
        let all =
            || (0..).zip(&self.events).flat_map(|(rank, list)| list.iter().map(move |event| (rank, event)));
        for (rank, event) in all() {
            if let What::Send { to } = event.what {
                sent.entry((rank, to)).or_default().push((event.line, event.bytes));
            }
        }
        let mut taken: HashMap<(u32, u32), usize> = HashMap::new();
        for (rank, event) in all() {
            let What::Receive { from } = event.what else { continue };
            let number = taken.entry((from, rank)).or_default();
            let list = sent.get(&(from, rank)).map_or(&[][..], Vec::as_slice);
            match list.get(*number) {
                Some(&(line, bytes)) if bytes != event.bytes => {
                    return wrong(
                        event.line,
                        format!(
                            "receives {} bytes; what rank {from} sent in line {line} has {bytes}",
                            event.bytes
                        ),
                    );
                }
                Some(_) => *number += 1,
                None => {
                    return wrong(
                        event.line,
                        format!(
                            "receives message {} from rank {from}, which sends it only {number}",
                            *number + 1
                        ),
                    );
                }
            }
        }
        let mut left: Vec<(u32, u32, u32)> = sent
            .iter()
            .filter_map(|(&(from, to), list)| {
                let (line, _) = list.get(taken.get(&(from, to)).copied().unwrap_or(0))?;
                Some((*line, from, to))
            })
            .collect();
        left.sort_unstable();
        match left.first() {
            Some(&(line, from, to)) => {
                wrong(line, format!("rank {to} never receives what rank {from} sends here"))
            }
            None => Ok(()),
        }
    }

    /// Checks that all members of a group call the same operations in the same order.
    fn check_collectives(&self) -> Result<(), TraceError> {
        for (number, members) in (0..).zip(&self.groups) {
            let calls = |rank: u32| {
                let of_group =
                    move |what: What| matches!(what, What::Collective { group, .. } if group == number);
                self.events[rank as usize].iter().filter(move |event| of_group(event.what))
            };
            let Some(&first) = members.first() else { continue };
            for &rank in members {
                let (mut theirs, mut ours) = (calls(first), calls(rank));
                loop {
                    match (theirs.next(), ours.next()) {
                        (None, None) => break,
                        (Some(a), Some(b)) if a.what == b.what && a.bytes == b.bytes => {}
                        (Some(a), Some(b)) => {
                            return wrong(
                                b.line,
                                format!("is not what rank {first} does in line {}", a.line),
                            );
                        }
                        (Some(a), None) => {
                            return wrong(a.line, format!("rank {rank} never takes part in this"));
                        }
                        (None, Some(b)) => {
                            return wrong(b.line, format!("rank {first} never takes part in this"));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Reader {
    ranks: Option<u32>,
    version: bool,
    events: Vec<Vec<Event>>,
    groups: Vec<Vec<u32>>,
    /// Index of each group, by its number in the file.
    names: HashMap<u32, u32>,
}

impl Reader {
    fn line(&mut self, line: u32, words: &[&str]) -> Result<(), TraceError> {
        match words {
            [] => Ok(()),
            ["tasuki-trace", "1"] => {
                self.version = true;
                Ok(())
            }
            ["tasuki-trace", other, ..] => {
                wrong(line, format!("version {other} is not known; this reads version 1"))
            }
            _ if !self.version => wrong(line, "a trace begins with the line `tasuki-trace 1`"),
            ["ranks", count] => self.set_ranks(line, count),
            _ if self.ranks.is_none() => wrong(line, "the line `ranks N` comes before this"),
            ["group", name, members @ ..] => self.group(line, name, members),
            [rank, what, peer, bytes, compute, rest @ ..] if rest.len() <= 1 => {
                let rank = self.rank(line, rank)?;
                let event = self.event(line, [what, peer, bytes, compute], rest.first().copied())?;
                if let What::Collective { group, .. } = event.what
                    && !self.groups[group as usize].contains(&rank)
                {
                    return wrong(line, format!("rank {rank} is not in the group"));
                }
                if matches!(event.what, What::Send { to } | What::Receive { from: to } if to == rank) {
                    return wrong(
                        line,
                        "a rank exchanges no messages with itself in a trace; leave the line out",
                    );
                }
                self.events[rank as usize].push(event);
                Ok(())
            }
            _ => wrong(line, "wanted: rank event peer bytes compute_us [group]"),
        }
    }

    fn set_ranks(&mut self, line: u32, count: &str) -> Result<(), TraceError> {
        let count: u32 = number(line, "number of ranks", count)?;
        if count == 0 || count > RANKS_MAX {
            return wrong(line, format!("takes 1 to {RANKS_MAX} ranks"));
        }
        match self.ranks {
            Some(before) if before != count => {
                wrong(line, format!("{count} ranks; there were {before} before"))
            }
            Some(_) => Ok(()),
            None => {
                self.ranks = Some(count);
                self.events = vec![Vec::new(); count as usize];
                self.groups.push((0..count).collect());
                self.names.insert(0, 0);
                Ok(())
            }
        }
    }

    fn group(&mut self, line: u32, name: &str, members: &[&str]) -> Result<(), TraceError> {
        let name = number(line, "number of the group", name)?;
        let members = members.iter().map(|word| self.rank(line, word)).collect::<Result<Vec<u32>, _>>()?;
        if members.is_empty() || (1..members.len()).any(|at| members[..at].contains(&members[at])) {
            return wrong(line, "a group has one rank or more, each once");
        }
        match self.names.get(&name) {
            Some(&index) if self.groups[index as usize] != members => {
                wrong(line, format!("group {name} had other members before"))
            }
            Some(_) => Ok(()),
            None => {
                self.names.insert(name, self.groups.len() as u32);
                self.groups.push(members);
                Ok(())
            }
        }
    }

    fn rank(&self, line: u32, word: &str) -> Result<u32, TraceError> {
        let rank = number(line, "rank", word)?;
        let ranks = self.ranks.unwrap_or(0);
        if rank < ranks {
            Ok(rank)
        } else {
            wrong(line, format!("rank {rank} of {ranks} ranks; they count from 0"))
        }
    }

    fn event(&self, line: u32, words: [&str; 4], group: Option<&str>) -> Result<Event, TraceError> {
        let [what, peer, bytes, compute] = words;
        let bytes = number(line, "bytes", bytes)?;
        if bytes > BYTES_MAX {
            return wrong(line, format!("a message of {bytes} bytes; at most {BYTES_MAX} are replayed"));
        }
        let compute_us: f64 = number(line, "compute_us", compute)?;
        if !(0.0..1e13).contains(&compute_us) {
            return wrong(line, format!("computing for {compute} us; wanted 0 or more"));
        }
        let compute_ps = (compute_us * 1e6).round() as u64;
        let name = group.map_or(Ok(0), |word| number(line, "group", word))?;
        let Some(&group) = self.names.get(&name) else {
            return wrong(line, format!("group {name} has no line `group {name} RANK...` before this"));
        };
        let all = |kind| match peer {
            "-" => Ok(What::Collective { kind, root: 0, group }),
            _ => wrong(line, format!("{what} has no peer; wanted `-`")),
        };
        let rooted = |kind| {
            let root = self.rank(line, peer)?;
            if self.groups[group as usize].contains(&root) {
                Ok(What::Collective { kind, root, group })
            } else {
                wrong(line, format!("the root {root} is not in the group"))
            }
        };
        let what = match what {
            "send" => What::Send { to: self.rank(line, peer)? },
            "recv" => What::Receive { from: self.rank(line, peer)? },
            "barrier" => all(Collective::Barrier)?,
            "allreduce" => all(Collective::AllReduce)?,
            "allgather" => all(Collective::AllGather)?,
            "alltoall" => all(Collective::AllToAll)?,
            "bcast" => rooted(Collective::Broadcast)?,
            "reduce" => rooted(Collective::Reduce)?,
            "gather" => rooted(Collective::Gather)?,
            "scatter" => rooted(Collective::Scatter)?,
            "end" => What::End,
            _ => {
                let known = "send, recv, barrier, bcast, reduce, allreduce, allgather, alltoall, gather, \
                             scatter, end";
                return wrong(line, format!("unknown event `{what}`; known are {known}"));
            }
        };
        Ok(Event { line, compute_ps, what, bytes })
    }
}

fn number<T: std::str::FromStr>(line: u32, what: &str, word: &str) -> Result<T, TraceError> {
    word.parse().or_else(|_| wrong(line, format!("{what} `{word}` is no number")))
}
