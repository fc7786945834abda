//! NICs that lose their carriers while messages are on their way, in network namespaces. Needs root.
//!
//! Truth from outside: the bytes that were sent, and which NIC the test has set down. Both ends are driven by
//! one thread, so that it is known what each has had the opportunity to do.

#[path = "../common/cables.rs"]
mod cables;
#[path = "../common/plain.rs"]
mod plain;

use std::time::{Duration, Instant};

use cables::Cables;
use tasuki_engine::{Completion, Endpoint, Lanes, Peer};

/// A test that has waited for something for longer than this has failed.
const TIMEOUT: Duration = Duration::from_secs(60);

const MESSAGE: usize = 1 << 20;
/// Bits per second of a cable: a message takes both for milliseconds.
const RATE: u64 = 400_000_000;

struct Pair {
    ends: [Endpoint; 2],
    peers: [Peer; 2],
}

impl Pair {
    fn new(cables: &Cables, lanes: Lanes) -> Pair {
        let ends = cables.endpoints(lanes);
        let peers = [ends[0].add_peer(&ends[1].address()), ends[1].add_peer(&ends[0].address())];
        Pair { ends, peers }
    }

    /// One message from the first end to the second; `disturb` is called with the number of each turn until
    /// it has come.
    fn message(&self, salt: usize, mut disturb: impl FnMut(usize)) {
        let mut from: Vec<u8> = (0..MESSAGE).map(|at| ((at * 7) ^ (at >> 8) ^ salt) as u8).collect();
        let mut into = vec![0; MESSAGE];
        // SAFETY: the buffers outlive the operations, which are over before this function is; a panic ends
        // the test with the endpoints alive.
        unsafe { plain::recv(&self.ends[1], self.peers[1], &mut into) };
        // SAFETY: as above.
        unsafe { plain::send(&self.ends[0], self.peers[0], &mut from) };
        let (start, mut turns) = (Instant::now(), 0);
        let (mut sent, mut received) = (false, false);
        while !(sent && received) {
            disturb(turns);
            self.ends[0].turn(8, |one| sent |= matches!(one, Completion::Send { .. }));
            self.ends[1].turn(8, |one| received |= matches!(one, Completion::Recv { .. }));
            turns += 1;
            if start.elapsed() > TIMEOUT {
                eprintln!("{}\n{}", self.ends[0].describe(), self.ends[1].describe());
                std::process::abort();
            }
        }
        assert!(from == into, "message {salt} is not what was sent");
    }

    /// Messages until both ends are as wanted.
    fn until(&self, what: &str, wanted: impl Fn(&Endpoint) -> bool) {
        let start = Instant::now();
        while !self.ends.iter().all(&wanted) {
            self.message(1, |_| {});
            let late = start.elapsed() > TIMEOUT;
            assert!(!late, "never {what}: {}\n{}", self.ends[0].describe(), self.ends[1].describe());
        }
    }
}

/// What an endpoint says of the UDP lane of a rail; nothing before it has a connection.
fn rail(end: &Endpoint, number: u8) -> String {
    let (text, name) = (end.describe(), format!("rail {number} Udp "));
    text.lines().find_map(|text| text.trim().strip_prefix(&name)).unwrap_or_default().to_owned()
}

fn is_up(end: &Endpoint, number: u8) -> bool {
    rail(end, number).starts_with("Up:")
}

/// Packets that have gone over a rail.
fn packets(end: &Endpoint, number: u8) -> u64 {
    let text = rail(end, number);
    let number = text.split(" next=").nth(1).and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no packets: {text}"))
}

/// Looks at most in which an endpoint hears what the kernel has told: one in four is at sockets, no two of
/// those within 4 us, and while datagrams come one in eight of those at what else there is.
const POLLS_MAX: usize = 20_000;

