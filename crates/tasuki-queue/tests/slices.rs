//! Tables of slices however rows change: every row has its turn, and hosts that follow the tables never run
//! two rows at once.

use std::collections::{BTreeMap, BTreeSet};
use tasuki_control::{JobId, Table};
use tasuki_queue::{Rows, Slicer};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

const MS: u64 = 1_000_000;
const SLICE: u64 = 100 * MS;

/// The tables as a host keeps them: what was to begin at the same instant or later is void.
#[derive(Default)]
struct Host {
    tables: Vec<Table>,
}

impl Host {
    fn take(&mut self, table: Table) {
        self.tables.retain(|other| other.from < table.from);
        self.tables.push(table);
    }

    /// The row that runs at a time, and who stands still.
    fn at(&self, now: u64) -> (Option<&Vec<JobId>>, &[JobId]) {
        let Some(table) = self.tables.iter().rev().find(|table| table.from <= now) else {
            return (None, &[]);
        };
        let row = (now - table.from) / table.slice % (table.rows.len().max(1) as u64);
        (table.rows.get(row as usize), &table.paused)
    }
}

/// Rows of some jobs: each job in one row, some in others too.
fn draw(random: &mut Random, jobs: &BTreeSet<JobId>, urgent: bool) -> Rows {
    if urgent {
        return Rows { rows: Vec::new(), paused: jobs.iter().copied().collect() };
    }
    let mut rows: Vec<Vec<JobId>> = vec![Vec::new(); 2 + random.index(4)];
    for job in jobs {
        let own = random.index(rows.len());
        rows[own].push(*job);
        let other = random.index(rows.len());
        if other != own && random.below(4) == 0 {
            rows[other].push(*job);
        }
    }
    rows.retain(|row| !row.is_empty());
    if rows.len() < 2 {
        rows.clear();
    }
    Rows { rows, paused: Vec::new() }
}

#[test]
fn every_job_has_its_turn_however_often_tables_change() {
    let command = "cargo test --release -p tasuki-queue --test slices";
    Replay { variable: "TASUKI_SEED", command }.each(60, |seed| {
        let mut random = Random::new(seed);
        let (mut slicer, mut host) = (Slicer::new(SLICE), Host::default());
        let mut jobs: BTreeSet<JobId> = (1..4).collect();
        let (mut next, mut now, mut generation) = (4, 1_000 * MS, 0);
        // How long each job has been there without a turn, ms; time for which all stand still is left out.
        let mut hungry: BTreeMap<JobId, u64> = BTreeMap::new();
        let (mut urgent, pace) = (false, 1 + random.below(400));
        for _ in 0..20_000 {
            now += MS;
            if random.below(pace) == 0 {
                urgent = !urgent && random.below(10) == 0;
                if random.below(2) == 0 {
                    jobs.insert(next);
                    next += 1;
                }
                let gone = jobs.iter().copied().nth(random.index(jobs.len().max(1)));
                gone.filter(|_| jobs.len() > 5).map(|job| jobs.remove(&job));
                let table = slicer.change(now, draw(&mut random, &jobs, urgent));
                assert!(table.generation > generation && table.from >= now, "{table:?}");
                assert!(!urgent || table.from == now, "an urgent job begins at once: {table:?}");
                assert!(table.from <= now + SLICE + 10 * MS, "a table waits for one slice at most");
                generation = table.generation;
                host.take(table);
            }
            let (row, paused) = host.at(now);
            hungry.retain(|job, _| jobs.contains(job));
            for job in &jobs {
                let runs = !paused.contains(job) && row.is_none_or(|row| row.contains(job));
                let since = hungry.entry(*job).or_insert(0);
                *since = if runs { 0 } else { *since + u64::from(paused.is_empty()) };
                // Five rows at most, each for a slice and what is left of the one under way; jobs move
                // between rows at random here, which may put a row before them once more.
                assert!(*since <= 1_500, "job {job} has waited for {since} ms at {now}: {:?}", host.tables);
            }
        }
    });
}

#[test]
fn a_turn_that_has_begun_is_not_cut_short() {
    let mut slicer = Slicer::new(SLICE);
    let rows =
        |rows: &[&[JobId]]| Rows { rows: rows.iter().map(|row| row.to_vec()).collect(), paused: Vec::new() };
    let first = slicer.change(0, rows(&[&[1], &[2]]));
    assert_eq!((first.from, &first.rows), (10 * MS, &vec![vec![1], vec![2]]));
    // In the second slice, that of job 2: the next table begins when it ends, with who has waited longest.
    let second = slicer.change(150 * MS, rows(&[&[1], &[2], &[3]]));
    assert_eq!((second.from, &second.rows), (210 * MS, &vec![vec![1], vec![3], vec![2]]));
    // Job 1 ends in its slice: the others go on soon.
    let third = slicer.change(220 * MS, rows(&[&[2], &[3]]));
    assert_eq!((third.from, &third.rows), (230 * MS, &vec![vec![3], vec![2]]));
}
