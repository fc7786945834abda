//! Segments that are made while others are made: each maker removes what ended processes have left behind,
//! and nothing else.

use std::sync::Barrier;
use std::thread;

use tasuki_ring::{Outbox, Segment, SegmentOptions, Token};

const MAKERS: usize = 16;
const ROUNDS: usize = 400;

#[test]
fn no_maker_sweeps_away_what_another_is_making() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let start = Barrier::new(MAKERS);
    thread::scope(|scope| {
        for _ in 0..MAKERS {
            scope.spawn(|| {
                start.wait();
                for round in 0..ROUNDS {
                    let token = Token::random().unwrap();
                    let options = SegmentOptions { max_peers: 1, ..SegmentOptions::new(token) };
                    let segment = Segment::create_in(folder.path(), &options)
                        .unwrap_or_else(|error| panic!("round {round}: {error}"));
                    let peer = Outbox::open_in(folder.path(), &token, &token);
                    assert!(peer.is_ok_and(|peer| peer.alive()), "round {round}: it has lost its name");
                    drop(segment);
                }
            });
        }
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
