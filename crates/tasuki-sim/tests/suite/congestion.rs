//! Slow receivers and many senders, over the real message and packet layers with grants at the measured rate.

use tasuki_sim::transport::{ALL_GRANTING, Congestion, Crowd, PAYLOAD_OF_PACKET, Receivers, Way};

/// Figures 5 to 7 of the ATM paper, and receivers that are not steady, which the paper left for later: at least 95 % of what the
/// receiver can take (of payload), and at most 0.1 % lost.
#[test]
fn receivers_of_any_kind_get_what_they_can_take() {
    for case in Receivers::all() {
        for message in [500_000, 5_000_000] {
            let sent = case.send(message, Way::Adaptive).expect("it ends");
            let n = sent.len() as f64;
            let bps = sent.iter().map(|sent| message as f64 * 8.0 / sent.seconds).sum::<f64>() / n;
            let lost = sent.iter().map(|sent| sent.lost).sum::<f64>() / n;
            let most = case.most_bps() * PAYLOAD_OF_PACKET;
            assert!(bps >= 0.95 * most, "{}, {message}: {bps:.0} of {most:.0} bit/s", case.name);
            assert!(lost <= 0.001, "{}, {message}: {lost} lost", case.name);
        }
    }
}

/// The paper's own protocol on its own model, as far as the text has figures: equal hosts lose 24 % unpaced and none at the rate of equation (2).
#[test]
fn the_papers_own_losses_come_out() {
    let [equal, slower, _, _, _] = Receivers::all();
    let lost = |case: &Receivers, way| {
        let sent = case.send(5_000_000, way).expect("the model ends");
        sent.iter().map(|sent| sent.lost).sum::<f64>() / sent.len() as f64
    };
    assert!((lost(&equal, Way::Unpaced) - 0.24).abs() < 0.02);
    assert!(lost(&equal, Way::Static) < 0.005 && lost(&slower, Way::Static) < 0.005);
}

#[test]
fn sixteen_senders_share_one_receiver() {
    let got = Congestion { messages: 3, ..Congestion::new(Crowd::Incast, ALL_GRANTING[1]) };
    let got = got.measure().expect("it ends");
    assert!(got.goodput >= 0.9 && got.fairness >= 0.95, "{got:?}");
    assert!(got.resent < 0.01 && got.dropped <= 0.001, "{got:?}");
    // With a fixed window the first senders fill the port and the others lose; what came there last was late by milliseconds.
    let fixed = Congestion { messages: 3, ..Congestion::new(Crowd::Incast, ALL_GRANTING[0]) };
    let fixed = fixed.measure().expect("it ends");
    assert!(got.p99_ns * 2 < fixed.p99_ns, "{got:?} {fixed:?}");
}
