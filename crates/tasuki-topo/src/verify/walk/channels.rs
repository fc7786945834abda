//! Follows the virtual channels of packets, and enters the dependencies that they cause into the graph.

use super::{Mark, Sender, Walk};
use crate::network::HostId;
use crate::tables::TurnRule;

impl Walk<'_> {
    /// Follows the virtual channels of all packets to a destination where all packets arrive, and enters
    /// every dependency into the graph. False if some packet gets beyond the last virtual channel.
    pub(super) fn spread(&mut self, senders: &[Sender], to: HostId, goal: u32) -> bool {
        let limit = u64::MAX >> (u64::BITS - self.graph.vcs);
        let mut used = 0;
        for sender in senders {
            let (first, node) = match sender.group.first {
                Some(first) => (first, self.flat.to(first)),
                None => (self.marks[sender.source as usize].next, sender.source),
            };
            let vc = self.flat.start(sender.source, first, to);
            if vc >= self.graph.vcs {
                return false;
            }
            used |= 1 << vc;
            if sender.group.first.is_none() {
                self.marks[node as usize].lanes |= 1 << vc;
            } else if node != goal {
                let rule = self.flat.turn(first, self.marks[node as usize].next);
                let Some(lanes) = apply(rule, 1 << vc, limit) else { return false };
                self.marks[node as usize].lanes |= lanes;
            }
        }
        for at in (0..self.resolved.len()).rev() {
            let Mark { next: channel, lanes, .. } = self.marks[self.resolved[at] as usize];
            used |= lanes;
            let node = self.flat.to(channel);
            if node == goal || lanes == 0 {
                continue;
            }
            let next = self.marks[node as usize].next;
            let rule = self.flat.turn(channel, next);
            let Some(after) = apply(rule, lanes, limit) else { return false };
            self.marks[node as usize].lanes |= after;
            if self.flat.inner(channel, next) {
                self.depend_on_lanes(channel, next, rule, lanes);
            }
        }
        self.report.vcs = self.report.vcs.max(u64::BITS - used.leading_zeros());
        true
    }

    /// Enters the dependencies of one channel on the next, on several virtual channels.
    fn depend_on_lanes(&mut self, channel: u32, next: u32, rule: TurnRule, lanes: u64) {
        let bit = self.flat.turn_number(channel, next) * self.graph.vcs as usize;
        let (word, shift) = (bit / 64, bit % 64);
        let mut present = self.present[word] >> shift;
        if shift > 0 && shift + self.graph.vcs as usize > 64 {
            present |= self.present[word + 1] << (64 - shift);
        }
        let mut missing = lanes & !present;
        while missing != 0 {
            let vc = missing.trailing_zeros();
            self.depend(channel, vc, next, rule.apply(vc));
            missing &= missing - 1;
        }
    }

    /// Follows the virtual channels of a packet from its first channel on, and enters every dependency into
    /// the graph. Returns the channel and the virtual channel where it gets beyond the last one, if it does.
    pub(super) fn follow(
        &mut self,
        first: u32,
        vc: u32,
        to: HostId,
        goal: u32,
        column: &[u16],
    ) -> Option<(u32, u32)> {
        if self.seen.is_empty() {
            self.seen = vec![0; self.graph.states];
        }
        let (mut channel, mut vc) = (first, vc);
        let mut passed = Vec::new();
        let exceeds = loop {
            if vc >= self.graph.vcs {
                break Some((channel, vc));
            }
            self.report.vcs = self.report.vcs.max(vc + 1);
            let state = channel * self.graph.vcs + vc;
            if self.seen[state as usize] == to.0 + 1 {
                break self.exceeding.get(&state).copied();
            }
            self.seen[state as usize] = to.0 + 1;
            passed.push(state);
            let node = self.flat.to(channel);
            if node == goal || !self.flat.passes[node as usize] {
                break None;
            }
            let Ok(next) = self.flat.hop(node, column) else { break None };
            let next_vc = self.flat.turn(channel, next).apply(vc);
            if self.flat.inner(channel, next) {
                self.depend(channel, vc, next, next_vc);
            }
            (channel, vc) = (next, next_vc);
        };
        if let Some(place) = exceeds {
            self.exceeding.extend(passed.into_iter().map(|state| (state, place)));
        }
        exceeds
    }

    /// Enters a dependency, unless the graph has it or it leads to a virtual channel that does not exist.
    fn depend(&mut self, channel: u32, vc: u32, next: u32, next_vc: u32) {
        let vcs = self.graph.vcs;
        let bit = self.flat.turn_number(channel, next) * vcs as usize + vc as usize;
        let word = &mut self.present[bit / 64];
        if next_vc < vcs && *word & (1 << (bit % 64)) == 0 {
            *word |= 1 << (bit % 64);
            self.graph.edges.push((channel * vcs + vc, next * vcs + next_vc));
            self.report.dependencies += 1;
        }
    }
}

/// What a rule makes of a set of virtual channels (bits); `None` if one gets beyond those in `limit`.
fn apply(rule: TurnRule, lanes: u64, limit: u64) -> Option<u64> {
    let after = match rule {
        TurnRule::Keep => lanes,
        TurnRule::Raise => return (lanes & !(limit >> 1) == 0).then_some(lanes << 1),
        TurnRule::Set(vc) if lanes != 0 => 1u64.checked_shl(u32::from(vc))?,
        TurnRule::Set(_) => 0,
    };
    (after & !limit == 0).then_some(after)
}
