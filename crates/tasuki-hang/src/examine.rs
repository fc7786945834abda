//! Jobs between two looks at their counters.

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};
use tasuki_fleet::Fleet;
use tasuki_stacks::{Stacks, State, Verdict, verdicts};
use tasuki_stats::Look;

/// How long counters must not have changed, at least. Ranks bring theirs up to date five times a second.
const QUIET: Duration = Duration::from_secs(2);

/// The verdicts of all jobs that `stacks` looks at, which takes seconds; and what is not known, and why.
pub fn examine(fleet: &Fleet, stacks: impl FnOnce() -> Stacks) -> (Vec<Verdict>, Vec<String>) {
    let (began, before) = (Instant::now(), Look::at(fleet));
    let stacks = stacks();
    thread::sleep(QUIET.saturating_sub(began.elapsed()));
    let after = Look::at(fleet);
    let mut found = verdicts(&before.processes, &stacks, &after.processes);
    let silent: BTreeSet<String> = before.silent.into_iter().chain(after.silent).collect();
    let problems = once_each([before.problems, stacks.problems, after.problems].concat());
    if !problems.is_empty() {
        found.iter_mut().for_each(|found| doubt(found, &silent));
    }
    (found, problems)
}

/// A host that does not answer is said once, although it was asked three times.
fn once_each(mut problems: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    problems.retain(|problem| known.insert(problem.clone()));
    problems
}

/// Not all is known: there may be ranks that could send, and those on hosts that have not answered may stand
/// still as well as move.
fn doubt(found: &mut Verdict, silent: &BTreeSet<String>) {
    let unread = found.unread.iter().filter(|host| silent.contains(*host)).count();
    found.why = match found.state {
        State::Stuck => {
            "no message moves, and none is under way; but not all of it is known (see below)".into()
        }
        State::GoesOn if unread > 0 => format!(
            "no message moves that is seen; the counters of {unread} of {} ranks were not read (see below)",
            found.processes
        ),
        _ => return,
    };
    found.state = State::Suspected;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_stacks::{Frame, ProcessStacks, Thread};

    #[test]
    fn a_host_that_does_not_answer_is_said_once() {
        let said = ["n1: no", "n2: no", "n1: no", "n1: slow"].map(str::to_owned).to_vec();
        assert_eq!(once_each(said), ["n1: no", "n2: no", "n1: slow"]);
    }

    #[test]
    fn ranks_of_a_host_that_has_not_answered_are_not_said_to_go_on() {
        let thread = Thread {
            frames: vec![Frame { function: Some("MPI_Recv".into()), ..Frame::default() }],
            ..Thread::default()
        };
        let process = ProcessStacks { host: "n3".into(), threads: vec![thread], ..ProcessStacks::default() };
        let stacks = Stacks { processes: vec![process], ..Stacks::default() };
        let judged = |silent: &[&str]| {
            let mut found = verdicts(&[], &stacks, &[]).remove(0);
            doubt(&mut found, &silent.iter().map(|host| (*host).to_owned()).collect());
            (found.state, found.why)
        };
        let (state, why) = judged(&["n3", "n8"]);
        assert!(state == State::Suspected && why.contains("counters of 1 of 1 ranks"), "{why}");
        assert_eq!(judged(&["n8"]).0, State::GoesOn, "the rank has ended meanwhile");
    }
}
