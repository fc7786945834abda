//! Setting the routes and the forwarding that follow from the dead rails.

use super::Daemon;
use crate::{Note, WatchError};
use tasuki_cluster::{NicId, RoutePlan};
use tasuki_host::{HostError, Rerouted};

impl Daemon {
    /// Sets the routes that follow from the dead rails. What the kernel refuses, or cannot take because a NIC
    /// is down, is tried again at the next review.
    pub(super) fn reroute(&mut self) -> Result<(), WatchError> {
        let around = self.view.around()?;
        let number = self.host.0;
        let (is_relay, is_planned) = (around.relays[number], self.view.plan().hosts[number].relays());
        let routes = [self.planned(false), around.routes[number].clone()].concat();
        // A relay begins to forward before other hosts need it, and goes on a little longer than they do.
        let begun = if is_relay { self.relay(true) } else { Ok(()) };
        let (done, set) = match self.rerouting.set_routes(&routes) {
            Ok(done) => (done, Ok(())),
            Err(error) => (Rerouted::default(), Err(error)),
        };
        let ended = if is_relay || is_planned { Ok(()) } else { self.relay(false) };
        self.remember(begun.and(set).and(ended));
        self.unsure = done.waiting > 0 || self.failure.is_some();
        self.tell(&around.routes[number], done.changed)
    }

    /// The planned routes of this host: those to identity addresses, or those to what is on its links.
    fn planned(&self, to_identities: bool) -> Vec<RoutePlan> {
        let has_gateways = |route: &&RoutePlan| route.next_hops.iter().all(|hop| hop.via.is_some());
        let routes = self.view.plan().hosts[self.host.0].routes.iter();
        routes.filter(|route| has_gateways(route) == to_identities).cloned().collect()
    }

    /// Keeps what failed, and says it on standard error if it did not fail in the same way before.
    fn remember(&mut self, result: Result<(), HostError>) {
        let failure = result.err().map(|error| error.to_string());
        if let Some(failure) = failure.as_ref().filter(|_| failure != self.failure) {
            eprintln!("{failure}; it is tried again every second");
        }
        self.failure = failure;
    }

    fn relay(&mut self, on: bool) -> Result<(), HostError> {
        if self.relays == on && !self.is_half {
            return Ok(());
        }
        let mut done = Ok(());
        for ((_, name, _), forwarded) in self.nics.open.iter().zip(&self.forwarded) {
            done = done.and(self.rerouting.set_forwarding(name, on || *forwarded));
        }
        (self.relays, self.is_half) = (on, done.is_err());
        done
    }

    fn tell(&mut self, routes: &[RoutePlan], changed: usize) -> Result<(), WatchError> {
        let cluster = self.view.cluster();
        let plan = self.view.plan();
        let name = |[a, b]: [NicId; 2]| format!("{} - {}", cluster.nic_name(a), cluster.nic_name(b));
        let planned = &plan.hosts[self.host.0].routes;
        let other = routes.iter().filter(|route| !planned.contains(route));
        let owner = |via| {
            let owner =
                plan.hosts.iter().find(|host| host.links.iter().any(|link| Some(link.address) == via));
            owner.map(|host| host.host.clone())
        };
        let detours = other.map(|route| {
            let mut first: Vec<_> = route.next_hops.iter().filter_map(|hop| owner(hop.via)).collect();
            first.dedup();
            (cluster.host_of(route.to).name.clone(), first)
        });
        let note = Note {
            dead: self.view.dead().into_iter().map(name).collect(),
            detours: detours.collect(),
            relays: self.relays && !plan.hosts[self.host.0].relays(),
            changes: self.note.changes + changed as u64,
            ..self.note.clone()
        };
        if note != self.note {
            self.instance.say(&note)?;
            eprintln!("{}: dead: [{}], led around: {}", note.host, note.dead.join(", "), note.detours.len());
            self.note = note;
        }
        Ok(())
    }

    /// Announces the end to the other hosts, and sets all routes as planned.
    pub(super) fn end(mut self) -> Result<(), WatchError> {
        self.number = self.number.wrapping_add(1);
        self.greet(true);
        if let Some(stripes) = &mut self.stripes {
            stripes.leave();
        }
        let routes = self.planned(true);
        let set = self.rerouting.set_routes(&routes).map(drop);
        let is_planned = self.view.plan().hosts[self.host.0].relays();
        let ended = if is_planned { Ok(()) } else { self.relay(false) };
        Ok(set.and(ended)?)
    }
}
