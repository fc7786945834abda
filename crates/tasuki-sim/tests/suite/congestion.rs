//! Slow receivers and many senders, over the real message and packet layers with grants at the measured rate.

use tasuki_sim::transport::{
    ALL_GRANTING, Congestion, PAYLOAD_OF_PACKET, Pacing, Receivers, ShortLane, Traffic,
};

/// At least 95 % of the payload that the receiver can take arrives, and at most 0.1 % of the packets are
/// lost.
fn delivers(case: &Receivers, message: u64, pacing: Pacing) {
    let sent = case.send(message, pacing).expect("it ends");
    let n = sent.len() as f64;
    let bps = sent.iter().map(|sent| message as f64 * 8.0 / sent.seconds).sum::<f64>() / n;
    let lost = sent.iter().map(|sent| sent.lost).sum::<f64>() / n;
    let most = case.most_bps() * PAYLOAD_OF_PACKET;
    assert!(bps >= 0.95 * most, "{}, {message}: {bps:.0} of {most:.0} bit/s", case.name);
    assert!(lost <= 0.001, "{}, {message}: {lost} lost", case.name);
}

/// Figures 5 to 7 of the ATM paper, and receivers of varying speed, which the paper left for later.
#[test]
fn receivers_of_any_kind_get_what_they_can_take() {
    for case in Receivers::all() {
        for message in [500_000, 5_000_000] {
            delivers(&case, message, Pacing::Adaptive);
        }
    }
}

/// The paper's static mode in this transport, with R and B given, in the paper's own three cases.
#[test]
fn senders_that_know_r_and_b_lose_nothing() {
    for case in Receivers::all().iter().filter(|case| case.figure.is_some()) {
        for message in [500_000, 5_000_000] {
            delivers(case, message, Pacing::Paced);
        }
    }
}

/// The paper's own protocol on its own model, as far as the text has figures: of hosts of equal speed, those
/// without pacing lose 24 % and those at the rate of equation (2) nothing.
#[test]
fn the_papers_own_losses_come_out() {
    let [equal, slower, _, _, _] = Receivers::all();
    let lost = |case: &Receivers, pacing| {
        let sent = case.send(5_000_000, pacing).expect("the model ends");
        sent.iter().map(|sent| sent.lost).sum::<f64>() / sent.len() as f64
    };
    assert!((lost(&equal, Pacing::Unpaced) - 0.24).abs() < 0.02);
    assert!(lost(&equal, Pacing::Static) < 0.005 && lost(&slower, Pacing::Static) < 0.005);
}

#[test]
fn sixteen_senders_share_one_receiver() {
    let got = Congestion { messages: 3, ..Congestion::new(Traffic::Incast, ALL_GRANTING[1]) };
    let got = got.measure().expect("it ends");
    assert!(got.goodput >= 0.9 && got.fairness >= 0.95, "{got:?}");
    assert!(got.resent < 0.01 && got.dropped <= 0.001, "{got:?}");
    // Senders take turns: in front of the receiver at most one window and the queue that it aims at are
    // waiting.
    let knobs = tasuki_msg::AdaptiveConfig::DEFAULT;
    let queue_ns = (knobs.window_min + knobs.queue_high) * 8;
    assert!(got.p99_ns <= got.idle_ns + queue_ns, "{got:?}");
    // With a fixed window the first senders fill the port and the others lose packets; the last messages were
    // late by milliseconds.
    let fixed = Congestion { messages: 3, ..Congestion::new(Traffic::Incast, ALL_GRANTING[0]) };
    let fixed = fixed.measure().expect("it ends");
    assert!(got.p99_ns * 10 < fixed.p99_ns, "{got:?} {fixed:?}");
}

/// Every receiver waits for senders that are busy with other receivers.
#[test]
fn sixteen_send_to_each_other() {
    for seed in 1..=6 {
        let got = Congestion { seed, ..Congestion::new(Traffic::AllToAll, ALL_GRANTING[1]) };
        let got = got.measure().expect("it ends");
        assert!(got.fairness >= 0.95 && got.resent < 0.01 && got.dropped <= 0.001, "seed {seed}: {got:?}");
        assert!(got.goodput >= 0.9, "seed {seed}: {got:?}");
    }
}

/// With ports that send tagged frames first, 64 bytes take at most three times as long as on an idle network,
/// in both kinds of traffic. A frame that is being sent is not interrupted, which alone takes twice the idle
/// time.
#[test]
fn short_messages_overtake_traffic_where_switches_know_priorities() {
    for (traffic, messages) in [(Traffic::Incast, 3), (Traffic::AllToAll, 1)] {
        for seed in 1..=3 {
            let plan = Congestion { seed, messages, ..Congestion::new(traffic, ALL_GRANTING[1]) };
            let got = Congestion { short: ShortLane::Tagged, ..plan }.measure().expect("it ends");
            assert!(got.p99_ns <= 3 * got.idle_ns && got.pings > 100, "{traffic:?}, seed {seed}: {got:?}");
            assert!(got.goodput >= 0.9 && got.fairness >= 0.95, "{traffic:?}, seed {seed}: {got:?}");
            assert!(got.resent < 0.01 && got.dropped <= 0.001, "{traffic:?}, seed {seed}: {got:?}");
            // The raw lane without priorities is not enough: its frames wait in the common queue.
            let raw = Congestion { short: ShortLane::Raw, ..plan }.measure().expect("it ends");
            assert!(raw.p99_ns > 10 * got.p99_ns, "{traffic:?}, seed {seed}: {raw:?}");
        }
    }
}
