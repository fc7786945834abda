//! Windows against what is known of cables, switches and hosts: a full packet has 1472 bytes, small switches
//! have queues of 64 KiB a port, hosts that are busy delay packets by a millisecond or two.

use super::*;

const PACKET: u64 = 1472;
/// Smallest round trip of the path, ns.
const EMPTY: u64 = 50_000;

struct Path {
    window: Window,
    config: Config,
    now: Time,
    next: u64,
}

impl Path {
    /// A path of this configured rate, Mbit/s (0: unknown), of which one packet has been acknowledged.
    fn new(rate_mbps: u32) -> Path {
        let config = Config::default();
        let window = Window::new(&config, rate_mbps);
        let mut path = Path { window, config, now: Time(1_000_000), next: 1 };
        path.acked(1, EMPTY);
        path
    }

    /// Packets are acknowledged together.
    fn acked(&mut self, packets: u64, rtt: u64) {
        let largest = self.next;
        self.next += packets.max(1);
        let acked = Acked { bytes: packets * PACKET, packets, largest, next: self.next, rtt: Some(rtt) };
        self.window.acked(self.now, &self.config, acked, EMPTY);
    }

    /// A round that a full window of at least so many packets fills: so much time passes, so many packets of
    /// it are lost, and the others have waited for `queue` ns in the network.
    fn round(&mut self, time: u64, lost: u64, queue: u64) {
        let packets = (self.window.size / PACKET + 1).max(64);
        self.now = self.now.after_ns(time);
        self.window.limited();
        self.window.lost(lost);
        self.acked(packets - lost, EMPTY + queue);
    }

    /// Rounds that take as long as their bytes on the cable, until the window has this size.
    fn grow_to(&mut self, size: u64) {
        while self.window.size < size {
            self.round(time_of(self.window.size, self.window.rate), 0, 0);
        }
    }

    /// The window has seen a queue, so that it no longer doubles.
    fn started(rate_mbps: u32, size: u64) -> Path {
        let mut path = Path::new(rate_mbps);
        path.grow_to(size);
        path.round(1_000_000, 0, time_of(20_000, path.window.rate));
        path
    }

    fn size(&self) -> u64 {
        self.window.size
    }
}

/// All samples of a path are late for long, as behind a host that is busy, or behind a full queue.
fn delayed(rate_mbps: u32) -> Path {
    let mut path = Path::new(rate_mbps);
    (0..100).for_each(|_| path.round(3_000_000, 0, 10_000_000));
    path
}

#[test]
fn a_busy_host_does_not_let_a_cable_run_dry() {
    // One millisecond of a gigabit per second; on slow cables, and at an unknown rate, twenty packets.
    assert!(delayed(1000).size() >= 125_000, "{}", delayed(1000).size());
    assert!(delayed(25).size() >= 20 * PACKET, "{}", delayed(25).size());
    assert!(delayed(0).size() >= 20 * PACKET, "{}", delayed(0).size());
}

#[test]
fn a_long_delay_brings_the_window_to_what_a_small_switch_holds() {
    assert!(delayed(25_000).size() <= 1 << 20, "{}", delayed(25_000).size());
}

#[test]
fn what_loss_has_taken_does_not_come_back_in_a_few_rounds_with_a_queue() {
    let mut path = Path::new(1000);
    let before = path.size();
    path.round(1_000_000, 60, 0);
    path.round(1_000_000, 60, 0);
    (0..4).for_each(|_| path.round(3_000_000, 0, 10_000_000));
    assert!(path.size() < before / 2, "{} of {before}", path.size());
}

#[test]
fn one_late_answer_of_a_pingpong_says_nothing() {
    let mut path = Path::started(1000, 400_000);
    let before = path.size();
    for answer in 0..200 {
        path.now = path.now.after_ns(100_000);
        path.acked(1, if answer % 10 == 0 { EMPTY } else { 5_000_000 });
    }
    assert_eq!(path.size(), before);
}

#[test]
fn a_host_that_was_away_for_a_moment_makes_no_slow_path() {
    let mut path = Path::new(0);
    for _ in 0..30 {
        path.round(time_of(path.size(), 125_000_000), 0, 250_000);
    }
    let before = path.window.rate;
    (0..2).for_each(|_| path.round(10 * time_of(path.size(), before), 0, 250_000));
    assert!(path.window.rate * 5 > before * 4, "{} of {before}", path.window.rate);
}

#[test]
fn a_window_grows_by_a_step_that_no_queue_overflows_from_and_doubles_in_six_rounds() {
    let mut path = Path::started(1000, 200_000);
    let before = path.size();
    path.round(1_000_000, 0, 0);
    assert!(path.size() > before && path.size() - before < 64 << 10, "{before} to {}", path.size());
    (0..5).for_each(|_| path.round(1_000_000, 0, 0));
    assert!(path.size() >= 2 * before, "{before} to {}", path.size());
}

/// Bytes wait in the network, though not too many: between the bounds of the queue.
fn with_some_queue(path: &Path) -> u64 {
    time_of(20_000, path.window.rate)
}

#[test]
fn a_faulty_cable_that_loses_one_packet_in_a_hundred_is_used_in_full() {
    let mut path = Path::started(1000, 600_000);
    let before = path.size();
    for _ in 0..20 {
        let (packets, queue) = (path.size() / PACKET, with_some_queue(&path));
        path.round(5_000_000, packets / 100, queue);
    }
    assert!(path.size() >= before, "{before} to {}", path.size());
}

#[test]
fn single_losses_say_nothing_about_a_queue() {
    let mut path = Path::started(100, 60_000);
    for _ in 0..20 {
        let (before, queue) = (path.size(), with_some_queue(&path));
        path.round(5_000_000, 2, queue);
        assert!(path.size() >= before, "{before} to {}", path.size());
    }
}

#[test]
fn a_short_burst_of_loss_costs_nothing_and_loss_that_stays_does() {
    let mut path = Path::started(1000, 400_000);
    let before = path.size();
    let lost = before / PACKET / 10;
    (0..2).for_each(|_| path.round(3_000_000, lost, 0));
    assert!(path.size() >= before, "{before} to {}", path.size());
    (0..2).for_each(|_| path.round(3_000_000, lost, 0));
    assert!(path.size() < before * 3 / 2, "{before} to {}", path.size());
}

#[test]
fn an_overflow_counts_at_once() {
    let mut path = Path::started(1000, 400_000);
    let before = path.size();
    path.round(3_000_000, before / PACKET * 4 / 10, 0);
    assert!(path.size() < before, "{before} to {}", path.size());
}

#[test]
fn a_slow_cable_is_kept_busy_and_its_switch_is_not_filled() {
    // Four packets in the queue: the cable would run dry between two acknowledgements.
    let mut path = Path::started(100, 100_000);
    let before = path.size();
    path.round(5_000_000, 0, time_of(4 * 1500, 12_500_000));
    assert!(path.size() > before, "{before} to {}", path.size());
    // The queue of a small switch is full.
    let before = path.size();
    path.round(5_000_000, 0, time_of(64 << 10, 12_500_000));
    assert!(path.size() < before, "{before} to {}", path.size());
}

#[test]
fn the_smallest_window_has_room_for_packets_that_show_a_loss() {
    let mut path = Path::new(100);
    for _ in 0..100 {
        path.round(5_000_000, 40, 0);
    }
    // RFC 9002 takes a packet for lost when three later ones have arrived.
    assert!(path.size() >= 4 * PACKET, "{}", path.size());
}