/// The cable is pulled out in the middle of a message: the rail is left without waiting for silence, and
/// taken again when the cable is back.
#[test]
fn a_cut_cable_is_left_at_once_and_taken_again() {
    for lanes in [Lanes::Udp, Lanes::RawUdp] {
        let Some(cables) = Cables::new(2) else { return };
        cables.limit(RATE);
        let pair = Pair::new(&cables, lanes);
        for round in 0..2 {
            let host = round;
            pair.until("both rails up", |end| is_up(end, 0) && is_up(end, 1));
            let (start, mut cut) = (Instant::now(), false);
            while !cut {
                pair.message(round, |_| {
                    let under_way =
                        is_up(&pair.ends[0], 1) && !rail(&pair.ends[0], 1).contains("in_flight=0/");
                    if under_way && !cut {
                        cables.set_up(host, 1, false);
                        cut = true;
                    }
                });
                assert!(start.elapsed() < TIMEOUT, "nothing was on its way: {}", pair.ends[0].describe());
            }
            // The end whose NIC was taken down hears it at once; the kernel may take a second to tell the
            // other end of the carrier.
            let has_left = |end: &Endpoint| rail(end, 1).starts_with("Down (no carrier): in_flight=0/");
            let heard = (0..POLLS_MAX).any(|_| {
                pair.ends[host].progress();
                has_left(&pair.ends[host])
            });
            assert!(heard, "{}", rail(&pair.ends[host], 1));
            pair.until("without carrier at both ends", |end| rail(end, 1).starts_with("Down (no carrier)"));
            // A message has more than 700 packets; there are probes alone on this rail.
            let before = packets(&pair.ends[0], 1);
            (0..10).for_each(|salt| pair.message(salt, |_| {}));
            assert!(packets(&pair.ends[0], 1) < before + 200, "{}", pair.ends[0].describe());
            cables.set_up(host, 1, true);
            pair.until("both rails up again", |end| is_up(end, 0) && is_up(end, 1));
            let before = packets(&pair.ends[0], 1);
            pair.until("both rails in use again", |_| packets(&pair.ends[0], 1) > before + 500);
        }
    }
}

/// Turns for which the only cable is away, times the number of the round.
const AWAY: usize = 400;

/// After this time the cable is back whatever the number of turns: on a crowded machine one turn may take
/// some hundredths of a second.
const AWAY_MAX: Duration = Duration::from_secs(1);

/// The only cable comes and goes, and what is said of it may be late: everything arrives.
#[test]
fn the_only_cable_comes_and_goes() {
    let Some(cables) = Cables::new(1) else { return };
    let pair = Pair::new(&cables, Lanes::RawUdp);
    for round in 0..6 {
        let mut away = None;
        pair.message(round, |turn| {
            if turn == 10 {
                cables.set_up(round % 2, 0, false);
                away = Some(Instant::now());
            }
            let over = |since: Instant| turn >= 10 + AWAY * (1 + round) || since.elapsed() > AWAY_MAX;
            if away.is_some_and(over) {
                cables.set_up(round % 2, 0, true);
                away = None;
            }
        });
        cables.set_up(round % 2, 0, true);
    }
}

/// Raw lanes are opened aside: a message that is sent before they are there goes without them, and they are
/// used afterwards. Where nobody sends they are closed as they come.
#[test]
fn lanes_that_come_after_the_greeting_are_used() {
    let Some(cables) = Cables::new(2) else { return };
    let raw_is_up = |end: &Endpoint| {
        [0, 1].map(|rail| format!("rail {rail} Raw Up:")).iter().all(|up| end.describe().contains(up))
    };
    for round in 0..4 {
        let pair = Pair::new(&cables, Lanes::RawUdp);
        pair.message(round, |_| {});
        pair.until("both raw lanes up", raw_is_up);
        drop(cables.endpoints(Lanes::RawUdp));
    }
}

/// A NIC that has had no carrier from the beginning is not waited for, and used when it has one.
#[test]
fn no_carrier_from_the_beginning() {
    let Some(cables) = Cables::new(2) else { return };
    cables.set_up(0, 1, false);
    let pair = Pair::new(&cables, Lanes::Udp);
    pair.message(0, |_| {});
    assert!(!is_up(&pair.ends[0], 1));
    cables.set_up(0, 1, true);
    pair.until("both rails up", |end| is_up(end, 0) && is_up(end, 1));
}
