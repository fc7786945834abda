//! What the jobs of one user may take: refused at submission if a job can never begin, waited for otherwise.
//! Root's jobs have no such limits but that of how many wait.

use crate::{Refusal, entry::Entry};
use std::collections::BTreeMap;
use tasuki_control::{JobId, Terms, User, UserLimits, Work, span};

/// Most jobs of one user that may wait where the cluster file says nothing.
const WAITING_MAX: u32 = 200;
/// The user without limits.
const ROOT: &str = "root";

/// What is looked at: all jobs, the limits, and the slots that there are.
#[derive(Clone, Copy)]
pub(crate) struct Usage<'a> {
    pub jobs: &'a BTreeMap<JobId, Entry>,
    pub limits: UserLimits,
    pub slots: u32,
}

impl<'a> Usage<'a> {
    fn of_user(self, user: &str) -> impl Iterator<Item = &'a Entry> {
        self.jobs.values().filter(move |entry| entry.view.user == user && !entry.view.state.is_over())
    }

    /// Jobs of a user that have begun, and the slots that they hold.
    fn taken(self, user: &str) -> (u32, u32) {
        let begun = self.of_user(user).filter(|entry| entry.has_begun());
        begun.fold((0, 0), |(jobs, slots), entry| (jobs + 1, slots + entry.view.ranks.min(self.slots)))
    }
}

/// Whether a user may submit such a job. Returns its terms, with the longest time that jobs may run where it
/// says no other.
pub(crate) fn check(usage: Usage, user: &User, work: &Work, mut terms: Terms) -> Result<Terms, Refusal> {
    let limits = usage.limits;
    let waiting = usage.of_user(&user.name).filter(|entry| !entry.has_begun()).count();
    let most = limits.waiting.filter(|_| !user.is_root).unwrap_or(WAITING_MAX);
    if waiting >= most as usize {
        return Err(Refusal::Many { user: user.name.clone(), waiting, most });
    }
    if user.is_root {
        return Ok(terms);
    }
    let slots = work.ranks.min(usage.slots);
    if let Some(most) = limits.slots.filter(|most| slots > *most) {
        let (_, held) = usage.taken(&user.name);
        return Err(Refusal::Slots { user: user.name.clone(), slots, held, most });
    }
    if let Some(most) = limits.time {
        let wanted = *terms.timeout.get_or_insert(most);
        if wanted > most {
            return Err(Refusal::Time { wanted: span(wanted), most: span(most) });
        }
    }
    Ok(terms)
}

/// Why a job waits for other jobs of its user, however many slots are free.
pub(crate) fn hindrance(usage: Usage, entry: &Entry) -> Option<String> {
    let (user, limits) = (&entry.view.user, usage.limits);
    if user == ROOT || (limits.jobs.is_none() && limits.slots.is_none()) {
        return None;
    }
    let (jobs, held) = usage.taken(user);
    if let Some(most) = limits.jobs.filter(|most| jobs >= *most) {
        return Some(format!("{user} has {jobs} jobs running, of {most} that a user may have"));
    }
    let wanted = entry.view.ranks.min(usage.slots);
    let most = limits.slots.filter(|most| held + wanted > *most)?;
    Some(format!("waits for {wanted} slots: jobs of {user} hold {held}, of {most} that a user may have"))
}
