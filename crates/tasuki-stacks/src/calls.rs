//! What is known of functions of MPI: what ends them, and what it means if ranks are in different ones
//! (MPI 4.1, chapters 3, 6, 8 and 12).

use crate::group::{Group, noun_and_ranks};

/// Functions that move one message, and return when it has come or gone.
const POINT_TO_POINT: &[&str] = &[
    "MPI_Recv",
    "MPI_Mrecv",
    "MPI_Send",
    "MPI_Ssend",
    "MPI_Rsend",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Probe",
    "MPI_Mprobe",
];
/// Functions that wait for requests.
const WAITS: &[&str] = &["MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome"];
/// Functions that all ranks of a communicator must call, in the same order.
const COLLECTIVE: &[&str] = &[
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Neighbor_allgather",
    "MPI_Neighbor_allgatherv",
    "MPI_Neighbor_alltoall",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw",
    "MPI_Comm_dup",
    "MPI_Comm_split",
    "MPI_Comm_create",
    "MPI_Comm_free",
];
/// Functions that return whether or not a message has come: who is in one polls.
const POLLS: &[&str] =
    &["MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Iprobe", "MPI_Improbe"];

/// The function after which a rank takes part in nothing any more.
pub(crate) const LAST: &str = "MPI_Finalize";

/// Whether only a message of another rank ends this function. Others wait for files, processes, timers or
/// data that are put and got (MPI_Win_fence), which are counted nowhere, or return at once.
pub(crate) fn only_messages_end(call: &str) -> bool {
    [POINT_TO_POINT, WAITS, COLLECTIVE].iter().any(|kind| kind.contains(&call))
}

/// What may be wrong in a job of which no message moves. `is_told`: which messages no receive wants has been
/// said one by one.
pub(crate) fn advice(groups: &[Group], is_told: bool) -> Vec<String> {
    let mut advice = Vec::new();
    let of = |kind: &'static [&str]| {
        groups
            .iter()
            .filter(move |group| group.place.call.as_deref().is_some_and(|call| kind.contains(&call)))
    };
    let name = |group: &Group| group.place.call.clone().unwrap_or_default();
    if let Some(collective) = of(COLLECTIVE).next() {
        let call = name(collective);
        let elsewhere: Vec<&Group> =
            groups.iter().filter(|group| group.place.call.as_ref() != Some(&call)).collect();
        let mut ranks: Vec<u32> = elsewhere.iter().flat_map(|group| group.ranks.iter().copied()).collect();
        ranks.sort_unstable();
        if !ranks.is_empty() {
            let (who, are) = (noun_and_ranks(&ranks), if ranks.len() == 1 { "is" } else { "are" });
            advice.push(format!(
                "{call} ends when all ranks of its communicator have called it: {who} {are} elsewhere"
            ));
        }
    }
    let (unexpected, sends) = groups
        .iter()
        .fold((0, 0), |(messages, sends), group| (messages + group.unexpected, sends + group.sends_pending));
    let receives = of(&["MPI_Recv", "MPI_Mrecv", "MPI_Probe", "MPI_Mprobe"]).count();
    if is_told {
        // There is nothing to add.
    } else if unexpected > 0 && receives > 0 {
        let messages =
            if unexpected == 1 { "a message has".into() } else { format!("{unexpected} messages have") };
        advice
            .push(format!("{messages} come that no receive wants: compare tags, sources and communicators"));
    } else if receives == groups.len() && receives > 0 {
        advice.push(
            "every rank waits to receive, and none has sent: a send is missing, or comes behind the receive"
                .into(),
        );
    }
    if sends > 0 && of(&["MPI_Send", "MPI_Ssend"]).count() == groups.len() {
        advice.push(
            "every rank sends, and none receives: MPI_Send of long messages returns when they are received; \
             MPI_Sendrecv, or MPI_Irecv first"
                .into(),
        );
    }
    if of(POLLS).count() > 0 {
        advice.push("ranks that poll (MPI_Test, MPI_Iprobe) may go on without a message".into());
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    fn group(call: &str, ranks: &[u32], unexpected: u64, sends_pending: u64) -> Group {
        Group {
            job: None,
            user: None,
            program: "a".into(),
            place: Place { call: Some(call.into()), ..Place::default() },
            ranks: ranks.to_vec(),
            processes: ranks.len(),
            receives_posted: 0,
            unexpected,
            sends_pending,
            path: Vec::new(),
        }
    }

    #[test]
    fn advice_is_about_what_is_there() {
        let said = |groups: &[Group]| advice(groups, false).join("; ");
        let mixed = said(&[group("MPI_Barrier", &[0, 2, 3], 0, 0), group("MPI_Recv", &[1], 0, 0)]);
        assert!(
            mixed.contains("MPI_Barrier ends when all") && mixed.contains(": rank 1 is elsewhere"),
            "{mixed}"
        );
        assert!(said(&[group("MPI_Recv", &[0, 1], 2, 0)]).contains("compare tags"));
        assert!(said(&[group("MPI_Recv", &[0, 1], 0, 0)]).contains("a send is missing"));
        assert!(said(&[group("MPI_Send", &[0, 1], 2, 2)]).contains("MPI_Sendrecv"));
        assert_eq!(said(&[group("MPI_Allreduce", &[0, 1], 0, 0)]), "");
    }

    #[test]
    fn no_function_is_of_two_kinds() {
        for call in POLLS {
            assert!(!only_messages_end(call), "{call}");
        }
        assert!(only_messages_end("MPI_Recv") && !only_messages_end("MPI_File_read"));
        assert!(!only_messages_end("MPI_Finalize") && !only_messages_end("MPI_Comm_spawn"));
        assert!(!only_messages_end("MPI_Win_fence"), "data may be on their way");
    }
}
