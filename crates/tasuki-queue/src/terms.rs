//! What users may want of the queue.

use crate::{Refusal, queue::Queue, savable};
use tasuki_control::{Address, Terms, User, Work};

/// Most ranks of a job.
const RANKS_MAX: u32 = 4096;
/// Most tasks of an array.
const TASKS_MAX: u32 = 1000;
/// Most characters of a name.
const NAME_MAX: usize = 64;
/// Most jobs that one waits for.
const AFTER_MAX: usize = 64;
/// Points of priority, both ways.
const PRIORITY_MAX: i32 = 1000;
/// Latest time and longest duration, seconds: far beyond any use, and no sum of some overflows.
const TIME_MAX: u64 = 1 << 40;

/// Whether a job can be taken as its user wants it.
pub(crate) fn check(queue: &Queue, user: &User, work: &Work, terms: &Terms) -> Result<(), Refusal> {
    if work.argv.is_empty() || !(1..=RANKS_MAX).contains(&work.ranks) {
        return Err(Refusal::Shape(RANKS_MAX));
    }
    if let Some(unknown) = terms.after.iter().chain(&terms.after_any).find(|id| queue.view(**id).is_none()) {
        return Err(Refusal::NoJob(*unknown));
    }
    if terms.copied && queue.hosts.len() < 2 {
        let why = "a cluster of one host has no other one for copies of checkpoints";
        return Err(Refusal::Terms(why.into()));
    }
    match wrong(user, work, terms) {
        Some(why) => Err(Refusal::Terms(why)),
        None => Ok(()),
    }
}

/// What is wrong with a job's terms.
fn wrong(user: &User, work: &Work, terms: &Terms) -> Option<String> {
    let is_bad_name =
        |name: &String| name.chars().count() > NAME_MAX || name.is_empty() || name.contains(char::is_control);
    let tasks = terms.array.map(|array| array.len());
    if terms.priority > 0 && !user.is_root {
        return Some("only root may raise a job's priority above 0".into());
    }
    if !(-PRIORITY_MAX..=PRIORITY_MAX).contains(&terms.priority) {
        return Some(format!("a priority is -{PRIORITY_MAX} to {PRIORITY_MAX}"));
    }
    if terms.name.as_ref().is_some_and(is_bad_name) {
        return Some(format!("a job's name has 1 to {NAME_MAX} characters in one line"));
    }
    if terms.after.len() + terms.after_any.len() > AFTER_MAX {
        return Some(format!("a job waits for at most {AFTER_MAX} others"));
    }
    if let Some(Err(why)) = terms.notify.as_deref().map(Address::parse) {
        return Some(why);
    }
    if terms.timeout.is_some_and(|timeout| !(1..=TIME_MAX).contains(&timeout)) {
        return Some("a job's timeout is at least 1 s".into());
    }
    if terms.checkpoint.is_some_and(|every| !(1..=TIME_MAX).contains(&every)) {
        return Some("from one checkpoint to the next it is at least 1 s".into());
    }
    if terms.checkpoint.is_some() && terms.failures.is_some() {
        return Some("a job is saved at fixed times or as often as is best, not both".into());
    }
    if terms.failures.is_some_and(|failures| !(1..=TIME_MAX).contains(&failures)) {
        return Some("from one failure to the next it is at least 1 s".into());
    }
    if terms.copied && !terms.is_saved() {
        return Some("there are no copies of checkpoints without --checkpoint".into());
    }
    if terms.is_saved() && terms.array.is_some() {
        return Some("tasks of an array are not saved: take --checkpoint or --array".into());
    }
    if let Some(why) = savable::never(work.kind, terms.sharing).filter(|_| terms.is_saved()) {
        return Some(why.into());
    }
    if terms.begin.is_some_and(|begin| begin > TIME_MAX) {
        return Some("that is too far in the future to begin".into());
    }
    if tasks.is_some_and(|tasks| !(1..=TASKS_MAX).contains(&tasks)) {
        return Some(format!("an array has 1 to {TASKS_MAX} tasks"));
    }
    if terms.array.is_some_and(|array| array.limit == Some(0)) {
        return Some("at least one task of an array must be allowed to run".into());
    }
    if tasks.is_some() && work.attended {
        return Some("an array of jobs is submitted: `tasuki submit --array`".into());
    }
    None
}
