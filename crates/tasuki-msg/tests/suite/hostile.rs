//! Frames from a peer that breaks the protocol. None may panic the endpoint, overfill its pool, or harm what
//! it does with other peers.

use std::num::NonZeroU64;

use tasuki_msg::{
    Action, ClaimId, Config, Data, Endpoint, Epoch, Event, Frame, FrameError, Mark, Matching, MsgSeq, PeerId,
    PeerOptions, PullId, Queue, RecvRequest, SendRequest, Source, Start, Window, charge,
};

use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

const REPLAY: Replay =
    Replay { variable: "TASUKI_MSG_SEED", command: "cargo test -p tasuki-msg --test suite lies_do_no_harm" };

const CONFIG: Config = Config { pool_bytes: 16_384, peer_bytes: 8192, expected_peers: 2, initial_credit: 0 };
const WINDOW: Window = Window { eager_max: 200, unscheduled: 100, window: 4096, quantum: 1000 };

/// Small numbers, numbers around the limits, and absurd ones.
fn number(rng: &mut Random) -> u64 {
    match rng.below(10) {
        0..7 => rng.below(8),
        7 => rng.pick(&[63, 64, 65, 200, 1000, 4096, 8192]),
        8 => u64::MAX - rng.below(3),
        _ => rng.next_u64() >> rng.below(64),
    }
}

fn mark(rng: &mut Random) -> Mark {
    Mark { frames: number(rng), bytes: number(rng) }
}

fn random_frame(rng: &mut Random) -> Frame {
    let seq = MsgSeq(number(rng));
    match rng.below(16) {
        0..5 => {
            let (a, b, c) = (number(rng), number(rng), number(rng));
            let sorted = rng.chance(80);
            Frame::Start(Start {
                seq,
                queue: rng.pick(&[Queue::Msg, Queue::Tagged, Queue::Internal]),
                tag: number(rng),
                data: rng.chance(50).then(|| rng.next_u64()),
                len: if sorted { a.max(b).max(c) } else { a },
                early: if sorted { b.max(c).min(a.max(b.min(c))) } else { b },
                inline: if sorted { a.min(b).min(c) } else { c },
                charged: rng.chance(70),
                ack: rng.chance(70),
                remote_key: rng.chance(30).then(|| rng.next_u64()),
            })
        }
        5..9 => Frame::Data(Data { seq, offset: number(rng), len: number(rng), early: number(rng) }),
        9 => Frame::Grant { seq, upto: number(rng) },
        10 => Frame::Done { seq },
        11 => Frame::Credit { total: number(rng) },
        12 => Frame::Recall { keep: number(rng) },
        13 => Frame::Return { total: number(rng) },
        14 => match rng.below(3) {
            0 => Frame::Quiesce { epoch: Epoch(number(rng)), mark: mark(rng) },
            1 => Frame::Quiesced { epoch: Epoch(number(rng)), mark: mark(rng) },
            _ => Frame::Resume { epoch: Epoch(number(rng)) },
        },
        _ => Frame::Bye { mark: mark(rng) },
    }
}

struct Victim {
    ep: Endpoint<Window>,
    peer: PeerId,
    rng: Random,
    pulls: Vec<PullId>,
    claims: Vec<ClaimId>,
    early: std::collections::BTreeMap<usize, u64>,
}

impl Victim {
    fn act(&mut self) {
        let (rng, ep) = (&mut self.rng, &mut self.ep);
        let matching = Matching {
            queue: rng.pick(&[Queue::Msg, Queue::Tagged, Queue::Internal]),
            source: rng.pick(&[Source::Any, Source::Peer(self.peer)]),
            tag: rng.below(8),
            ignore: rng.pick(&[0, 7, u64::MAX]),
        };
        let capacity = number(rng) >> 8;
        match rng.below(8) {
            0..3 => {
                let multi = rng.chance(20).then(|| number(rng));
                ep.post_recv(RecvRequest { matching, capacity, multi, user: 0 }).unwrap();
            }
            3 => {
                let (len, delivery) = (number(rng) >> 8, rng.chance(50));
                let (peer, queue, tag) = (self.peer, matching.queue, matching.tag);
                let (data, remote_key) = (None, rng.chance(50).then_some(1));
                ep.post_send(SendRequest { peer, queue, tag, data, len, delivery, remote_key, user: 0 })
                    .unwrap();
            }
            4 => self.claims.extend(ep.claim(&matching).map(|(claim, _)| claim)),
            5 => drop(ep.discard(&matching)),
            6 => {
                if let Some(claim) = self.claims.pop() {
                    let _lost_or_posted = ep.recv_claimed(claim, capacity, 0);
                }
            }
            _ => {
                if let Some(pull) = self.pulls.pop() {
                    let works = rng.chance(50);
                    ep.handle_pulled(pull, works);
                }
            }
        }
    }

    fn settle(&mut self) {
        while let Some(transmit) = self.ep.poll_transmit(self.peer, NonZeroU64::new(100).unwrap()) {
            // The peer may have granted the whole of a message of 2^56 bytes: only a little of it is sent.
            if let Some(payload) = transmit.payload {
                self.ep.handle_released(payload.send);
                if payload.offset > 1000 {
                    break;
                }
            }
        }
        while let Some(action) = self.ep.poll_action() {
            match action {
                Action::Pull { pull, .. } => self.pulls.push(pull),
                Action::FreeEarly(buffer) => drop(self.early.remove(&buffer.index())),
                _ => {}
            }
        }
        let held: u64 = self.early.values().sum();
        assert!(held <= CONFIG.pool_bytes && self.ep.status().pool_held <= CONFIG.pool_bytes, "{held}");
    }
}

