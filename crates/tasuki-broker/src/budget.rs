//! The shares of users: memory of rings, lanes, endpoint ids. Pure; times are milliseconds since an arbitrary
//! beginning.

use std::collections::{BTreeMap, VecDeque};
use tasuki_link::broker::Outcome;

/// Least memory of a ring, bytes, as `RingSize` lays it out.
const RING_MIN: u64 = 64 << 10;
/// How long the endpoint ids of a user's closed lanes are kept from other users, milliseconds, because peers
/// may still be sending to them.
const REST_MS: u64 = 60_000;
/// Most endpoint ids that are kept from other users at a time.
const RESTING_MAX: usize = 65_536;

/// The most that there is to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory of all rings, bytes.
    pub host_bytes: u64,
    /// Memory of one user's rings, bytes.
    pub user_bytes: u64,
    /// Lanes of one user.
    pub user_lanes: usize,
    /// Lanes in all.
    pub host_lanes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { host_bytes: 256 << 20, user_bytes: 128 << 20, user_lanes: 1024, host_lanes: 4096 }
    }
}

/// The share of one lane. [`Budget::release`] gives it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) uid: u32,
    pub(crate) nic: String,
    pub(crate) endpoint: u32,
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Used {
    bytes: u64,
    lanes: usize,
}

