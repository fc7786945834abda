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
    /// Whether it is there.
    pub is_there: bool,
    /// Whether it is up and has a signal from the other end.
    pub carrier: bool,
    /// Number of frames that it has received since it was made.
    pub received: u64,
}

/// What became of routes that were to be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rerouted {
    /// Number of routes that were changed.
    pub changed: usize,
    /// Number of routes that were left as they are, because a NIC of theirs is down or gone.
    pub waiting: usize,
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

    pub(crate) fn kernel(&mut self) -> &mut Kernel {
        &mut self.kernel
    }

    /// The state of these NICs now. One that does not exist has no carrier.
    pub fn look(&mut self, interfaces: &[String]) -> Result<Vec<LinkLook>, HostError> {
        self.kernel.refresh_links()?;
        let look = |interface: &String| {
            let link = self.kernel.link(interface);
            link.map_or_else(
                |_| LinkLook::default(),
                |link| LinkLook {
                    is_there: true,
                    carrier: link.up && link.carrier,
                    received: link.counters.received_frames,
                },
            )
        };
        Ok(interfaces.iter().map(look).collect())
    }

    /// Sets routes. Those that are right already are not touched, nor are routes that another program has set
    /// since, nor those by a NIC that is down or gone, which the kernel takes only once it is up.
    ///
    /// # Errors
    /// If the host cannot be read, or the kernel refuses a route: the first such error, after all others are
    /// set.
    pub fn set_routes(&mut self, routes: &[RoutePlan]) -> Result<Rerouted, HostError> {
        self.kernel.refresh()?;
        let (mut done, mut refused) = (Rerouted::default(), Ok(()));
        for (key, value) in routes.iter().map(of_route) {
            if !self.are_up(&value) {
                done.waiting += 1;
                continue;
            }
            let is = self.kernel.read(&key)?;
            if is == value || matches!(is, Value::OtherRoute { .. }) {
                continue;
            }
            let Err(error) = self.kernel.write(&key, &value) else {
                done.changed += 1;
                continue;
            };
            // A NIC may have gone down since it was looked at.
            self.kernel.refresh_links()?;
            match self.are_up(&value) {
                true => refused = refused.and(Err(error)),
                false => done.waiting += 1,
            }
        }
        refused.map(|()| done)
    }

    /// Whether all NICs of a route are there and up.
    fn are_up(&self, route: &Value) -> bool {
        let Value::Route(route) = route else { return true };
        route.hops.iter().all(|hop| self.kernel.link(&hop.interface).is_ok_and(|link| link.up))
    }

    /// Whether a NIC forwards packets.
    pub fn forwards(&mut self, interface: &str) -> Result<bool, HostError> {
        Ok(self.kernel.read(&forwarding(interface))? == Value::Text("1".into()))
    }

    /// Has a NIC forward packets, or stop doing so. A NIC that is gone is left out.
    ///
    /// # Errors
    /// If the kernel refuses it, or the NICs cannot be listed.
    pub fn set_forwarding(&mut self, interface: &str, on: bool) -> Result<(), HostError> {
        let value = Value::Text(if on { "1" } else { "0" }.into());
        let Err(error) = self.kernel.write(&forwarding(interface), &value) else { return Ok(()) };
        self.kernel.refresh_links()?;
        if self.kernel.link(interface).is_ok() { Err(error) } else { Ok(()) }
    }
}
