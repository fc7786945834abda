//! Tells the striping program of the host which ways are dead, and which are to rest.

use crate::{TunerNote, said};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};
use tasuki_cluster::{AddressPlan, Cluster, HostId, NicId, StripeSlot};
use tasuki_stripe::{StripeError, Verdicts};
use tasuki_sys::netlink::Netlink;

/// `apply` may set up striping, or another, at any time: it is looked for this often.
const LOOK: Duration = Duration::from_secs(1);

/// The destination table of the host as pairs of NICs, and the program's own.
pub struct Stripes {
    netlink: Netlink,
    /// Of each peer of the plan, in its order: own NIC and NIC at the other end, the lower one first.
    slots: Vec<Vec<[NicId; 2]>>,
    /// The own NIC's name of each of these.
    names: Vec<Vec<String>>,
    /// NICs that `tasuki tune run` has taken out.
    resting: Vec<String>,
    verdicts: Option<Verdicts>,
    looked: Option<Instant>,
    /// What went wrong was said.
    complained: bool,
}

impl Stripes {
    /// `None`: the host does not stripe.
    pub fn new(cluster: &Cluster, plan: &AddressPlan, host: HostId) -> Option<Self> {
        let striping = plan.hosts[host.0].striping.as_ref()?;
        let end_of = |address| {
            let of_host =
                plan.hosts.iter().position(|other| other.links.iter().any(|l| l.address == address));
            let other = of_host?;
            let link = plan.hosts[other].links.iter().find(|link| link.address == address)?;
            nic(cluster, HostId(other), &link.interface)
        };
        let pair = |slot: &StripeSlot| {
            let own = nic(cluster, host, &striping.nics.get(slot.nic)?.interface)?;
            let end = end_of(slot.remote)?;
            Some([own.min(end), own.max(end)])
        };
        let name = |slot: &StripeSlot| striping.nics.get(slot.nic).map(|nic| nic.interface.clone());
        let names = striping.peers.iter().map(|peer| peer.slots.iter().filter_map(name).collect()).collect();
        let slots = striping.peers.iter().map(|peer| peer.slots.iter().map(pair).collect::<Option<_>>());
        let slots = slots.collect::<Option<_>>()?;
        let netlink = Netlink::open().ok()?;
        let resting = Vec::new();
        Some(Self { netlink, slots, names, resting, verdicts: None, looked: None, complained: false })
    }

    /// To be called at every tick, with what is dead now. What goes wrong is said once: the program then asks the kernel.
    pub fn tell(&mut self, dead: &BTreeSet<[NicId; 2]>) {
        if let Err(error) = self.try_to_tell(dead) {
            self.verdicts = None;
            if !self.complained {
                self.complained = true;
                eprintln!("tasuki watch: {error}");
            }
        }
    }

    fn try_to_tell(&mut self, dead: &BTreeSet<[NicId; 2]>) -> Result<(), StripeError> {
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.looked = Some(Instant::now());
            self.resting = said::<TunerNote>().map(|note| note.resting).unwrap_or_default();
            let found = tasuki_stripe::find(&mut self.netlink)?;
            match (&found, &self.verdicts) {
                (Some(found), Some(verdicts)) if verdicts.is_of(found) => {}
                (Some(found), _) => self.verdicts = Some(Verdicts::open(found)?),
                (None, _) => self.verdicts = None,
            }
        }
        let Some(verdicts) = &mut self.verdicts else { return Ok(()) };
        let words = self.slots.iter().zip(&self.names);
        let words = words.map(|(slots, names)| {
            let bits = |is: &dyn Fn(usize) -> bool| {
                (0..slots.len()).filter(|slot| is(*slot)).fold(0_u32, |word, slot| word | 1 << slot)
            };
            let dead_ways = bits(&|slot| dead.contains(&slots[slot]));
            left_out(slots.len(), dead_ways, bits(&|slot| self.resting.contains(&names[slot])))
        });
        verdicts.say(&words.collect::<Vec<_>>())
    }

    /// The watch ends.
    pub fn leave(&mut self) {
        if let Some(verdicts) = &mut self.verdicts {
            // At the latest a second from now the program sees for itself that nobody speaks any more.
            let _ = verdicts.leave();
        }
    }
}

fn nic(cluster: &Cluster, host: HostId, name: &str) -> Option<NicId> {
    let index = cluster.host_of(host).nics.iter().position(|nic| nic.name == name)?;
    Some(NicId { host, index })
}

/// The ways that are not to be used, of so many: the dead, and those that rest unless no other is alive.
fn left_out(ways: usize, dead: u32, resting: u32) -> u32 {
    let all = u32::try_from((1_u64 << ways.min(32)) - 1).unwrap_or(u32::MAX);
    if all & !(dead | resting) != 0 { dead | resting } else { dead }
}

#[cfg(test)]
mod tests {
    use super::left_out;

    #[test]
    fn a_way_rests_only_while_another_is_alive() {
        assert_eq!(left_out(4, 0b0001, 0b0110), 0b0111);
        assert_eq!(left_out(3, 0b0001, 0b0110), 0b0001);
        assert_eq!(left_out(2, 0, 0b11), 0);
        assert_eq!(left_out(32, 0, 1 << 31), 1 << 31);
    }
}