/// What is given to whom.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    host: Used,
    users: BTreeMap<u32, Used>,
    /// The user who has an endpoint id, by id and NIC.
    endpoints: BTreeMap<(u32, String), u32>,
    /// Endpoint ids that were given back: until when they are kept from others, which they are, and whose
    /// they were.
    resting: VecDeque<(u64, u32, u32)>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Budget {
        Budget {
            limits,
            host: Used::default(),
            users: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            resting: VecDeque::new(),
        }
    }

    /// Sets a lane's share aside: at most what is wanted, and no more than a sixteenth of what is left, so
    /// that those who come late get something too.
    pub(crate) fn reserve(
        &mut self,
        now: u64,
        uid: u32,
        nic: &str,
        endpoint: u32,
        wanted: u64,
    ) -> Result<Charge, (Outcome, String)> {
        let Limits { host_bytes, user_bytes, user_lanes, host_lanes } = self.limits;
        self.endpoint_is_free(now, uid, nic, endpoint)?;
        let user = self.users.get(&uid).copied().unwrap_or_default();
        let full = |what: String| Err((Outcome::Budget, what));
        if user.lanes >= user_lanes {
            return full(format!("user {uid} has {user_lanes} raw lanes already (--user-lanes)"));
        }
        if self.host.lanes >= host_lanes {
            return full(format!("all {host_lanes} raw lanes of this host are in use (--lanes)"));
        }
        let left = user_bytes.saturating_sub(user.bytes).min(host_bytes.saturating_sub(self.host.bytes));
        if left < RING_MIN {
            return full(format!(
                "the memory for rings is in use: {} of {} MiB by user {uid}, {} of {} MiB in all \
                 (--user-memory, --memory)",
                user.bytes >> 20,
                user_bytes >> 20,
                self.host.bytes >> 20,
                host_bytes >> 20
            ));
        }
        let charge =
            Charge { uid, nic: nic.to_owned(), endpoint, bytes: wanted.min(left / 16).max(RING_MIN) };
        self.add(&charge);
        Ok(charge)
    }

    /// Corrects a share whose ring takes more or less memory than was set aside.
    pub(crate) fn correct(&mut self, charge: &mut Charge, bytes: u64) {
        let user = self.users.entry(charge.uid).or_default();
        for used in [&mut self.host, user] {
            used.bytes = used.bytes.saturating_sub(charge.bytes) + bytes;
        }
        charge.bytes = bytes;
    }

    /// Gives a lane's share back.
    pub(crate) fn release(&mut self, now: u64, charge: &Charge) {
        let give_back = |used: &mut Used| {
            used.bytes = used.bytes.saturating_sub(charge.bytes);
            used.lanes = used.lanes.saturating_sub(1);
        };
        give_back(&mut self.host);
        if let Some(user) = self.users.get_mut(&charge.uid) {
            give_back(user);
            if user.lanes == 0 {
                self.users.remove(&charge.uid);
            }
        }
        self.endpoints.remove(&(charge.endpoint, charge.nic.clone()));
        if self.resting.len() == RESTING_MAX {
            self.resting.pop_front();
        }
        self.resting.push_back((now + REST_MS, charge.endpoint, charge.uid));
    }

    fn add(&mut self, charge: &Charge) {
        let user = self.users.entry(charge.uid).or_default();
        for used in [&mut self.host, user] {
            used.bytes += charge.bytes;
            used.lanes += 1;
        }
        self.endpoints.insert((charge.endpoint, charge.nic.clone()), charge.uid);
    }

    /// Whether an endpoint id may be given to a user. The owner of an id gets the packets that are sent to
    /// it, so an id has one owner.
    fn endpoint_is_free(
        &mut self,
        now: u64,
        uid: u32,
        nic: &str,
        endpoint: u32,
    ) -> Result<(), (Outcome, String)> {
        while self.resting.front().is_some_and(|(until, ..)| *until <= now) {
            self.resting.pop_front();
        }
        let taken = |why: &str| Err((Outcome::EndpointTaken, format!("endpoint {endpoint:08x} {why}")));
        if self.endpoints.contains_key(&(endpoint, nic.to_owned())) {
            return taken("has a lane of this NIC already");
        }
        let mut holders =
            self.endpoints.range((endpoint, String::new())..).take_while(|((id, _), _)| *id == endpoint);
        if holders.any(|(_, holder)| *holder != uid) {
            return taken("is another user's");
        }
        if self.resting.iter().any(|(_, id, holder)| *id == endpoint && *holder != uid) {
            return taken("was another user's a moment ago");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget() -> Budget {
        Budget::new(Limits { host_bytes: 16 * MIB, user_bytes: 8 * MIB, user_lanes: 200, host_lanes: 300 })
    }

    fn outcome(result: Result<Charge, (Outcome, String)>) -> Outcome {
        result.expect_err("a refusal").0
    }

    #[test]
    fn one_user_takes_no_more_than_a_users_share_and_gets_it_back() {
        let mut budget = budget();
        let mut charges = Vec::new();
        let refused = loop {
            match budget.reserve(0, 7, "eth1", charges.len() as u32, 2 * MIB) {
                Ok(charge) => charges.push(charge),
                Err(refused) => break refused,
            }
        };
        assert_eq!(refused.0, Outcome::Budget);
        let sum: u64 = charges.iter().map(|charge| charge.bytes).sum();
        assert!(sum <= 8 * MIB && sum > 8 * MIB - RING_MIN, "{sum}");
        assert!(charges.len() > 40 && charges[0].bytes == MIB / 2, "the first take all: {}", charges.len());
        // The share of another user is not affected.
        assert_eq!(budget.reserve(0, 8, "eth1", 5000, MIB).unwrap().bytes, MIB / 2);
        for charge in &charges {
            budget.release(0, charge);
        }
        assert_eq!(budget.reserve(0, 7, "eth1", 9000, 2 * MIB).unwrap().bytes, MIB / 2);
    }

    #[test]
    fn lanes_are_counted_per_user_and_host() {
        let limits = Limits { user_lanes: 2, host_lanes: 3, ..Limits::default() };
        let mut budget = Budget::new(limits);
        for (uid, endpoint) in [(7, 1), (7, 2)] {
            budget.reserve(0, uid, "eth1", endpoint, MIB).unwrap();
        }
        assert_eq!(outcome(budget.reserve(0, 7, "eth1", 3, MIB)), Outcome::Budget);
        let last = budget.reserve(0, 8, "eth1", 3, MIB).unwrap();
        assert_eq!(outcome(budget.reserve(0, 9, "eth1", 4, MIB)), Outcome::Budget);
        budget.release(0, &last);
        budget.reserve(0, 9, "eth1", 4, MIB).unwrap();
    }

    #[test]
    fn an_endpoints_id_is_its_owners_on_every_nic_and_for_a_while_after() {
        let mut budget = budget();
        let first = budget.reserve(0, 7, "eth1", 42, MIB).unwrap();
        budget.reserve(0, 7, "eth2", 42, MIB).unwrap();
        assert_eq!(outcome(budget.reserve(0, 7, "eth1", 42, MIB)), Outcome::EndpointTaken);
        assert_eq!(outcome(budget.reserve(0, 8, "eth3", 42, MIB)), Outcome::EndpointTaken);
        let second = Charge { nic: "eth2".into(), ..first.clone() };
        budget.release(1000, &first);
        budget.release(1000, &second);
        assert_eq!(outcome(budget.reserve(1000, 8, "eth1", 42, MIB)), Outcome::EndpointTaken);
        budget.reserve(1000, 7, "eth1", 42, MIB).expect("its own again");
        budget.release(2000, &first);
        assert_eq!(outcome(budget.reserve(2000 + REST_MS - 1, 8, "eth1", 42, MIB)), Outcome::EndpointTaken);
        budget.reserve(2000 + REST_MS, 8, "eth1", 42, MIB).expect("nobody's");
    }

    #[test]
    fn what_a_ring_really_takes_is_what_counts() {
        let mut budget = budget();
        let mut charge = budget.reserve(0, 7, "eth1", 1, MIB).unwrap();
        budget.correct(&mut charge, 8 * MIB);
        assert_eq!(outcome(budget.reserve(0, 7, "eth1", 2, MIB)), Outcome::Budget);
        budget.release(0, &charge);
        assert_eq!((budget.host.bytes, budget.host.lanes, budget.users.len()), (0, 0, 0));
    }
}
