//! Credit bounds payload, never envelopes.

use tasuki_msg::{
    Action, Controller, Demand, ENVELOPE, Endpoint, Event, Frame, Matching, NewMessage, RecvRequest,
    SendRequest, Source, charge,
};

use super::*;

/// With a small pool and many messages, payload stops at the credit, every envelope arrives, the last message
/// can be received first, and nothing is lost.
#[test]
fn a_flood_fills_the_pool_and_no_more() {
    let pool = 64 * 1024;
    let config = Config { pool_bytes: pool, peer_bytes: pool, expected_peers: 1, initial_credit: 0 };
    let mut w = world_with(2, config, WINDOW, Habits::PLAIN);
    let flood: Vec<usize> = (0..1000).map(|data| w.say(0, 1, data, 100, data)).collect();
    w.carry();
    let share = pool / 2;
    let status = w.nodes[1].ep.status();
    assert_eq!(status.unexpected, 1000, "every envelope is here");
    assert_eq!(status.early_buffers as u64, share / charge(100), "payload is bounded by the share");
    let done = flood.iter().filter(|&&name| w.sent_ok(name)).count() as u64;
    assert_eq!(done, share / charge(100), "the others wait for their receivers");
    for data in (0..1000).rev() {
        let recv = w.listen(1, Some(0), data, 0);
        w.carry();
        assert_eq!(w.heard(1, recv), [data]);
    }
    assert!(flood.iter().all(|&name| w.sent_ok(name)));
    w.audit_rest().unwrap();
}

/// Empty messages have no payload that credit could bound. Their envelopes are charged, so that a flood of
/// them does not complete at the sender and pile up at the receiver.
#[test]
fn a_flood_of_empty_messages_stays_open_at_the_sender() {
    let config = Config { pool_bytes: 64 << 10, peer_bytes: 64 << 10, expected_peers: 1, initial_credit: 0 };
    let mut w = world_with(2, config, WINDOW, Habits::PLAIN);
    let flood: Vec<usize> = (0..1000).map(|_| w.send(0, 1, SendSpec::tagged(1, 0)).unwrap()).collect();
    w.carry();
    let done = flood.iter().filter(|&&name| w.sent_ok(name)).count() as u64;
    assert_eq!(done, (32 << 10) / ENVELOPE);
}

/// A peer that joins late finds the pool given away; the others hand back what they do not use.
#[test]
fn credit_moves_to_those_who_come_later() {
    let config = Config { pool_bytes: 1 << 16, peer_bytes: 1 << 16, expected_peers: 1, initial_credit: 0 };
    let mut w = World::new(Random::new(1), config, WINDOW, Habits::PLAIN, None);
    for nodes in 1..=8_usize {
        w.add_node(PeerOptions::default());
        w.carry();
        let share = (1 << 16) / nodes.next_power_of_two() as u64;
        for node in 0..nodes {
            for known in &w.nodes[node].peers {
                let status = w.nodes[node].ep.peer_status(known.peer).unwrap();
                assert_eq!(status.credit, share, "of node {node} at {}, {nodes} nodes", known.there);
            }
        }
    }
}

/// Grants at a rate: a budget that is refilled from outside, by an owner with a clock.
struct Budget {
    bytes: u64,
    measured: u64,
}

impl Controller for Budget {
    fn unscheduled(&mut self, _: &NewMessage) -> u64 {
        300
    }

    fn grant(&mut self, demand: &Demand) -> u64 {
        let granted = self.bytes.min(demand.wanted);
        self.bytes -= granted;
        granted
    }

    fn arrived(&mut self, _: tasuki_msg::PeerId, bytes: u64) {
        self.measured += bytes;
    }
}

