//! Routes around cables that are dead.

use super::{AddressPlan, PlanError, RoutePlan, addresses::Addresses, routes::Router};
use crate::{Cluster, HostId, NicId, fabric::Fabric};

/// Routes to identity addresses while some rails are dead. They follow only from the cluster and the dead
/// rails, and every hop leads one step nearer to the destination, so hosts that agree on the dead rails
/// cannot send packets in circles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// Of every host, in the order of [`Cluster::hosts`]: routes to the identity addresses of all others. The
    /// route to a host that can no longer be reached is the planned one.
    pub routes: Vec<Vec<RoutePlan>>,
    /// Of every host: whether routes of other hosts lead through it now.
    pub relays: Vec<bool>,
}

impl AddressPlan {
    /// The routes of a cluster while no frame passes between these pairs of NICs. `self` must be the
    /// cluster's own plan.
    pub fn around(
        &self,
        cluster: &Cluster,
        dead: impl IntoIterator<Item = [NicId; 2]>,
    ) -> Result<Around, PlanError> {
        let fabric = Fabric::new(cluster).without(dead);
        let addresses = Addresses::new(&fabric)?;
        let mut router = Router::new(&fabric, &addresses);
        let hosts = 0..cluster.hosts.len();
        let mut routes = Vec::with_capacity(cluster.hosts.len());
        for (host, planned) in hosts.clone().zip(&self.hosts) {
            let mut own = Vec::new();
            for to in hosts.clone().map(HostId).filter(|to| to.0 != host) {
                match router.identity_route(HostId(host), to) {
                    Ok(route) => own.push(route),
                    Err(PlanError::Unreachable { .. }) => {
                        let identity = addresses.identity(to);
                        own.extend(
                            planned.routes.iter().find(|route| route.destination == identity).cloned(),
                        );
                    }
                    Err(error) => return Err(error),
                }
            }
            routes.push(own);
        }
        let relays = hosts.map(|host| router.relays.contains(&HostId(host))).collect();
        Ok(Around { routes, relays })
    }
}
