//! What each use of memory costs in messages, counted on paper from the protocol of Li and Hudak (1989) with
//! one confirmation for each request.

use tasuki_dsm::{Counters, Lock, Page};
use tasuki_random::Random;

use crate::program::{Op, Shape};
use crate::world::World;

/// Messages of a program with one thread on each of four nodes; page 0 and lock 0 have node 0 as home.
fn messages(programs: [&[Op]; 4]) -> Counters {
    let shape = Shape { nodes: 4, threads: 1, pages: 4, run: 1, locks: 4, ops: 0, hold: 0, delay: 1000 };
    let programs = programs.map(|ops| vec![ops.to_vec()]).to_vec();
    World::new(shape, programs, Random::new(1), None).run().unwrap_or_else(|complaint| panic!("{complaint}"))
}

const WORD: (Page, usize) = (Page(0), 0);
/// A barrier of four nodes: two rounds, in each of which every node sends a message.
const BARRIER: u64 = 8;

#[test]
fn the_home_uses_its_pages_without_messages() {
    assert_eq!(messages([&[Op::Write(WORD), Op::Read(WORD)], &[], &[], &[]]).messages, 0);
}

#[test]
fn the_first_touch_is_asked_granted_and_confirmed() {
    let counters = messages([&[], &[Op::Read(WORD), Op::Write(WORD), Op::Write(WORD)], &[], &[]]);
    assert_eq!((counters.messages, counters.fresh, counters.sent), (3, 1, 0));
}

/// Want to the home, fetch to the owner, bytes to the reader, done to the home.
#[test]
fn a_third_node_reads_with_four_messages() {
    let counters = messages([
        &[Op::Barrier(4)],
        &[Op::Write(WORD), Op::Barrier(4)],
        &[Op::Barrier(4), Op::Read(WORD)],
        &[Op::Barrier(4)],
    ]);
    assert_eq!((counters.messages, counters.sent), (3 + BARRIER + 4, 1));
}

/// Want, an invalidation of the one other reader and its answer, leave, done; no bytes.
#[test]
fn a_reader_becomes_the_writer_without_bytes() {
    let counters = messages([
        &[Op::Barrier(4), Op::Barrier(4)],
        &[Op::Write(WORD), Op::Barrier(4), Op::Barrier(4)],
        &[Op::Barrier(4), Op::Read(WORD), Op::Barrier(4), Op::Write(WORD)],
        &[Op::Barrier(4), Op::Barrier(4)],
    ]);
    assert_eq!((counters.messages, counters.sent, counters.dropped), (3 + 4 + 2 * BARRIER + 5, 1, 1));
}

/// A lock that no other node wants costs one request, however often it is taken.
#[test]
fn a_lock_stays_where_it_was_used() {
    let under = [Op::Acquire(Lock(0)), Op::Release(Lock(0))].repeat(10);
    assert_eq!(messages([&[], &under, &[], &[]]).messages, 2);
}
