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
    let problems = once_each([before.problems, stacks.problems, after.problems].concat());
    if !problems.is_empty() {
        found.iter_mut().for_each(doubt);
    }
    (found, problems)
}

/// A host that does not answer is said once, although it was asked three times.
fn once_each(mut problems: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    problems.retain(|problem| known.insert(problem.clone()));
    problems
}

/// Not all hosts have answered: there may be ranks that could send.
fn doubt(found: &mut Verdict) {
    if found.state == State::Stuck {
        found.state = State::Suspected;
        found.why = "no message moves, and none is under way; but not all of it is known (see below)".into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_does_not_answer_is_said_once() {
        let said = ["n1: no", "n2: no", "n1: no", "n1: slow"].map(str::to_owned).to_vec();
        assert_eq!(once_each(said), ["n1: no", "n2: no", "n1: slow"]);
    }
}
