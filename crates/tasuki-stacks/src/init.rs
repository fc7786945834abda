//! Ranks in MPI_Init that have not come to Tasuki.

use crate::{
    frame::{Frame, ProcessStacks},
    group::noun_and_ranks,
    place::Place,
};

/// The functions by which a process becomes a rank (MPI 4.1, section 11.2).
const INITS: [&str; 3] = ["MPI_Init", "MPI_Init_thread", "MPI_Session_init"];

/// Whether a process is in one of these.
pub(crate) fn is_in_init(process: &ProcessStacks) -> bool {
    Place::of(&process.threads).call.is_some_and(|call| INITS.contains(&call.as_str()))
}

/// The function of the process manager's library that it waits in (`PMIx_Init`, `PMI_Barrier`).
fn waits_for_launcher(process: &ProcessStacks) -> Option<&str> {
    let is_managers = |frame: &&Frame| frame.name().to_ascii_uppercase().starts_with("PMI");
    let is_mpi = |frame: &&Frame| frame.name().to_ascii_uppercase().starts_with("PMPI_");
    let frames = process.threads.iter().flat_map(|thread| thread.frames.iter().rev());
    frames.filter(|frame| is_managers(frame) && !is_mpi(frame)).map(Frame::name).next()
}

/// Where the ranks are that have not come to Tasuki, and what helps; `None`: there are none.
pub fn not_come(unattached: &[&ProcessStacks]) -> Option<String> {
    let first = unattached.first()?;
    let ranks: Vec<u32> = unattached.iter().filter_map(|process| process.rank).collect();
    let (who, have) = (noun_and_ranks(&ranks), if ranks.len() == 1 { "has" } else { "have" });
    let place = format!("process {} on {}", first.pid, first.host);
    let of_first = match (Place::of(&first.threads).call, waits_for_launcher(first)) {
        (Some(call), Some(function)) if is_in_init(first) => {
            format!("{place} is in {call} and waits for its launcher, in {function}")
        }
        (Some(call), _) if is_in_init(first) => format!("{place} is in {call}"),
        (Some(call), _) => format!("{place} is in {call}, and does not use Tasuki"),
        (None, _) => format!("{place}, {}, is not in MPI", first.program),
    };
    Some(format!("{who} {have} not come to Tasuki: {of_first}"))
}

/// What to do about a launcher that does not answer a process; `None`: nobody waits for one.
pub(crate) fn advice(unattached: &[&ProcessStacks]) -> Option<String> {
    let process = unattached.iter().find(|process| is_in_init(process))?;
    (waits_for_launcher(process)? == "PMIx_Init").then(|| {
        "PMIx_Init ends when mpirun has answered. Debian 12's libpmix 4.2.2 sometimes never answers a \
         process on a crowded machine (openpmix/openpmix#2967): start the program again"
            .into()
    })
}
