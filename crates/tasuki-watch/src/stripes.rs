//! Tells the striping program of the host which rails are dead, and which are not to be used for other
//! reasons.

use crate::{TunerNote, said};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};
use tasuki_cluster::{AddressPlan, Cluster, HostId, NicId, StripeSlot};
use tasuki_stripe::{StripeError, Verdicts};
use tasuki_sys::netlink::Netlink;

/// How often it is looked whether `apply` has set up striping, or set it up anew.
const LOOK: Duration = Duration::from_secs(1);

/// The destination table of the host as pairs of NICs, and the striping program's own table.
pub struct Stripes {
    netlink: Netlink,
    /// Of each peer of the plan, in the plan's order: pairs of own NIC and NIC at the other end, the lower
    /// one first.
    slots: Vec<Vec<[NicId; 2]>>,
    /// The name of the own NIC in each of these pairs.
    names: Vec<Vec<String>>,
    /// NICs that `tasuki tune run` has taken out of the bundle.
    resting: Vec<String>,
    verdicts: Option<Verdicts>,
    looked: Option<Instant>,
    /// Whether a failure was reported already.
    complained: bool,
}

impl Stripes {
    /// Prepares the tables; `None` if the host does not stripe.
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

    /// Tells the program which rails are dead now; to be called at every tick. A failure is reported once:
    /// the program then goes by the kernel's routes.
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
            let dead_rails = bits(&|slot| dead.contains(&slots[slot]));
            left_out(slots.len(), dead_rails, bits(&|slot| self.resting.contains(&names[slot])))
        });
        verdicts.say(&words.collect::<Vec<_>>())
    }

    /// Tells the program that the watch ends.
    pub fn leave(&mut self) {
        if let Some(verdicts) = &mut self.verdicts {
            // If this fails, the program notices within a second that nothing is told any more.
            let _ = verdicts.leave();
        }
    }
}

fn nic(cluster: &Cluster, host: HostId, name: &str) -> Option<NicId> {
    let index = cluster.host_of(host).nics.iter().position(|nic| nic.name == name)?;
    Some(NicId { host, index })
}

/// The rails that are not to be used, as a bit mask over `rails` of them: the dead ones, and those that rest,
/// unless no other is alive.
fn left_out(rails: usize, dead: u32, resting: u32) -> u32 {
    let all = u32::try_from((1_u64 << rails.min(32)) - 1).unwrap_or(u32::MAX);
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
