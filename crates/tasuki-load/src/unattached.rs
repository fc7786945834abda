//! Ranks of jobs that have no statistics page: their MPI_Init has not come to Tasuki, or they do not use it.

use crate::{processes::of_environment, sample::ProcessSample};
use procfs::process::{self, MMapPath, Process};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::{OsStr, OsString},
};
use tasuki_ring::stats_page::{RANK_VARIABLES, Snapshot};

/// A process of a job that has been told a rank.
struct Candidate {
    sample: ProcessSample,
    parent: u32,
    /// Whether it has loaded an MPI.
    has_mpi: bool,
}

impl Candidate {
    fn pid(&self) -> u32 {
        self.sample.page.pid
    }

    /// Its user, job and rank.
    fn rank(&self) -> (Option<u32>, Option<String>, Option<u32>) {
        rank(&self.sample)
    }
}

fn rank(sample: &ProcessSample) -> (Option<u32>, Option<String>, Option<u32>) {
    (sample.page.user, sample.job.clone(), sample.page.rank)
}

/// The processes of this host that were started as ranks of a job and are not among those with a page. Of a
/// script and what it has started, this is what may become the rank. Processes that cannot be read are
/// passed over.
pub fn unattached(attached: &[ProcessSample]) -> Vec<ProcessSample> {
    let all = process::all_processes().into_iter().flatten().filter_map(Result::ok);
    let candidates: Vec<Candidate> = all.filter_map(|process| candidate(&process)).collect();
    chosen(candidates, attached)
}

fn candidate(process: &Process) -> Option<Candidate> {
    let environment = process.environ().ok()?;
    let stat = process.stat().ok()?;
    let mut sample = of_environment(&environment, &stat);
    sample.job.as_ref()?;
    sample.page = Snapshot {
        pid: u32::try_from(process.pid).ok()?,
        program: program(process).unwrap_or(stat.comm),
        user: process.status().ok().map(|status| status.euid),
        rank: Some(rank_in(&environment)?),
        ..Snapshot::default()
    };
    Some(Candidate { sample, parent: u32::try_from(stat.ppid).unwrap_or(0), has_mpi: has_mpi(process) })
}

fn rank_in(environment: &HashMap<OsString, OsString>) -> Option<u32> {
    RANK_VARIABLES.iter().find_map(|name| environment.get(OsStr::new(name))?.to_str()?.parse().ok())
}

fn program(process: &Process) -> Option<String> {
    Some(process.exe().ok()?.file_name()?.to_string_lossy().into_owned())
}

/// Whether a library of an MPI is mapped (`libmpi.so.40`, `libmpich.so.12`).
fn has_mpi(process: &Process) -> bool {
    let is_mpi = |path: &MMapPath| match path {
        MMapPath::Path(path) => {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libmpi"))
        }
        _ => false,
    };
    process.maps().is_ok_and(|maps| maps.iter().any(|map| is_mpi(&map.pathname)))
}

/// What has started another process of its rank is a script about the rank, and what a rank with a page has
/// started is no rank.
fn chosen(candidates: Vec<Candidate>, attached: &[ProcessSample]) -> Vec<ProcessSample> {
    // Of a page whose process is not known the number may be that of any other.
    let known = attached.iter().filter(|sample| sample.page.process.is_some());
    let pages: BTreeSet<u32> = known.map(ProcessSample::pid).collect();
    let ranks: BTreeSet<_> = attached.iter().map(rank).collect();
    let with_mpi = candidates.iter().filter(|process| process.has_mpi).map(Candidate::pid);
    // What a process with an MPI forks has the MPI as well.
    let real: BTreeSet<u32> = pages.iter().copied().chain(with_mpi).collect();
    let parents: BTreeMap<u32, u32> =
        candidates.iter().map(|process| (process.pid(), process.parent)).collect();
    let below = below(&parents, &real);
    let above_pages = above(&parents, &pages);
    let starters: BTreeSet<u32> = parents.values().copied().collect();
    let is_rank = |process: &Candidate| {
        let pid = process.pid();
        if pages.contains(&pid) || below.contains(&pid) {
            return false;
        }
        match process.has_mpi {
            true => !above_pages.contains(&pid),
            false => !starters.contains(&pid) && !ranks.contains(&process.rank()),
        }
    };
    let keep: Vec<bool> = candidates.iter().map(is_rank).collect();
    candidates.into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(process, _)| process.sample).collect()
}

