//! Processes of this host that use Tasuki, and what the kernel says of them.

use crate::{sample::ProcessSample, system::tick_ns};
use procfs::process::{Process, Stat};
use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
};
use tasuki_ring::stats_page::Snapshot;
use tasuki_shepherd::JOB_ID;
use tasuki_stats::HostPages;

/// Variable in which `tasuki run` names a job that it starts by an MPI's own launcher.
pub const RUN_ID: &str = "TASUKI_RUN_ID";
/// Variables in which launchers tell a rank how many there are: MPICH, Intel MPI and the resident runtime by
/// PMI-1; Open MPI; Slurm.
const RANKS: [&str; 3] = ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"];

/// All of them; and what could not be read, and why.
pub fn local() -> (Vec<ProcessSample>, Vec<String>) {
    let found = HostPages::of_processes();
    (found.pages.into_iter().map(process).collect(), found.problems)
}

/// A process that ends meanwhile, or whose environment another user may not read, is shown with what its page
/// says.
fn process(page: Snapshot) -> ProcessSample {
    let process = i32::try_from(page.pid).ok().and_then(|pid| Process::new(pid).ok());
    let stat = process.as_ref().and_then(|process| process.stat().ok());
    // A process in a container has another number here than on its page, which may be another process's.
    let is_own = |process: &Process, stat: &Stat| match process.exe() {
        Ok(exe) => exe.file_name().is_some_and(|name| name.to_string_lossy() == page.program),
        Err(_) => page.program.starts_with(&stat.comm),
    };
    let Some((process, stat)) = process.zip(stat).filter(|(process, stat)| is_own(process, stat)) else {
        return ProcessSample { page, ..ProcessSample::default() };
    };
    let environment = process.environ().unwrap_or_default();
    ProcessSample { page, ..of_environment(&environment, &stat) }
}

/// What the environment of a process and the kernel say of it, without a page.
pub(crate) fn of_environment(environment: &HashMap<OsString, OsString>, stat: &Stat) -> ProcessSample {
    let variable = |name: &str| Some(environment.get(OsStr::new(name))?.to_string_lossy().into_owned());
    ProcessSample {
        job: variable(JOB_ID).map(number_of_job).or_else(|| variable(RUN_ID)),
        ranks: RANKS.iter().find_map(|name| variable(name)?.parse().ok()),
        cpu_ns: Some((stat.utime + stat.stime).saturating_mul(tick_ns())),
        memory: Some(stat.rss.saturating_mul(procfs::page_size())),
        page: Snapshot::default(),
    }
}

/// The number of a job of the resident runtime, which users know it by, from the name that the job has for
/// its shepherds.
fn number_of_job(name: String) -> String {
    name.strip_prefix("tasuki-").map_or_else(|| name.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(pid: u32, program: &str) -> Snapshot {
        Snapshot { pid, program: program.into(), ..Snapshot::default() }
    }

    #[test]
    fn what_the_kernel_says_of_a_process_is_added_if_it_is_the_one_of_the_page() {
        let exe = std::env::current_exe().expect("a program");
        let name = exe.file_name().expect("a name").to_string_lossy();
        let own = process(page(std::process::id(), &name));
        assert!(own.cpu_ns.is_some() && own.memory.is_some_and(|bytes| bytes > 100_000));
        let other = process(page(std::process::id(), "another program"));
        assert_eq!((other.cpu_ns, other.memory), (None, None), "it has the number of another process");
        let gone = process(page(u32::MAX, "gone"));
        assert_eq!((gone.page.program.as_str(), gone.cpu_ns, gone.memory), ("gone", None, None));
    }

    #[test]
    fn jobs_of_the_runtime_are_known_by_the_numbers_that_users_know() {
        assert_eq!(number_of_job("tasuki-7".into()), "7");
        assert_eq!(number_of_job("7".into()), "7");
    }
}
