//! Effective bisection and evenly split paths against arithmetic.

use tasuki_topo::bounds::{MAX_PHASES, Traffic, all_to_all_split, concurrent, effective_bisection};
use tasuki_topo::shapes::{self, ClosHosts, DEFAULT_BPS, Fit, PairRing};

type Check = Result<(), Box<dyn std::error::Error>>;

const ONE: f64 = DEFAULT_BPS as f64;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b
}

/// On one switch half of the hosts send at full rate, however they are paired.
#[test]
fn a_switch_gives_every_half_everything() -> Check {
    let star = shapes::from_edges("star", 1, &[], &Fit::switches(8))?;
    let found = effective_bisection(&star, 20, 3, 1)?;
    assert!(near(found.lowest_bps, 4.0 * ONE) && near(found.highest_bps, 4.0 * ONE), "{found:?}");
    assert_eq!((found.choices, found.halves), (5, 20));
    Ok(())
}

/// Two switches with two hosts each, one cable between them: of the three ways to pair four hosts one stays
/// at the switches (2 Gbit/s in one direction) and two send both pairs over the cable (1 Gbit/s): 4/3 on
/// average, and there is but one path.
#[test]
fn one_cable_between_two_switches() -> Check {
    let net = shapes::from_edges("two", 2, &[(0, 1)], &Fit::switches(2))?;
    let halves = 3000;
    let found = effective_bisection(&net, halves, 2, 7)?;
    assert!(near(found.lowest_bps, found.highest_bps), "{found:?}");
    // Standard deviation of one draw: sqrt(2)/3 Gbit/s.
    let tolerance = 5.0 * 2.0f64.sqrt() / 3.0 / (halves as f64).sqrt();
    assert!((found.lowest_bps / ONE - 4.0 / 3.0).abs() < tolerance, "{found:?}");
    Ok(())
}

/// A Clos network could carry every pairing at full rate (it has full bisection), but destination-indexed
/// tables do not know the pairing: less than full, and the choice of paths matters. Low port first leaves
/// three of four upper switches idle: each lower switch has one cable for all its traffic to others.
#[test]
fn multistage_networks_are_no_crossbars() -> Check {
    let clos = shapes::myrinet_clos(4, ClosHosts::Lower, &Fit::switches(4))?;
    let found = effective_bisection(&clos, 200, 4, 3)?;
    let full = 8.0 * ONE;
    assert!(found.highest_bps < full * 0.99 && found.highest_bps > full * 0.5, "{found:?}");
    // With one cable per lower switch and direction: 4 Gbit/s between switches; 3 of 15 partners are at one's
    // own.
    assert!(found.lowest_bps < found.highest_bps * 0.9 && found.lowest_bps < full * 0.65, "{found:?}");
    assert_eq!(found, effective_bisection(&clos, 200, 4, 3)?, "the same seed gives the same figures");
    let apart = shapes::from_edges("apart", 2, &[], &Fit::switches(2))?;
    assert!(effective_bisection(&apart, 2, 1, 1).is_err());
    Ok(())
}

/// Where every channel is alike, even splitting is as good as any routing: channels / sum of distances. Ring
/// of 8: 16 / (8 * 16). Torus 4x4 of relays: 64 / (16 * 32). One switch with 8 hosts: 1/7. Three in a line: 2
/// flows per channel.
#[test]
fn evenly_split_paths() -> Check {
    let relays = Fit::relays();
    let ring = shapes::ring(8, &relays)?;
    let torus = shapes::torus(&[4, 4], PairRing::OneCable, &relays)?;
    let star = shapes::from_edges("star", 1, &[], &Fit::switches(8))?;
    let line = shapes::mesh(&[3], &relays)?;
    for (net, expected) in [(&ring, 0.125), (&torus, 0.125), (&star, 1.0 / 7.0), (&line, 0.5)] {
        let found = all_to_all_split(net).ok_or("unconnected")?;
        assert!(near(found, expected * ONE), "{}: {found}", net.name());
        let best = concurrent(net, &Traffic::all_to_all(net), 0.02, MAX_PHASES);
        assert!(found <= best.upper_bps * (1.0 + 1e-9), "{}: no routing exceeds the bound", net.name());
    }
    assert_eq!(all_to_all_split(&shapes::from_edges("apart", 2, &[], &relays)?), None);
    Ok(())
}
