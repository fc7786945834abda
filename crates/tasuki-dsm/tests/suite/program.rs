//! Random programs of threads.

use tasuki_dsm::{Lock, Page};
use tasuki_random::Random;

/// Words of a simulated page.
pub const WORDS: usize = 4;

/// Where a word lies.
pub type Word = (Page, usize);

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Reads a word.
    Read(Word),
    /// Writes a value that nobody else writes.
    Write(Word),
    /// Adds 1 to a word, as one atomic instruction does.
    Add(Word),
    /// Waits until the word, which is only added to, has at least this value: spinning on a flag.
    Until(Word, u64),
    /// Takes a lock.
    Acquire(Lock),
    /// Gives it back.
    Release(Lock),
    /// Comes to the barrier of so many nodes, the first ones. Only the first thread of a node does.
    Barrier(usize),
}

/// The size of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub nodes: usize,
    /// Threads of each node.
    pub threads: usize,
    pub pages: u32,
    pub run: u32,
    pub locks: u32,
    /// Operations of a thread, about.
    pub ops: usize,
    /// Time for which a page stays, ns.
    pub hold: u64,
    /// The longest that a message is on its way, ns.
    pub delay: u64,
}

impl Shape {
    pub fn random(random: &mut Random) -> Shape {
        let nodes = random.pick(&[1, 2, 2, 3, 4, 5, 7, 8, 64]);
        Shape {
            nodes,
            threads: if nodes == 64 { 1 } else { random.between(1, 3) as usize },
            pages: random.between(1, 6) as u32,
            run: random.between(1, 3) as u32,
            locks: random.between(1, 3) as u32,
            ops: random.between(5, 40) as usize,
            hold: random.pick(&[0, 0, 1000, 30_000]),
            delay: random.pick(&[10, 2000, 100_000]),
        }
    }
}

/// The operations of each thread of each node. All nodes of a barrier come to it.
pub fn write(shape: Shape, random: &mut Random) -> Vec<Vec<Vec<Op>>> {
    let all = shape.nodes as u64;
    let of = |random: &mut Random| if random.chance(50) { all } else { random.between(1, all) };
    let barriers: Vec<usize> = (0..random.below(5)).map(|_| of(random) as usize).collect();
    let node = |me: usize, random: &mut Random| {
        let own: Vec<usize> = barriers.iter().copied().filter(|&of| me < of).collect();
        (0..shape.threads).map(|at| thread(shape, if at == 0 { &own } else { &[] }, random)).collect()
    };
    (0..shape.nodes).map(|me| node(me, random)).collect()
}

fn thread(shape: Shape, barriers: &[usize], random: &mut Random) -> Vec<Op> {
    let mut ops = Vec::new();
    for part in 0..=barriers.len() {
        for _ in 0..random.below(shape.ops as u64 / (barriers.len() as u64 + 1) + 1) {
            let word = (Page(random.below(u64::from(shape.pages)) as u32), random.index(WORDS));
            match random.below(10) {
                0..4 => ops.push(Op::Read(word)),
                4..6 => ops.push(Op::Write(word)),
                6..9 => ops.push(Op::Add(word)),
                _ => {
                    let lock = Lock(random.below(u64::from(shape.locks)) as u32);
                    ops.extend([Op::Acquire(lock), Op::Read(word), Op::Write(word), Op::Release(lock)]);
                }
            }
        }
        ops.extend(barriers.get(part).map(|&of| Op::Barrier(of)));
    }
    ops
}
