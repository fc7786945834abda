//! The adaptive controller against a receiver that drains at a fixed rate.

use super::*;

/// Simulates one receiver: granted bytes arrive at `rate` bytes per second, and `delay_ns` after their
/// grant at the earliest. Returns the bytes per second that arrived in the second half of `time_ns`, the
/// largest number of bytes in flight, and the controller.
fn play(rate: u64, delay_ns: u64, senders: u64, time_ns: u64) -> (u64, u64, Adaptive) {
    let mut controller = Adaptive::new(AdaptiveConfig::default());
    let peer = PeerId(0);
    let (mut now, mut free_at, mut in_flight, mut most, mut late) = (0u64, 0u64, 0u64, 0u64, 0u64);
    let mut of = vec![0u64; senders as usize];
    let mut coming = std::collections::VecDeque::new();
    while now < time_ns {
        controller.set_now(now);
        let mut refused = 0;
        for at in (0..senders as usize).cycle() {
            let demand =
                Demand { peer, wanted: 1 << 40, peer_in_flight: of[at], in_flight, senders: senders as u32 };
            let granted = controller.grant(&demand);
            refused = if granted == 0 { refused + 1 } else { 0 };
            if granted > 0 {
                of[at] += granted;
                in_flight += granted;
                for piece in (0..granted).step_by(1425) {
                    let bytes = (granted - piece).min(1425);
                    free_at = free_at.max(now + delay_ns) + share(bytes, 1_000_000_000, rate);
                    coming.push_back((free_at, at, bytes));
                }
            }
            if refused == senders {
                break;
            }
        }
        most = most.max(if now > time_ns / 2 { in_flight } else { 0 });
        let Some((at, sender, bytes)) = coming.pop_front() else { panic!("nothing comes any more") };
        now = at;
        controller.set_now(now);
        of[sender] -= bytes;
        in_flight -= bytes;
        late += if now > time_ns / 2 { bytes } else { 0 };
        controller.arrived(peer, bytes);
    }
    (share(late, 1_000_000_000, time_ns / 2), most, controller)
}

#[test]
fn any_rate_is_found_and_used_with_short_queues() {
    for (rate, delay_ns) in [
        (1_000_000, 100_000),
        (6_500_000, 50_000),
        (125_000_000, 50_000),
        (125_000_000, 1_000_000),
        (500_000_000, 100_000),
    ] {
        for senders in [1, 2, 16] {
            let (got, most, controller) = play(rate, delay_ns, senders, 4_000_000_000);
            assert!(got >= rate / 100 * 95, "{rate} B/s, {delay_ns} ns, {senders}: {got} B/s");
            // Besides what the network needs, twice the queue at which the controller aims, or a smallest
            // grant for each sender.
            let aim = (64u64 << 10).max(share(rate, 400_000, 1_000_000_000)).max(senders * (8 << 10));
            let bound = 2 * share(rate, delay_ns, 1_000_000_000) + 3 * aim;
            assert!(most <= bound, "{rate} B/s, {delay_ns} ns, {senders}: {most} bytes ahead, {bound}");
            let measured = controller.measured().rate;
            assert!((rate / 10 * 8..=rate / 10 * 12).contains(&measured), "{rate}: measured {measured}");
        }
    }
}

/// However much other senders have in flight and never send, a sender with nothing in flight waits some
/// milliseconds at most, and once.
#[test]
fn a_sender_with_nothing_under_way_gets_its_turn() {
    let mut controller = Adaptive::new(AdaptiveConfig::default());
    let demand =
        |in_flight| Demand { peer: PeerId(0), wanted: 1 << 30, peer_in_flight: 0, in_flight, senders: 1000 };
    let stuck = 1 << 40;
    assert_eq!(controller.grant(&demand(stuck)), 0);
    let due = controller.due().expect("a time at which it is asked again");
    assert!(due <= grants::TURN_WAIT_MAX && !controller.time_passed(due - 1));
    assert!(controller.time_passed(due));
    let (mut bytes, mut waits) = (0, 0);
    for at in 1..1000 {
        controller.set_now(due + at * 100_000);
        let mut granted = controller.grant(&demand(stuck));
        if granted == 0 {
            let due = controller.due().expect("a time at which it is asked again");
            assert!(due <= controller.now + grants::TURN_WAIT_MAX && controller.time_passed(due));
            granted = controller.grant(&demand(stuck));
            waits += 1;
        }
        assert!(granted > 0);
        bytes += granted;
        controller.arrived(PeerId(0), granted);
    }
    // Much more than a window passes between two waits.
    assert!(waits * 4 * AdaptiveConfig::DEFAULT.window_min <= bytes, "{waits} waits for {bytes} bytes");
}

