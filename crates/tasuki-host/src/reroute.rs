//! Changing routes and forwarding while a host runs, for `tasuki watch`. What it changes is in the record of
//! `apply` already ([`crate::Wanted::watched`]), so that `undo` restores it whatever becomes of the watch.

use crate::{
    HostError, Value,
    desired::{forwarding, of_route},
    kernel::Kernel,
};
use tasuki_cluster::RoutePlan;

/// The state of a NIC that the watch looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkLook {
    /// Whether it is up and has a signal from the other end.
    pub carrier: bool,
    /// Number of frames that it has received since it was made.
    pub received: u64,
}

/// Routes and forwarding of the host whose network namespace the calling thread is in.
pub struct Rerouting {
    kernel: Kernel,
}

impl Rerouting {
    /// Opens the network namespace of the calling thread. `host` is the name in messages.
    pub fn open(host: &str) -> Result<Self, HostError> {
        Ok(Self { kernel: Kernel::open(host)? })
    }

    /// The state of these NICs now. One that does not exist has no carrier.
    pub fn look(&mut self, interfaces: &[String]) -> Result<Vec<LinkLook>, HostError> {
        self.kernel.refresh_links()?;
        let look = |interface: &String| {
            let link = self.kernel.link(interface);
            link.map_or_else(
                |_| LinkLook::default(),
                |link| LinkLook { carrier: link.up && link.carrier, received: link.counters.received_frames },
            )
        };
        Ok(interfaces.iter().map(look).collect())
    }

    /// Sets routes. Those that are right already are not touched, nor are routes that another program has set
    /// since. Returns the number of routes that were changed.
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

    /// Whether a NIC forwards packets.
    pub fn forwards(&mut self, interface: &str) -> Result<bool, HostError> {
        Ok(self.kernel.read(&forwarding(interface))? == Value::Text("1".into()))
    }

    /// Has a NIC forward packets, or stop doing so.
    pub fn set_forwarding(&mut self, interface: &str, on: bool) -> Result<(), HostError> {
        let value = Value::Text(if on { "1" } else { "0" }.into());
        self.kernel.write(&forwarding(interface), &value)
    }
}
