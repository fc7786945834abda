//! Processes of this host that use Tasuki, and what the kernel says of them.

use crate::sample::ProcessSample;
use procfs::process::Process;
use std::ffi::OsStr;
use tasuki_ring::stats_page::Snapshot;
use tasuki_stats::HostPages;

/// The variable that the resident runtime gives every process of a job.
const JOB_ID: &str = "TASUKI_JOB_ID";

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
    let environment = process.as_ref().and_then(|process| process.environ().ok());
    let job = environment.and_then(|all| Some(all.get(OsStr::new(JOB_ID))?.to_string_lossy().into_owned()));
    let tick_ns = 1_000_000_000 / procfs::ticks_per_second().max(1);
    ProcessSample {
        job,
        cpu_ns: stat.as_ref().map(|stat| (stat.utime + stat.stime).saturating_mul(tick_ns)),
        memory: stat.as_ref().map(|stat| stat.rss.saturating_mul(procfs::page_size())),
        page,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_of_a_process_is_added_and_a_process_that_is_gone_stays() {
        let own = process(Snapshot { pid: std::process::id(), ..Snapshot::default() });
        assert!(own.cpu_ns.is_some() && own.memory.is_some_and(|bytes| bytes > 100_000));
        let gone = process(Snapshot { pid: u32::MAX, program: "gone".into(), ..Snapshot::default() });
        assert_eq!((gone.page.program.as_str(), gone.cpu_ns, gone.memory), ("gone", None, None));
    }
}
