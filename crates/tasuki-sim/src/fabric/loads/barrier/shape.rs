//! Shapes of barriers: which position sends to which. A barrier is a few steps at every position: wait for
//! some messages, then send some.

/// The shape of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierShape {
    /// Unicast-based multicast (Kesavan, Panda 2001) and its reverse: in each step every position that has
    /// been told tells one more; that takes ceil(log2 n) steps down, and as many up before.
    Multicast,
    /// In step k every position tells the one 2^k further on (Hensgen, Finkel, Manber 1988).
    Dissemination,
    /// Up a tree in which every position has so many children, and down again.
    Tree(u32),
}

/// A shape, worked out for a number of positions.
pub(super) enum Plan {
    /// For each position, its children in the order in which they are told, and its parent.
    Tree(Vec<(Vec<u32>, u32)>),
    Dissemination(usize),
}

impl Plan {
    pub fn new(shape: BarrierShape, n: usize) -> Plan {
        match shape {
            BarrierShape::Dissemination => Plan::Dissemination(n),
            BarrierShape::Multicast => Plan::Tree((0..n).map(|at| (told(at, n), teller(at))).collect()),
            BarrierShape::Tree(arity) => {
                let arity = arity.max(1) as usize;
                let children = |at: usize| (at * arity + 1..n.min(at * arity + arity + 1)).map(|c| c as u32);
                let node = |at: usize| (children(at).collect(), (at.max(1) - 1) as u32 / arity as u32);
                Plan::Tree((0..n).map(node).collect())
            }
        }
    }

    /// Number of steps of a barrier. In a tree: wait for the children and tell the parent; wait for the
    /// parent and tell the children.
    pub fn steps(&self) -> usize {
        match self {
            Plan::Tree(_) => 2,
            Plan::Dissemination(n) => 1 + n.next_power_of_two().trailing_zeros() as usize,
        }
    }

    /// Number of messages that a position waits for in a step.
    pub fn waits(&self, at: usize, step: usize) -> u32 {
        match self {
            Plan::Tree(nodes) if step == 0 => nodes[at].0.len() as u32,
            Plan::Tree(_) => u32::from(at > 0),
            Plan::Dissemination(_) => u32::from(step > 0),
        }
    }

    /// Number of messages that it sends then.
    pub fn sends(&self, at: usize, step: usize) -> usize {
        match self {
            Plan::Tree(_) if step == 0 => usize::from(at > 0),
            Plan::Tree(nodes) => nodes[at].0.len(),
            Plan::Dissemination(_) => usize::from(step + 1 < self.steps()),
        }
    }

    /// The position that one of these messages goes to, and the step in which it is waited for.
    pub fn send(&self, at: usize, step: usize, number: usize) -> (usize, usize) {
        match self {
            Plan::Tree(nodes) if step == 0 => (nodes[at].1 as usize, 0),
            Plan::Tree(nodes) => (nodes[at].0[number] as usize, 1),
            Plan::Dissemination(n) => ((at + (1 << step)) % n, step + 1),
        }
    }
}

/// The positions that a position tells: those at distances of powers of two beyond its own highest bit.
fn told(at: usize, n: usize) -> Vec<u32> {
    let first = usize::BITS - at.leading_zeros();
    let all = (first..usize::BITS).map(|bit| at + (1 << bit));
    all.take_while(|&child| child < n).map(|child| child as u32).collect()
}

/// The position by which a position is told.
fn teller(at: usize) -> u32 {
    at.checked_ilog2().map_or(0, |bit| (at - (1 << bit)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After step k of a multicast 2^k positions have been told (paper, 4.1.2: ceil(log2(d + 1)) steps for d
    /// destinations).
    #[test]
    fn multicast_takes_the_steps_of_the_paper() {
        for n in [1, 2, 3, 8, 16, 33, 64] {
            let Plan::Tree(nodes) = Plan::new(BarrierShape::Multicast, n) else { panic!("a tree") };
            let mut told_at = vec![usize::MAX; n];
            told_at[0] = 0;
            for at in 0..n {
                for (number, &child) in nodes[at].0.iter().enumerate() {
                    assert_eq!((nodes[child as usize].1, told_at[child as usize]), (at as u32, usize::MAX));
                    told_at[child as usize] = told_at[at] + number + 1;
                }
            }
            let steps = (n as f64).log2().ceil() as usize;
            assert_eq!(told_at.iter().max(), Some(&steps), "{n}: {told_at:?}");
        }
    }

    /// Every message that is sent is waited for, once.
    #[test]
    fn what_is_sent_is_waited_for() {
        for shape in [BarrierShape::Multicast, BarrierShape::Dissemination, BarrierShape::Tree(3)] {
            for n in 1..40 {
                let plan = Plan::new(shape, n);
                let mut due = vec![vec![0; plan.steps()]; n];
                for at in 0..n {
                    for step in 0..plan.steps() {
                        for number in 0..plan.sends(at, step) {
                            let (to, there) = plan.send(at, step, number);
                            due[to][there] += 1;
                        }
                    }
                }
                for (at, due) in due.iter().enumerate() {
                    for (step, due) in due.iter().enumerate() {
                        assert_eq!(*due, plan.waits(at, step), "{shape:?} {n} {at} {step}");
                    }
                }
            }
        }
    }
}
