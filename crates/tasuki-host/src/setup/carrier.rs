//! Waiting for links. Some drivers reset a NIC to change it (e1000 for its MTU): its link is down for
//! seconds, while the two ends negotiate. If `apply` ended before the link is back, the next program would
//! find a dead cable.

use crate::{Change, HostError, kernel::Kernel};
use std::{
    collections::BTreeSet,
    thread::sleep,
    time::{Duration, Instant},
};

/// How long to wait for a link. A gigabit link takes two to four seconds (IEEE 802.3 clause 28: break link
/// timer, then pages), longer if a switch looks for loops first.
const LINK_LIMIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Interfaces that are about to be changed and have a link.
pub(super) struct Carriers(BTreeSet<String>);

impl Carriers {
    pub(super) fn of(kernel: &Kernel, changes: &[Change]) -> Self {
        let interfaces = changes.iter().filter_map(|change| change.key.interface());
        let has_link = |name: &&str| kernel.link(name).is_ok_and(|link| link.up && link.carrier);
        Self(interfaces.filter(has_link).map(str::to_owned).collect())
    }

    /// Waits until those that are up have a link again, and notes those that have none.
    pub(super) fn wait(&self, kernel: &mut Kernel, notes: &mut Vec<String>) -> Result<(), HostError> {
        let begun = Instant::now();
        loop {
            kernel.refresh_links()?;
            let is_away = |name: &&String| kernel.link(name).is_ok_and(|link| link.up && !link.carrier);
            let away: Vec<_> = self.0.iter().filter(is_away).collect();
            if away.is_empty() || begun.elapsed() > LINK_LIMIT {
                let seconds = LINK_LIMIT.as_secs();
                let note = |name| {
                    format!(
                        "{name} had a link before it was changed and has had none for {seconds} s since: is \
                         its other end up?"
                    )
                };
                notes.extend(away.into_iter().map(note));
                return Ok(());
            }
            sleep(LOOK_EVERY);
        }
    }
}
