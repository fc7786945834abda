//! The cost of matching, in entries looked at (not in time): 100,000 messages in the worst order.

use std::num::NonZeroU64;

use tasuki_msg::{
    Action, Config, Endpoint, Event, Matching, PeerId, PeerOptions, Queue, RecvRequest, SendRequest, Source,
    Window,
};

const MESSAGES: u64 = 100_000;
/// Most entries per message that count as cheap. A plain search would look at 50,000.
const STEPS_EACH: u64 = 12;

struct Pair {
    a: Endpoint<Window>,
    b: Endpoint<Window>,
    to_b: PeerId,
    from_a: PeerId,
    received: u64,
}

impl Pair {
    fn new() -> Pair {
        let config =
            Config { pool_bytes: 1 << 20, peer_bytes: 1 << 20, expected_peers: 1, initial_credit: 0 };
        let mut a = Endpoint::new(config, Window::default());
        let mut b = Endpoint::new(config, Window::default());
        let (to_b, from_a) = (a.add_peer(PeerOptions::default()), b.add_peer(PeerOptions::default()));
        Pair { a, b, to_b, from_a, received: 0 }
    }

    fn send(&mut self, tag: u64) {
        let (queue, data, remote_key) = (Queue::Tagged, None, None);
        let (len, delivery, user) = (32, false, 0);
        let request = SendRequest { peer: self.to_b, queue, tag, data, len, delivery, remote_key, user };
        self.a.post_send(request).unwrap();
    }

    fn recv(&mut self, source: Source, tag: u64, ignore: u64) {
        let matching = Matching { queue: Queue::Tagged, source, tag, ignore };
        self.b.post_recv(RecvRequest { matching, capacity: 64, multi: None, user: 0 }).unwrap();
    }

    fn carry(&mut self) {
        let room = NonZeroU64::new(4096).unwrap();
        loop {
            let mut moved = false;
            while let Some(transmit) = self.a.poll_transmit(self.to_b, room) {
                moved = true;
                let _placement = self.b.handle_frame(self.from_a, &transmit.frame).unwrap();
                if let Some(payload) = transmit.payload {
                    self.a.handle_released(payload.send);
                }
            }
            while let Some(transmit) = self.b.poll_transmit(self.from_a, room) {
                moved = true;
                let _placement = self.a.handle_frame(self.to_b, &transmit.frame).unwrap();
            }
            while self.a.poll_action().is_some() {}
            while let Some(action) = self.b.poll_action() {
                self.received += u64::from(matches!(action, Action::Event(Event::RecvDone(_))));
            }
            if !moved {
                return;
            }
        }
    }

    fn finish(&self, what: &str) {
        assert_eq!(self.received, MESSAGES, "{what}");
        let steps = self.b.status().match_steps;
        println!("{what}: {:.1} steps per message", steps as f64 / MESSAGES as f64);
        assert!(steps < STEPS_EACH * MESSAGES, "{what}: {steps} steps for {MESSAGES} messages");
    }
}

/// Bits that an MPI ignores in every receive: protocol bits at the top of the tag.
const PROTOCOL: u64 = 3 << 62;
/// Bits that it ignores for MPI_ANY_TAG: the user's tag, too.
const ANY_TAG: u64 = PROTOCOL | 0x7fff_ffff;

fn exact(pair: &Pair) -> [(Source, u64); 3] {
    [(Source::Any, 0), (Source::Peer(pair.from_a), 0), (Source::Peer(pair.from_a), PROTOCOL)]
}

#[test]
fn unexpected_messages_received_in_reverse_order() {
    for kind in 0..3 {
        let mut pair = Pair::new();
        let (source, ignore) = exact(&pair)[kind];
        (0..MESSAGES).for_each(|tag| pair.send(tag));
        pair.carry();
        assert_eq!(pair.b.status().unexpected as u64, MESSAGES);
        (0..MESSAGES).rev().for_each(|tag| pair.recv(source, tag, ignore));
        pair.carry();
        pair.finish("unexpected, reverse");
    }
}

#[test]
fn posted_receives_met_in_reverse_order() {
    for kind in 0..3 {
        let mut pair = Pair::new();
        let (source, ignore) = exact(&pair)[kind];
        (0..MESSAGES).for_each(|tag| pair.recv(source, tag, ignore));
        (0..MESSAGES).rev().for_each(|tag| pair.send(tag));
        pair.carry();
        pair.finish("posted, reverse");
    }
}

/// Receives with and without wildcards are mixed, while messages of another communicator wait that no receive
/// accepts.
#[test]
fn wildcards_among_others() {
    let mut pair = Pair::new();
    let other = 1 << 48;
    (0..MESSAGES / 2).for_each(|tag| pair.send(other | tag));
    pair.carry();
    for tag in 0..MESSAGES / 2 {
        let source = Source::Peer(pair.from_a);
        match tag % 3 {
            0 => pair.recv(Source::Any, 0, ANY_TAG),
            1 => pair.recv(source, tag, PROTOCOL),
            _ => pair.recv(source, 0, ANY_TAG),
        }
    }
    (0..MESSAGES / 2).for_each(|tag| pair.send(tag));
    pair.carry();
    (0..MESSAGES / 2).rev().for_each(|tag| pair.recv(Source::Any, other | tag, PROTOCOL));
    pair.carry();
    // A wildcard may have taken the message that a later receive names, so some messages are left.
    (0..MESSAGES).for_each(|_| {
        if pair.b.status().unexpected > 0 {
            pair.recv(Source::Any, 0, u64::MAX)
        }
    });
    pair.carry();
    assert!(pair.received > MESSAGES * 9 / 10, "{}", pair.received);
    let steps = pair.b.status().match_steps;
    assert!(steps < STEPS_EACH * MESSAGES, "{steps}");
}

/// A loop of MPI_Iprobe costs a few steps per call, although a queue is full of messages of another
/// communicator.
#[test]
fn probing_beside_a_full_queue() {
    let mut pair = Pair::new();
    (0..MESSAGES).for_each(|tag| pair.send(1 << 48 | tag));
    pair.carry();
    let nothing = Matching { queue: Queue::Tagged, source: Source::Any, tag: 5, ignore: ANY_TAG };
    assert_eq!(pair.b.peek(&nothing), None);
    let learnt = pair.b.status().match_steps;
    (0..1000).for_each(|_| assert_eq!(pair.b.peek(&nothing), None));
    assert!(pair.b.status().match_steps - learnt <= 3000);
}
