//! Changing routes and forwarding while a host runs, for `tasuki watch`. What it changes is in the record of `apply`
//! already ([`crate::Wanted::watched`]), so that `undo` restores it whatever becomes of the watch.

use crate::{
    HostError, Value,
    desired::{forwarding, of_route},
    kernel::Kernel,
};
use tasuki_cluster::RoutePlan;

/// What a look at a NIC shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkLook {
    /// Up, and the other end answers.
    pub carrier: bool,
    /// Frames received since it was made.
    pub received: u64,
}

/// Routes and forwarding of the host whose network namespace the thread is in.
pub struct Rerouting {
    kernel: Kernel,
}

impl Rerouting {
    /// `host` is for messages.
    pub fn open(host: &str) -> Result<Self, HostError> {
        Ok(Self { kernel: Kernel::open(host)? })
    }

    /// How these NICs are now; one that is not there has no carrier.
    pub fn look(&mut self, interfaces: &[String]) -> Result<Vec<LinkLook>, HostError> {
        self.kernel.refresh_links()?;
        let look = |interface: &String| {
            let link = self.kernel.link(interface);
            link.map_or_else(
                |_| LinkLook::default(),
                |link| LinkLook { carrier: link.up && link.carrier, received: link.received },
            )
        };
        Ok(interfaces.iter().map(look).collect())
    }

    /// Makes routes like these; those that are so already stay untouched, and so do routes that somebody else has set since. Returns how
    /// many were changed.
    pub fn set_routes(&mut self, routes: &[RoutePlan]) -> Result<usize, HostError> {
        self.kernel.refresh()?;
        let mut changed = 0;
        for (key, value) in routes.iter().map(of_route) {
            let is = self.kernel.read(&key)?;
            if is != value && !matches!(is, Value::OtherRoute { .. }) {
                self.kernel.write(&key, &value)?;
                changed += 1;
            }
        }
        Ok(changed)
    }

    /// Whether a NIC passes packets on.
    pub fn forwards(&mut self, interface: &str) -> Result<bool, HostError> {
        Ok(self.kernel.read(&forwarding(interface))? == Value::Text("1".into()))
    }

    /// Has a NIC pass packets on, or not.
    pub fn set_forwarding(&mut self, interface: &str, on: bool) -> Result<(), HostError> {
        let value = Value::Text(if on { "1" } else { "0" }.into());
        self.kernel.write(&forwarding(interface), &value)
    }
}
