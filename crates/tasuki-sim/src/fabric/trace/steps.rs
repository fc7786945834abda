//! Collective operations as messages, by the usual algorithms (Thakur, Rabenseifner, Gropp: "Optimization of
//! Collective Communication Operations in MPICH", 2005).

use super::Collective;

/// A step of one member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Send { to: u32, bytes: u64 },
    Receive { from: u32 },
}

/// The steps of the member at index `me` of `members`, in order; the root is a rank.
pub(super) fn steps(kind: Collective, members: &[u32], me: usize, root: u32, bytes: u64) -> Vec<Step> {
    let root = members.iter().position(|&rank| rank == root).unwrap_or(0);
    let at = Member { members, me, root };
    match kind {
        Collective::Barrier => at.dissemination(),
        Collective::Broadcast => at.broadcast(bytes),
        Collective::Reduce => at.reduce(bytes),
        Collective::AllReduce => at.all_reduce(bytes),
        Collective::AllGather => at.ring(bytes),
        Collective::AllToAll => at.pairs(bytes),
        Collective::Gather => at.gather(bytes),
        Collective::Scatter => at.scatter(bytes),
    }
}

struct Member<'a> {
    members: &'a [u32],
    me: usize,
    root: usize,
}

impl Member<'_> {
    fn n(&self) -> usize {
        self.members.len()
    }

    fn send(&self, to: usize, bytes: u64) -> Step {
        Step::Send { to: self.members[to % self.n()], bytes }
    }

    fn receive(&self, from: usize) -> Step {
        Step::Receive { from: self.members[from % self.n()] }
    }

    /// Distance of the member from the root, round the ring of members.
    fn distance(&self) -> usize {
        (self.me + self.n() - self.root) % self.n()
    }

    /// The powers of two below the number of members.
    fn powers(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let bits = self.n().next_power_of_two().ilog2();
        (0..bits).map(|bit| 1 << bit)
    }

    /// In step k each member sends to the one 2^k further on and receives from the one 2^k before.
    fn dissemination(&self) -> Vec<Step> {
        let step = |far: usize| [self.send(self.me + far, 0), self.receive(self.me + self.n() - far)];
        self.powers().flat_map(step).collect()
    }

    /// Binomial tree: each member that has the data gives it to the farthest one first.
    fn broadcast(&self, bytes: u64) -> Vec<Step> {
        let me = self.distance();
        let mut steps = Vec::new();
        for far in self.powers().rev() {
            if me % (2 * far) == far {
                steps.push(self.receive(self.root + me - far));
            } else if me.is_multiple_of(2 * far) && me + far < self.n() {
                steps.push(self.send(self.root + me + far, bytes));
            }
        }
        steps
    }

    /// The tree of [`broadcast`](Self::broadcast), in reverse.
    fn reduce(&self, bytes: u64) -> Vec<Step> {
        let me = self.distance();
        let mut steps = Vec::new();
        for far in self.powers() {
            if me % (2 * far) == far {
                steps.push(self.send(self.root + me - far, bytes));
                break;
            }
            if me + far < self.n() {
                steps.push(self.receive(self.root + me + far));
            }
        }
        steps
    }

    /// Recursive doubling if the number of members is a power of two, otherwise reduce and broadcast.
    fn all_reduce(&self, bytes: u64) -> Vec<Step> {
        if self.n().is_power_of_two() {
            let step = |far: usize| [self.send(self.me ^ far, bytes), self.receive(self.me ^ far)];
            return self.powers().flat_map(step).collect();
        }
        let first = Member { root: 0, ..*self };
        [first.reduce(bytes), first.broadcast(bytes)].concat()
    }

    /// Every part of the data goes round the ring.
    fn ring(&self, bytes: u64) -> Vec<Step> {
        let step = [self.send(self.me + 1, bytes), self.receive(self.me + self.n() - 1)];
        step.repeat(self.n() - 1)
    }

    /// In step k each member sends to the one k further on and receives from the one k before.
    fn pairs(&self, bytes: u64) -> Vec<Step> {
        let step = |far: usize| [self.send(self.me + far, bytes), self.receive(self.me + self.n() - far)];
        (1..self.n()).flat_map(step).collect()
    }

    fn gather(&self, bytes: u64) -> Vec<Step> {
        match self.distance() {
            0 => (1..self.n()).map(|far| self.receive(self.root + far)).collect(),
            _ => vec![self.send(self.root, bytes)],
        }
    }

    fn scatter(&self, bytes: u64) -> Vec<Step> {
        match self.distance() {
            0 => (1..self.n()).map(|far| self.send(self.root + far, bytes)).collect(),
            _ => vec![self.receive(self.root)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const ALL: [Collective; 8] = [
        Collective::Barrier,
        Collective::Broadcast,
        Collective::Reduce,
        Collective::AllReduce,
        Collective::AllGather,
        Collective::AllToAll,
        Collective::Gather,
        Collective::Scatter,
    ];

    /// Plays the messages of all members in rounds and follows which member has heard of which: no member
    /// waits for ever, no message is left over, and every member that must know of others does.
    #[test]
    fn every_rank_receives_what_its_operation_needs() {
        for kind in ALL {
            for n in 1..=17usize {
                let members: Vec<u32> = (0..n as u32).map(|rank| rank * 3 + 1).collect();
                for root in [0, n / 2] {
                    let heard = play(kind, &members, root);
                    for (me, heard) in heard.iter().enumerate() {
                        let all = (0..n).all(|other| heard[other]);
                        let wanted = match kind {
                            Collective::Barrier
                            | Collective::AllReduce
                            | Collective::AllGather
                            | Collective::AllToAll => all,
                            Collective::Reduce | Collective::Gather => me != root || all,
                            Collective::Broadcast | Collective::Scatter => heard[root],
                        };
                        assert!(wanted, "{kind:?} of {n}, root {root}: {me} heard {heard:?}");
                    }
                }
            }
        }
    }

    fn play(kind: Collective, members: &[u32], root: usize) -> Vec<Vec<bool>> {
        let n = members.len();
        let place = |rank: u32| members.iter().position(|&member| member == rank).unwrap();
        let mut lists: Vec<_> =
            (0..n).map(|me| steps(kind, members, me, members[root], 8).into_iter().peekable()).collect();
        let mut heard: Vec<Vec<bool>> = (0..n).map(|me| (0..n).map(|other| me == other).collect()).collect();
        let mut under_way: BTreeMap<(usize, usize), Vec<Vec<bool>>> = BTreeMap::new();
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for me in 0..n {
                while let Some(&step) = lists[me].peek() {
                    match step {
                        Step::Send { to, .. } => {
                            under_way.entry((me, place(to))).or_default().push(heard[me].clone());
                        }
                        Step::Receive { from } => {
                            let queue = under_way.entry((place(from), me)).or_default();
                            if queue.is_empty() {
                                break;
                            }
                            let news = queue.remove(0);
                            heard[me].iter_mut().zip(news).for_each(|(have, new)| *have |= new);
                        }
                    }
                    lists[me].next();
                    moved = true;
                }
            }
        }
        assert!(lists.iter_mut().all(|list| list.peek().is_none()), "{kind:?} of {n}: somebody waits");
        assert!(under_way.values().all(Vec::is_empty), "{kind:?} of {n}: something is left over");
        heard
    }
}
