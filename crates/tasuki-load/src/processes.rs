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
/// Variables in which launchers tell a rank how many there are, beside those in which they tell it which one
/// it is, in the order of `RANK_VARIABLES`: Open MPI; MPICH, Intel MPI and the resident runtime by PMI-1;
/// Slurm.
const RANKS: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];
/// Most ranks that a job is believed to have: any user's process may say any number.
const RANKS_MAX: u32 = 1 << 20;

/// All of them; and what could not be read, and why.
pub fn local() -> (Vec<ProcessSample>, Vec<String>) {
    let found = HostPages::of_processes();
    (found.pages.into_iter().map(process).collect(), found.problems)
}

/// A process that ends meanwhile, that this PID namespace does not have, or whose environment another user
/// may not read, is shown with what its page says.
fn process(page: Snapshot) -> ProcessSample {
    let process = page.process.and_then(|pid| Process::new(i32::try_from(pid).ok()?).ok());
    let stat = process.as_ref().and_then(|process| process.stat().ok());
    // The number may have been given to another process since, which a user can bring about.
    let is_own = |process: &Process| {
        process.status().is_ok_and(|status| page.user.is_none_or(|user| status.euid == user))
    };
    let Some((process, stat)) = process.zip(stat).filter(|(process, _)| is_own(process)) else {
        return ProcessSample { page: Snapshot { process: None, ..page }, ..ProcessSample::default() };
    };
    let environment = process.environ().unwrap_or_default();
    ProcessSample { page, ..of_environment(&environment, &stat) }
}

/// What the environment of a process and the kernel say of it, without a page.
pub(crate) fn of_environment(environment: &HashMap<OsString, OsString>, stat: &Stat) -> ProcessSample {
    let variable = |name: &str| Some(environment.get(OsStr::new(name))?.to_string_lossy().into_owned());
    ProcessSample {
        job: variable(JOB_ID).map(number_of_job).or_else(|| variable(RUN_ID)),
        ranks: size(variable),
        cpu_ns: Some((stat.utime + stat.stime).saturating_mul(tick_ns())),
        memory: Some(stat.rss.saturating_mul(procfs::page_size())),
        page: Snapshot::default(),
    }
}

/// How many ranks there are, by the variable of the launcher that says which one this is: a shell that
/// another launcher has started has that one's variables too.
fn size(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    let number = |name: &str| variable(name)?.parse::<u32>().ok();
    let told = RANKS.iter().find(|(rank, size)| number(rank).is_some() && number(size).is_some());
    let alone = || RANKS.iter().find(|(_, size)| number(size).is_some());
    number(told.or_else(alone)?.1).filter(|size| *size <= RANKS_MAX)
}

/// The number of a job of the resident runtime, which users know it by, from the name that the job has for
/// its shepherds.
fn number_of_job(name: String) -> String {
    name.strip_prefix("tasuki-").map_or_else(|| name.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_of_a_process_is_added_if_it_is_the_one_that_keeps_the_page() {
        let own = (Some(std::process::id()), Some(nix::unistd::geteuid().as_raw()));
        let exe = std::env::current_exe().expect("a program");
        let program = exe.file_name().expect("a name").to_string_lossy();
        // Whatever process the page names.
        let of = |(process, user), pid| {
            let page =
                Snapshot { pid, process, user, program: program.clone().into(), ..Snapshot::default() };
            super::process(page)
        };
        let known = of(own, 3);
        assert!(known.cpu_ns.is_some() && known.memory.is_some_and(|bytes| bytes > 100_000));
        assert_eq!((known.page.process, known.page.pid), (own.0, 3));
        for other in [(own.0, own.1.map(|user| user + 1)), (None, own.1), (Some(u32::MAX), own.1)] {
            let unknown = of(other, std::process::id());
            assert_eq!((unknown.cpu_ns, unknown.memory, unknown.page.process), (None, None, None));
            assert_eq!(unknown.page.program, program);
        }
    }

    #[test]
    fn ranks_are_counted_by_the_launcher_that_numbers_them() {
        let size = |variables: &[(&str, &str)]| {
            let find =
                |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, of)| (*of).into());
            super::size(find)
        };
        // `srun --mpi=pmi2 --pty bash`, and an mpirun of Open MPI there.
        let slurm = [("PMI_RANK", "0"), ("PMI_SIZE", "1"), ("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")];
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(size(&slurm), Some(1));
        assert_eq!(size(&[&slurm[..], &open_mpi].concat()), Some(4));
        assert_eq!(size(&[("SLURM_PROCID", "5"), ("SLURM_NTASKS", "8")]), Some(8));
        assert_eq!(size(&[("PMI_RANK", "0"), ("PMI_SIZE", "4294967295")]), None, "no job has so many");
        assert_eq!(size(&[]), None);
    }

    #[test]
    fn jobs_of_the_runtime_are_known_by_the_numbers_that_users_know() {
        assert_eq!(number_of_job("tasuki-7".into()), "7");
        assert_eq!(number_of_job("7".into()), "7");
    }
}
