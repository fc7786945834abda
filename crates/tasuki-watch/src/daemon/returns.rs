//! NICs that are taken out of the running host and put back: adapters that are plugged in again, drivers that
//! are loaded anew.

use super::{Daemon, REVIEW, ring};
use crate::WatchError;
use std::time::Duration;
use tasuki_host::LinkLook;

/// What was tried to take NICs back.
#[derive(Default)]
pub(super) struct Returns {
    /// When that was, counted from the beginning of the watch.
    tried: Duration,
    /// What failed then.
    failure: Option<String>,
}

impl Daemon {
    /// Sets up NICs that are there again, and hears them again. What fails is tried again a second later.
    pub(super) fn take_back(&mut self, now: Duration, looks: &[LinkLook]) {
        if now.saturating_sub(self.returns.tried) < REVIEW {
            return;
        }
        for (at, look) in looks.iter().enumerate() {
            let Some((_, name, ring)) = self.nics.open.get(at) else { continue };
            if !look.is_there || ring.socket().is_bound() {
                continue;
            }
            let name = name.clone();
            self.returns.tried = now;
            match self.set_up_again(at) {
                Ok(()) => {
                    eprintln!("{}: {name} is there again, and set up", self.note.host);
                    self.returns.failure = None;
                    // Its routes and its forwarding are missing.
                    (self.unsure, self.is_half) = (true, true);
                }
                Err(error) => {
                    let failure = format!("{}: {name} is there again, but: {error}", self.note.host);
                    if self.returns.failure.as_ref() != Some(&failure) {
                        eprintln!("{failure}; it is tried again every second");
                    }
                    self.returns.failure = Some(failure);
                }
            }
        }
    }

    fn set_up_again(&mut self, at: usize) -> Result<(), WatchError> {
        let Some((index, name, old)) = self.nics.open.get_mut(at) else { return Ok(()) };
        let plan = &self.view.plan().hosts[self.host.0];
        let nic = self.view.cluster().host_of(self.host).nics.get(*index);
        let mac = nic.and_then(|nic| nic.mac);
        self.rerouting.set_up_again(plan, name, mac, &self.state)?;
        *old = ring(name)?;
        Ok(())
    }
}