/// Those that have one of `real` above them. An ancestor that is none of `parents` ends the line, and so does
/// one that is met twice. Each is looked at once, however long the lines are that a user makes.
fn below(parents: &BTreeMap<u32, u32>, real: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut answers: BTreeMap<u32, bool> = BTreeMap::new();
    for first in parents.keys() {
        let mut line = Vec::new();
        let mut pid = *first;
        let is_below = loop {
            if let Some(known) = answers.get(&pid) {
                break *known;
            }
            let Some(parent) = parents.get(&pid) else { break false };
            line.push(pid);
            // What is met again in this line has nothing above it.
            answers.insert(pid, false);
            if real.contains(parent) {
                break true;
            }
            pid = *parent;
        };
        answers.extend(line.into_iter().map(|pid| (pid, is_below)));
    }
    answers.into_iter().filter(|(_, is_below)| *is_below).map(|(pid, _)| pid).collect()
}

/// Those that have one of `of` below them, each of which is looked at once.
fn above(parents: &BTreeMap<u32, u32>, of: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for pid in of {
        let line = std::iter::successors(parents.get(pid), |pid| parents.get(pid));
        for pid in line {
            if !found.insert(*pid) {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(pid: u32, rank: u32) -> ProcessSample {
        let page = Snapshot { pid, process: Some(pid), rank: Some(rank), ..Snapshot::default() };
        ProcessSample { page, job: Some("heat".into()), ..ProcessSample::default() }
    }

    /// Processes as number, parent, rank and whether they have an MPI.
    fn chosen_of(candidates: &[(u32, u32, u32, bool)], attached: &[(u32, u32)]) -> Vec<u32> {
        let candidate = |&(pid, parent, rank, has_mpi): &(u32, u32, u32, bool)| Candidate {
            sample: sample(pid, rank),
            parent,
            has_mpi,
        };
        let attached: Vec<ProcessSample> = attached.iter().map(|(pid, rank)| sample(*pid, *rank)).collect();
        let found = chosen(candidates.iter().map(candidate).collect(), &attached);
        found.iter().map(|sample| sample.page.pid).collect()
    }

    #[test]
    fn a_rank_without_a_page_is_found_beside_one_with_a_page() {
        assert_eq!(chosen_of(&[(10, 1, 0, true), (11, 1, 1, true)], &[(10, 0)]), [11]);
        // A spawned process has the number of a rank that started it.
        assert_eq!(chosen_of(&[(10, 1, 0, true), (12, 1, 0, true)], &[(10, 0)]), [12]);
    }

    #[test]
    fn scripts_and_what_ranks_start_are_no_ranks() {
        let script = [(10, 1, 0, false), (11, 10, 0, true), (12, 11, 0, true), (13, 12, 0, false)];
        assert_eq!(chosen_of(&script, &[]), [11], "it has an MPI, and what it forks has it too");
        assert_eq!(chosen_of(&script, &[(11, 0)]), [0; 0]);
        assert_eq!(chosen_of(&[(10, 1, 0, false), (11, 10, 0, false)], &[]), [11], "no MPI yet");
        assert_eq!(chosen_of(&[(10, 1, 0, false)], &[(20, 0)]), [0; 0], "the rank is there");
    }

    #[test]
    fn a_rank_of_another_user_is_another_one_though_their_jobs_have_one_name() {
        let of = |user, pid| {
            let sample = sample(pid, 0);
            ProcessSample { page: Snapshot { user: Some(user), ..sample.page }, ..sample }
        };
        let attached = of(1000, 20);
        let begins = |user| Candidate { sample: of(user, 10), parent: 1, has_mpi: false };
        assert_eq!(chosen(vec![begins(1000)], std::slice::from_ref(&attached)).len(), 0);
        assert_eq!(chosen(vec![begins(1001)], &[attached]).len(), 1);
    }

    #[test]
    fn parents_in_a_circle_are_followed_once() {
        assert_eq!(chosen_of(&[(10, 11, 0, true), (11, 10, 0, true)], &[]), [0; 0]);
    }

    #[test]
    fn ancestors_count_over_any_number_of_generations() {
        let scripts = [(10, 1, 0, false), (11, 10, 0, false), (12, 11, 0, false), (13, 12, 1, true)];
        assert_eq!(chosen_of(&scripts, &[]), [13]);
        assert_eq!(chosen_of(&scripts, &[(10, 0)]), [0; 0], "a rank with a page has started them");
        let mpi = [(10, 1, 0, true), (11, 10, 0, false), (12, 11, 0, true)];
        assert_eq!(chosen_of(&mpi, &[(12, 0)]), [0; 0], "it has started a rank with a page");
        let line: Vec<_> = (2..100_002).map(|pid| (pid, pid - 1, 0, false)).collect();
        assert_eq!(chosen_of(&line, &[]), [100_001], "in time, and in the memory that there is");
    }

    #[test]
    fn a_page_that_names_another_process_hides_no_rank() {
        let mut forged = sample(10, 7);
        forged.page.process = None;
        let own = Candidate { sample: sample(10, 0), parent: 1, has_mpi: true };
        assert_eq!(chosen(vec![own], &[forged]).len(), 1);
    }
}