fn run_against_lies(seed: u64) -> [u64; 2] {
    let mut ep = Endpoint::new(CONFIG, WINDOW);
    let peer = ep.add_peer(PeerOptions { pull: seed.is_multiple_of(2), ..PeerOptions::default() });
    let (pulls, claims, early) = Default::default();
    let mut victim = Victim { ep, peer, rng: Random::new(seed), pulls, claims, early };
    let mut counts = [0; 2];
    for _ in 0..400 {
        if victim.rng.chance(30) {
            victim.act();
        }
        let frame = random_frame(&mut victim.rng);
        match victim.ep.handle_frame(peer, &frame) {
            Ok(placement) => {
                counts[0] += 1;
                assert!(placement.len <= frame.payload_len(), "{placement:?} of {frame:?}");
                if let tasuki_msg::Sink::Early { buffer, size, offset } = placement.sink {
                    assert!(offset + placement.len <= size);
                    victim.early.insert(buffer.index(), size);
                }
            }
            Err(_) => counts[1] += 1,
        }
        victim.settle();
    }
    let counted = victim.ep.counters(peer).copied().unwrap();
    assert_eq!(counted.dropped_frames + counted.late_frames, counts[1], "every refusal is counted");
    assert_eq!(counted.received_frames, 400);
    victim.ep.handle_peer_failed(peer);
    victim.settle();
    assert!(victim.ep.forget_peer(peer));
    victim.settle();
    let status = victim.ep.status();
    let left =
        (status.sends, status.messages, status.early_buffers, status.pool_held, status.granted_in_flight);
    assert_eq!(left, (0, 0, 0, 0, 0), "the liar leaves nothing behind");
    counts
}

#[test]
fn lies_do_no_harm() {
    let counts = std::sync::Mutex::new([0; 2]);
    REPLAY.each(3000, |seed| {
        let [taken, refused] = run_against_lies(seed);
        let mut counts = counts.lock().unwrap();
        *counts = [counts[0] + taken, counts[1] + refused];
    });
    let counts = counts.into_inner().unwrap();
    println!("taken and refused: {counts:?}");
    let many = counts.iter().all(|&count| count > 100_000);
    assert!(!REPLAY.is_default() || many, "{counts:?}: the lies are too plain or too bold");
}

/// Each kind of breach has its own error. A refused frame changes nothing, so the correct frame after it is
/// accepted.
#[test]
fn breaches_are_told_apart() {
    let mut ep = Endpoint::new(CONFIG, WINDOW);
    let peer = ep.add_peer(PeerOptions::default());
    let start = Start {
        seq: MsgSeq(0),
        queue: Queue::Tagged,
        tag: 1,
        data: None,
        len: 100,
        early: 100,
        inline: 60,
        charged: true,
        ack: false,
        remote_key: None,
    };
    let data = Data { seq: MsgSeq(0), offset: 60, len: 40, early: 100 };
    let credit = 8192;
    let malformed = [
        Frame::Start(Start { inline: 101, ..start }),
        Frame::Start(Start { len: 99, ..start }),
        Frame::Start(Start { charged: false, ack: true, ..start }),
        Frame::Start(Start { len: 200, ..start }),
        Frame::Data(Data { len: 0, ..data }),
        Frame::Data(Data { offset: u64::MAX, ..data }),
        Frame::Data(Data { len: 41, ..data }),
        Frame::Return { total: credit + 1 },
    ];
    for frame in malformed {
        assert!(matches!(ep.handle_frame(peer, &frame), Err(FrameError::Malformed(_))), "{frame:?}");
    }
    let greedy = Start { len: credit, early: credit, inline: 0, ..start };
    assert!(charge(greedy.early) > credit);
    let seq = MsgSeq(0);
    for (frame, error) in [
        (Frame::Start(greedy), FrameError::OverCredit(seq)),
        (Frame::Data(Data { early: 0, ..data }), FrameError::UnknownMessage(seq)),
        (Frame::Grant { seq, upto: 1 }, FrameError::UnknownMessage(seq)),
        (Frame::Done { seq }, FrameError::UnknownMessage(seq)),
    ] {
        assert_eq!(ep.handle_frame(peer, &frame), Err(error), "{frame:?}");
    }
    assert!(ep.handle_frame(peer, &Frame::Start(start)).is_ok());
    for (frame, error) in [
        (Frame::Start(start), FrameError::DuplicateStart(seq)),
        (
            Frame::Data(Data { len: 39, early: 99, ..data }),
            FrameError::Malformed("pieces disagree about the early part"),
        ),
        (Frame::Data(Data { offset: 0, len: 41, ..data }), FrameError::NotGranted(seq)),
        (Frame::Data(Data { early: 0, ..data }), FrameError::NotGranted(seq)),
    ] {
        assert_eq!(ep.handle_frame(peer, &frame), Err(error), "{frame:?}");
    }
    assert!(ep.handle_frame(peer, &Frame::Data(data)).is_ok());
    assert_eq!(ep.handle_frame(peer, &Frame::Data(data)), Err(FrameError::NotGranted(seq)), "came twice");
    let matching = Matching { queue: Queue::Tagged, source: Source::Any, tag: 1, ignore: 0 };
    ep.post_recv(RecvRequest { matching, capacity: 100, multi: None, user: 0 }).unwrap();
    let done = std::iter::from_fn(|| ep.poll_action())
        .any(|action| matches!(action, Action::Event(Event::RecvDone(done)) if done.len == 100));
    assert!(done);
    ep.handle_peer_failed(peer);
    assert_eq!(ep.handle_frame(peer, &Frame::Done { seq }), Err(FrameError::PeerGone(peer)));
    ep.forget_peer(peer);
    assert_eq!(ep.handle_frame(peer, &Frame::Done { seq }), Err(FrameError::UnknownPeer(peer)));
}
