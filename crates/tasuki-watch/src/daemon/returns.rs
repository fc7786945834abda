//! NICs that come while the watch runs: adapters that are plugged in again or late, drivers that are loaded
//! anew.

use super::{Daemon, REVIEW, ring};
use crate::WatchError;
use std::time::Duration;
use tasuki_host::LinkLook;

/// When NICs were looked for that have come.
#[derive(Default)]
pub(super) struct Returns {
    /// Counted from the beginning of the watch.
    looked: Duration,
    /// What failed then.
    failure: Option<String>,
}

impl Daemon {
    /// Looks once a second whether NICs have come, sets them up, and hears them from now on. What fails is
    /// tried again a second later.
    pub(super) fn take_back(&mut self, now: Duration, looks: &[LinkLook]) {
        if now.saturating_sub(self.returns.looked) < REVIEW {
            return;
        }
        self.returns.looked = now;
        for (at, look) in looks.iter().enumerate() {
            let Some((_, name, ring)) = self.nics.open.get(at) else { continue };
            if !look.is_there || ring.as_ref().is_some_and(|ring| ring.socket().is_bound()) {
                continue;
            }
            let name = name.clone();
            match self.set_up_again(at) {
                Ok(is_set_up) => {
                    let set_up = if is_set_up { ", and set up" } else { "" };
                    eprintln!("{}: {name} is there now{set_up}", self.note.host);
                    self.returns.failure = None;
                    // Its routes and its forwarding are missing.
                    (self.unsure, self.is_half) = (true, true);
                }
                Err(error) => {
                    let failure = format!("{}: {name} is there now, but: {error}", self.note.host);
                    if self.returns.failure.as_ref() != Some(&failure) {
                        eprintln!("{failure}; it is tried again every second");
                    }
                    self.returns.failure = Some(failure);
                }
            }
        }
    }

    fn set_up_again(&mut self, at: usize) -> Result<bool, WatchError> {
        let Some((index, name, old)) = self.nics.open.get_mut(at) else { return Ok(false) };
        let plan = &self.view.plan().hosts[self.host.0];
        let nic = self.view.cluster().host_of(self.host).nics.get(*index);
        let mac = nic.and_then(|nic| nic.mac);
        let is_set_up = self.rerouting.set_up_again(plan, name, mac, &self.state)?;
        *old = ring(name)?;
        Ok(is_set_up)
    }
}
