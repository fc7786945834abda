//! Settings of an endpoint and its peers, and the unit in which credit is counted.

pub use tasuki_tuning::credit::{ENVELOPE, GRANULE, INITIAL as INITIAL_CREDIT};

/// Credit that a message costs of which `early` bytes are sent without a grant.
pub const fn charge(early: u64) -> u64 {
    early.div_ceil(GRANULE).saturating_mul(GRANULE).saturating_add(ENVELOPE)
}

/// The largest `early` whose charge is at most `credit`; 0 also if the credit does not even cover an
/// envelope.
pub(crate) fn payload_for(credit: u64) -> u64 {
    credit.saturating_sub(ENVELOPE) / GRANULE * GRANULE
}

/// Memory that an endpoint reserves for unexpected messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes that all peers together may fill with messages for which no receive is posted yet. Memory cost:
    /// at worst this much, plus the initial credit of all peers. Raise it when many peers send small messages
    /// before the receives are posted; 0 makes every send a rendezvous that goes beyond the initial credit.
    pub pool_bytes: u64,
    /// Most of the pool that one peer may hold, bytes. Large enough for what a peer sends in one round trip
    /// at full rate; more only moves memory from the sender to the receiver.
    pub peer_bytes: u64,
    /// Number of peers to expect: the pool is divided by this or by the number of living peers (rounded up to
    /// a power of two), whichever is more. Set it to the size of the job if that is known, so that the first
    /// peers need not hand credit back.
    pub expected_peers: u32,
    /// Credit that every peer has at this endpoint, and this endpoint at every peer, from the start, bytes.
    /// All endpoints that meet must have the same value.
    pub initial_credit: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            pool_bytes: 16 << 20,
            peer_bytes: 1 << 20,
            expected_peers: 1,
            initial_credit: INITIAL_CREDIT,
        }
    }
}

impl Config {
    /// Credit that each of `living` peers may hold, bytes; 0 if it would be less than an envelope, which is
    /// of no use.
    pub(crate) fn share(&self, living: u32) -> u64 {
        // The power of two that follows the largest number of peers has 33 bits.
        let heads = u64::from(living.max(self.expected_peers).max(1)).next_power_of_two();
        let share = (self.pool_bytes / heads).min(self.peer_bytes);
        if share < ENVELOPE { 0 } else { share / GRANULE * GRANULE }
    }
}

/// What the carriers to a peer can do. May change at any time (`Endpoint::set_peer_options`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerOptions {
    /// Payload bytes that may travel in a `Start`, which carriers cannot cut up as they can `Data`: what fits
    /// into one packet beside the envelope. 0 is allowed.
    pub inline_max: u64,
    /// This side can copy out of the peer's memory (shared memory on one host): rendezvous payload is pulled
    /// instead of granted, for messages that come with a `remote_key`.
    pub pull: bool,
}

impl Default for PeerOptions {
    fn default() -> PeerOptions {
        PeerOptions { inline_max: u64::MAX, pull: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charge_and_its_inverse_agree() {
        assert_eq!((charge(0), charge(1), charge(64), charge(65)), (1024, 1088, 1088, 1152));
        for credit in 0..3000 {
            let early = payload_for(credit);
            assert!(early == 0 || charge(early) <= credit);
            assert!(charge(early + 1) > credit);
        }
        assert_eq!(charge(u64::MAX), u64::MAX);
    }

    #[test]
    fn shares_never_exceed_the_pool() {
        for pool_bytes in [0, 63, 1024, 10_000, 1 << 20] {
            let config = Config { pool_bytes, peer_bytes: 40_000, expected_peers: 3, ..Config::default() };
            for living in 0..40 {
                assert!(config.share(living) * u64::from(living) <= pool_bytes);
                assert_eq!(config.share(living) % GRANULE, 0);
            }
        }
    }

    /// The number is the program's, and any that fits is one.
    #[test]
    fn a_pool_is_divided_among_as_many_peers_as_can_be_named() {
        for expected_peers in [1 << 31, u32::MAX] {
            let config = Config { pool_bytes: u64::MAX, expected_peers, ..Config::default() };
            assert!(config.share(1) * u64::from(expected_peers) <= u64::MAX / 2 + 1);
            assert_eq!(Config { pool_bytes: 16 << 20, ..config }.share(u32::MAX), 0);
        }
    }
}
