//! A program that counts its steps, whose memory says of which process and step it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tasuki_checkpoint::{Checkpoint, Error, Options};
use tasuki_random::Random;

use crate::hall::{each, seats};

/// A run of the program, from its start to its end or its death.
#[derive(Clone, Debug)]
pub struct Run {
    pub seed: u64,
    /// The host of each process.
    pub hosts: Vec<usize>,
    /// Where the folders of hosts are.
    pub root: PathBuf,
    pub copies: bool,
    /// In how many steps the program ends.
    pub steps: u64,
    /// Percent of steps after which it saves.
    pub saves: u64,
    /// A process and the call of its group in which it dies.
    pub dies: Option<(usize, u64)>,
    /// Bytes of the memory of each process.
    pub lengths: Vec<usize>,
}

/// What became of a run at one process.
#[derive(Debug)]
pub struct Outcome {
    /// The step that it began with; 0: anew.
    pub begun: Result<u64, Error>,
    /// The last step that it knows to be saved.
    pub saved: u64,
    /// Whether it reached its end.
    pub is_over: bool,
}

pub fn folder(root: &Path, host: usize) -> PathBuf {
    root.join(format!("host-{host}"))
}

/// Memory of a process after a step.
fn memory(rank: usize, step: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(step << 8 | rank as u64);
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    bytes.truncate(length);
    bytes
}

/// Runs all processes, and gives what became of each.
pub fn run(run: &Run) -> Vec<Outcome> {
    each(seats(run.hosts.len(), run.seed, run.dies), |rank, seat| process(run, rank, seat))
}

fn process(run: &Run, rank: usize, seat: crate::hall::Seat) -> Outcome {
    let options = Options {
        folder: folder(&run.root, run.hosts[rank]),
        host: format!("host-{}", run.hosts[rank]),
        machine: String::new(),
        every: None,
        failures: Duration::from_secs(86_400),
        copies: run.copies,
        keep: 2,
    };
    let mut counter = 0_u64.to_le_bytes();
    let mut bytes = vec![0; run.lengths[rank]];
    let opened = Checkpoint::open(seat, Ok(options)).and_then(|mut checkpoint| {
        let restored = checkpoint.restore(vec![(7, &mut bytes), (0, &mut counter)])?;
        Ok((checkpoint, restored.epoch))
    });
    let (mut checkpoint, epoch) = match opened {
        Ok(opened) => opened,
        Err(error) => return Outcome { begun: Err(error), saved: 0, is_over: false },
    };
    let begun = u64::from_le_bytes(counter);
    assert_eq!(epoch.is_none(), begun == 0, "an epoch is restored if and only if there is one");
    if begun > 0 {
        assert!(bytes == memory(rank, begun, bytes.len()), "process {rank}: wrong memory of step {begun}");
    }
    let (mut random, mut saved) = (Random::new(run.seed ^ 0x5a5a), begun);
    for step in begun + 1..=run.steps {
        let bytes = memory(rank, step, run.lengths[rank]);
        if random.chance(run.saves) {
            match checkpoint.save(vec![(0, &step.to_le_bytes()), (7, &bytes)]) {
                Ok(_) => saved = step,
                Err(_) => return Outcome { begun: Ok(begun), saved, is_over: false },
            }
        }
    }
    Outcome { begun: Ok(begun), saved, is_over: true }
}
