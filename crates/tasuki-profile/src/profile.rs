//! The records of all processes as one.

use serde::Serialize;

use crate::advice::{Advice, advice};
use crate::arrays::{Array, Arrays, Things};
use crate::code::{Line, Places, lines};
use crate::names::{Area, Names};
use crate::record::{Record, RegionSum};

/// Where a program's time went.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// The program.
    pub program: String,
    /// From its start to its end, s.
    pub seconds: f64,
    /// Processes.
    pub processes: usize,
    /// Threads of each process.
    pub threads: u32,
    /// What the threads waited for in all parallel regions together.
    pub waits: Share,
    /// Parallel regions, and what lies between them, the longest first.
    pub regions: Vec<Region>,
    /// Lines whose threads wait for pages, the most waited for first.
    pub lines: Vec<Line>,
    /// Arrays whose pages move, the most waited for first.
    pub arrays: Vec<Array>,
    /// What would help, the most first.
    pub advice: Vec<Advice>,
    /// Faults that are not told by line and array, because there were too many places.
    pub untold: u64,
}

/// Parts of the threads' time, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// They waited for pages.
    pub pages: f64,
    /// They waited for other threads at barriers, the region's end included.
    pub barriers: f64,
    /// They waited for locks and critical sections.
    pub locks: f64,
}

/// A parallel region.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Region {
    /// Where it begins; `None`: what lies between parallel regions, at rank 0.
    pub place: Option<String>,
    /// How often it was entered.
    pub times: u64,
    /// Time in it, at rank 0, s.
    pub seconds: f64,
    /// What the threads of all processes waited for there; between regions, those of rank 0.
    pub waits: Share,
    /// Time for which each process computed, s: what is left of its time without waits.
    pub computing: Vec<f64>,
}

impl Profile {
    /// Puts the records together, that of rank 0 first. `areas` say what lies in shared memory beside the
    /// program's variables and allocated blocks; the first one that holds an address counts.
    ///
    /// # Panics
    /// If there is no record.
    pub fn of(program: &str, records: &[Record], names: &dyn Names, areas: &[Area]) -> Profile {
        let first = &records[0];
        let things = Things::new(records, names, areas);
        let arrays = Arrays::of(records, &things);
        let mut places = Places::new(names);
        let lines = lines(records, &arrays, &mut places);
        let mut regions: Vec<Region> = first
            .regions
            .iter()
            .map(|region| match region.function {
                0 => between(region, first.threads),
                function => {
                    let place = places.code(function).place();
                    Region { place: Some(place), ..whole(records, |sum| sum.function == function) }
                }
            })
            .collect();
        regions.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        let all = whole(records, |sum| sum.function != 0);
        let arrays = arrays.sorted();
        let advice = advice(&arrays, &regions, records.len());
        Profile {
            program: program.to_owned(),
            seconds: first.ns as f64 / 1e9,
            processes: records.len(),
            threads: first.threads,
            waits: all.waits,
            regions,
            lines,
            arrays,
            advice,
            untold: records.iter().map(|record| record.untold).sum(),
        }
    }
}

/// What lies between parallel regions: one thread runs then.
fn between(sum: &RegionSum, threads: u32) -> Region {
    let share = |ns: u64| ns as f64 / sum.ns.max(1) as f64;
    let waits =
        Share { pages: share(sum.page_ns), barriers: share(sum.barrier_ns), locks: share(sum.lock_ns) };
    let computing = vec![computing(sum, threads.min(1))];
    Region { place: None, times: sum.times, seconds: sum.ns as f64 / 1e9, waits, computing }
}

/// Parallel regions as one: those that `counts` says.
fn whole(records: &[Record], counts: impl Fn(&RegionSum) -> bool) -> Region {
    let mut region =
        Region { place: None, times: 0, seconds: 0.0, waits: Share::default(), computing: Vec::new() };
    let mut time = 0.0;
    for (rank, record) in records.iter().enumerate() {
        let threads = f64::from(record.threads);
        let mut computed = 0.0;
        for sum in record.regions.iter().filter(|sum| counts(sum)) {
            if rank == 0 {
                region.times += sum.times;
                region.seconds += sum.ns as f64 / 1e9;
            }
            time += sum.ns as f64 * threads;
            region.waits.pages += sum.page_ns as f64;
            region.waits.locks += sum.lock_ns as f64;
            // The first thread of a process stands for all.
            region.waits.barriers += sum.barrier_ns as f64 * threads;
            computed += computing(sum, record.threads);
        }
        region.computing.push(computed);
    }
    for part in [&mut region.waits.pages, &mut region.waits.barriers, &mut region.waits.locks] {
        *part /= time.max(1.0);
    }
    region
}

/// Seconds that a process computed in a region, on average over its threads.
fn computing(sum: &RegionSum, threads: u32) -> f64 {
    let waited = (sum.page_ns + sum.lock_ns) as f64 / f64::from(threads.max(1)) + sum.barrier_ns as f64;
    ((sum.ns as f64 - waited) / 1e9).max(0.0)
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
