//! Destinations of packets.

use crate::Rng;
use crate::fabric::FabricError;
use tasuki_topo::{
    Network,
    bounds::{self, Traffic},
};

/// A pattern: which host sends to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Every packet goes to a random host.
    Uniform,
    /// So many percent of the packets go to host 0, the others as with [`Pattern::Uniform`].
    HotSpot(u8),
    /// Every host sends to all others in turn, to the next one first.
    AllToAll,
    /// Every host sends to the next one.
    Neighbour,
    /// The patterns of the paper, between switches: at each switch the first host sends and the second
    /// receives.
    Switches(bounds::Pattern),
}

impl Pattern {
    /// The destinations that the pattern gives to every host of a network.
    pub fn targets(self, net: &Network) -> Result<Vec<Targets>, FabricError> {
        let hosts = net.hosts().len() as u32;
        if hosts < 2 {
            return Err(FabricError::Load(format!(
                "the network has {hosts} hosts; traffic needs at least two"
            )));
        }
        let all = 0..hosts;
        Ok(match self {
            Pattern::Uniform => all.map(|host| Targets::Random { host, hosts, hot: 0 }).collect(),
            Pattern::HotSpot(hot) => {
                let hot = hot.min(100);
                all.map(|host| Targets::Random { host, hosts, hot: if host == 0 { 0 } else { hot } })
                    .collect()
            }
            Pattern::AllToAll => all.map(|host| Targets::Turn { host, hosts, step: 0 }).collect(),
            Pattern::Neighbour => all.map(|host| Targets::One((host + 1) % hosts)).collect(),
            Pattern::Switches(pattern) => {
                let traffic = Traffic::between_switches(net, pattern);
                let traffic = traffic.map_err(|error| FabricError::Load(error.to_string()))?;
                let mut targets = vec![Targets::None; hosts as usize];
                for flow in traffic.flows {
                    targets[flow.from.ix()] = Targets::One(flow.to.0);
                }
                targets
            }
        })
    }
}

/// The destinations of one host's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// The host sends nothing.
    None,
    /// Always the same host.
    One(u32),
    /// A random other host; `hot` percent of the packets go to host 0.
    Random {
        /// The host itself.
        host: u32,
        /// Number of hosts.
        hosts: u32,
        /// Percentage of packets to host 0.
        hot: u8,
    },
    /// All other hosts, one after the other.
    Turn {
        /// The host itself.
        host: u32,
        /// Number of hosts.
        hosts: u32,
        /// Number of packets that it has sent, modulo the number of other hosts.
        step: u32,
    },
}

impl Targets {
    /// The destination of the next packet.
    #[inline]
    pub fn next(&mut self, rng: &mut Rng) -> Option<u32> {
        match self {
            Targets::None => None,
            Targets::One(to) => Some(*to),
            Targets::Random { host, hosts, hot } => {
                if *hot > 0 && rng.chance(u64::from(*hot)) {
                    return Some(0);
                }
                let drawn = ((u64::from(rng.next_u64() as u32) * u64::from(*hosts - 1)) >> 32) as u32;
                Some(drawn + u32::from(drawn >= *host))
            }
            Targets::Turn { host, hosts, step } => {
                let to = (*host + 1 + *step) % *hosts;
                *step = (*step + 1) % (*hosts - 1);
                Some(to)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_sends_to_itself_and_all_are_reached() {
        let mut rng = Rng::new(5);
        for host in 0..7 {
            let mut random = Targets::Random { host, hosts: 7, hot: 0 };
            let mut turn = Targets::Turn { host, hosts: 7, step: 0 };
            let mut count = [[0; 7]; 2];
            for _ in 0..6000 {
                for (count, targets) in count.iter_mut().zip([&mut random, &mut turn]) {
                    count[targets.next(&mut rng).map_or(0, |to| to as usize)] += 1;
                }
            }
            for (to, (random, turn)) in count[0].iter().zip(count[1]).enumerate() {
                let own = to == host as usize;
                assert!(if own { *random == 0 } else { (850..1150).contains(random) }, "{count:?}");
                assert_eq!(turn, if own { 0 } else { 1000 });
            }
        }
    }
}
