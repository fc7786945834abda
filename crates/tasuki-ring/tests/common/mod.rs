//! What tests of rings in one process share.
#![allow(dead_code, reason = "not every test program uses all of it")]

use tasuki_ring::{Departure, Outbox, Segment, SegmentOptions, Token, Verdict};

/// Size of the smallest ring that there may be, in bytes.
pub const SMALLEST_RING: usize = 4096;

/// A segment in `/dev/shm` with a name of its own.
pub fn segment(ring_bytes: usize, max_peers: usize) -> Segment {
    let token = Token::random().unwrap();
    Segment::create(&SegmentOptions { ring_bytes, max_peers, ..SegmentOptions::new(token) }).unwrap()
}

/// Pushes a record of these bytes. False if there is no room for it.
pub fn push(outbox: &mut Outbox, bytes: &[u8]) -> bool {
    outbox.push(bytes.len(), |into| into.copy_from_slice(bytes))
}

/// All records that wait.
pub fn all(segment: &mut Segment) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    while segment.receive(64, |_, bytes| {
        got.push(bytes.to_vec());
        Verdict::Consumed
    }) > 0
    {}
    got
}

/// The senders that have gone since this was asked last, and why.
pub fn departures(segment: &mut Segment) -> Vec<Departure> {
    let mut got = Vec::new();
    segment.reap(|_, _, departure| got.push(departure));
    got
}