/// A process that is stopped keeps a sender from its turn for less than a twentieth of a second, also on a
/// route where a grant takes a second.
#[test]
fn a_turn_is_not_long_in_coming_on_a_slow_route() {
    let mut controller = Adaptive::new(AdaptiveConfig::default());
    let demand = |peer, in_flight| Demand {
        peer: PeerId(peer),
        wanted: 1 << 30,
        peer_in_flight: 0,
        in_flight,
        senders: 2,
    };
    for second in 1..20 {
        let granted = controller.grant(&demand(0, 0));
        assert!(granted > 0);
        controller.set_now(second * 1_000_000_000);
        controller.arrived(PeerId(0), granted);
    }
    assert_eq!(controller.measured().shortest_ns, 1_000_000_000);
    assert_eq!(controller.grant(&demand(1, 1 << 40)), 0, "the other sender has the window");
    let due = controller.due().expect("a time at which it is asked again");
    assert!(due <= controller.now + 50_000_000, "{} ns", due - controller.now);
}

#[test]
fn bytes_that_never_come_stop_nothing() {
    let mut controller = Adaptive::new(AdaptiveConfig::default());
    let demand = |in_flight| Demand {
        peer: PeerId(0),
        wanted: 1 << 30,
        peer_in_flight: in_flight,
        in_flight,
        senders: 1,
    };
    let granted = controller.grant(&demand(0));
    assert!(granted > 0);
    // The sender dies.
    controller.forgotten(granted);
    let again = controller.grant(&demand(0));
    controller.set_now(1_000_000);
    controller.arrived(PeerId(0), again);
    assert!(controller.measured().rate > 0, "{:?}", controller.measured());
}

/// At a high rate, a queue that is still short in time may be longer than the window. The window then
/// shrinks by a part of itself, and never grows.
#[test]
fn a_queue_never_makes_the_window_larger() {
    for senders in [1, 2, 16] {
        for rate in [1_000_000, 125_000_000, 3_000_000_000, 40_000_000_000] {
            for queue in (0..28).map(|bit| 1u64 << bit) {
                let mut controller = Adaptive::new(AdaptiveConfig::default());
                (controller.senders, controller.measured.rate) = (senders, rate);
                controller.window = controller.knobs.window_min;
                controller.adjust(queue);
                let least = controller.knobs.window_min / 2;
                assert!((least..=controller.knobs.window_min).contains(&controller.window), "{rate} {queue}");
            }
        }
    }
}

/// Grants of a sender that is stopped, which keep nobody waiting any more, still do not after two windows of
/// others' bytes have come.
#[test]
fn a_stopped_sender_is_not_waited_for_again_soon() {
    let knobs = AdaptiveConfig { window_max: AdaptiveConfig::DEFAULT.window_min, ..AdaptiveConfig::DEFAULT };
    let mut controller = Adaptive::new(knobs);
    let demand = Demand {
        peer: PeerId(0),
        wanted: 1 << 30,
        peer_in_flight: 0,
        in_flight: controller.measured().window,
        senders: 2,
    };
    assert_eq!(controller.grant(&demand), 0);
    let due = controller.due().expect("a time at which it is asked again");
    assert!(controller.time_passed(due));
    let mut bytes = 0;
    for at in 1..1000 {
        let granted = controller.grant(&demand);
        if granted == 0 {
            break;
        }
        bytes += granted;
        controller.set_now(due + at * 100_000);
        controller.arrived(PeerId(1), granted);
    }
    assert!(bytes >= 2 * controller.measured().window, "{bytes} of {:?}", controller.measured());
}