/// A controller of another crate can be plugged in: B bytes are sent at once, the rest exactly as its budget
/// allows.
#[test]
fn a_controller_with_a_budget_paces_the_payload() {
    let mut ends = [0, 1].map(|_| Endpoint::new(CONFIG, Budget { bytes: 0, measured: 0 }));
    let peers = [0, 1].map(|at| ends[at].add_peer(PeerOptions::default()));
    let room = std::num::NonZeroU64::new(100).unwrap();
    // Carries everything both ways; returns the payload bytes from end 0 to end 1.
    let carry = |ends: &mut [Endpoint<Budget>; 2]| {
        let (mut bytes, mut moved) = (0, true);
        while std::mem::take(&mut moved) {
            for from in [0, 1] {
                while let Some(transmit) = ends[from].poll_transmit(peers[from], room) {
                    moved = true;
                    let _placement = ends[1 - from].handle_frame(peers[1 - from], &transmit.frame).unwrap();
                    if let Some(payload) = transmit.payload {
                        ends[from].handle_released(payload.send);
                    }
                    if matches!(transmit.frame, Frame::Start(_) | Frame::Data(_)) {
                        bytes += transmit.frame.payload_len();
                    }
                }
            }
        }
        bytes
    };
    carry(&mut ends);
    let matching = Matching { queue: Queue::Msg, source: Source::Any, tag: 0, ignore: 0 };
    ends[1].post_recv(RecvRequest { matching, capacity: 10_000, multi: None, user: 0 }).unwrap();
    let (peer, queue) = (peers[0], Queue::Msg);
    let (data, remote_key) = (None, None);
    ends[0]
        .post_send(SendRequest { peer, queue, tag: 0, data, len: 1000, delivery: false, remote_key, user: 0 })
        .unwrap();
    assert_eq!(carry(&mut ends), 300, "unscheduled");
    for (budget, expected) in [(250, 250), (0, 0), (50, 50), (10_000, 400)] {
        ends[1].controller_mut().bytes = budget;
        ends[1].handle_budget();
        assert_eq!(carry(&mut ends), expected);
    }
    assert_eq!(ends[1].controller_mut().measured, 700, "what was granted is measured");
    let events = std::iter::from_fn(|| ends[1].poll_action());
    let received =
        |action: &Action| matches!(action, Action::Event(Event::RecvDone(done)) if done.len == 1000);
    assert_eq!(events.filter(received).count(), 1);
}

/// With initial credit the first messages are sent without asking, though no frame has told of any credit. A
/// peer tells of credit only together with other frames, or after it has been spoken to.
#[test]
fn the_first_messages_need_no_credit_that_was_told() {
    let config = Config { pool_bytes: 1 << 20, peer_bytes: 1 << 16, expected_peers: 1, initial_credit: 4096 };
    let mut ends = [(); 2].map(|()| Endpoint::new(config, WINDOW));
    let peers = [0, 1].map(|at| ends[at].add_peer(PeerOptions::default()));
    assert!(ends.iter_mut().all(|end| end.poll_active().is_none()), "nobody has anything to say");
    let (queue, tag, data, remote_key) = (Queue::Tagged, 1, None, None);
    let request =
        SendRequest { peer: peers[0], queue, tag, data, len: 100, delivery: false, remote_key, user: 0 };
    // Three charges of 1088 bytes are covered by 4096; the fourth message becomes a request.
    for _ in 0..4 {
        ends[0].post_send(request).unwrap();
    }
    let room = std::num::NonZeroU64::new(1 << 16).unwrap();
    let mut frames =
        std::iter::from_fn(|| ends[0].poll_transmit(peers[0], room)).map(|transmit| transmit.frame);
    assert!(matches!(frames.next(), Some(Frame::Credit { total: 65_536 })), "with the first words");
    let early = frames.map(|frame| match frame {
        Frame::Start(start) => start.early,
        other => panic!("{other:?}"),
    });
    assert_eq!(early.collect::<Vec<_>>(), [100, 100, 100, 0]);
    assert!(ends[1].poll_active().is_none());
    ends[1].introduce(peers[1]);
    assert_eq!(ends[1].poll_active(), Some(peers[1]));
    let told = ends[1].poll_transmit(peers[1], room).map(|transmit| transmit.frame);
    assert!(matches!(told, Some(Frame::Credit { total: 65_536 })));
}
