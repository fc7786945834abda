//! The paper's own figures, and the model against receivers that it describes.

use tasuki_rate::{
    Receiver, Slow, Tank,
    paper::{HOSTS, LINK_BPS, TABLE1_BYTES},
};

/// Table 1 comes out, all 20 cells, rounded as the paper says ("digits below Mbps are rounded half up").
#[test]
fn table_1_comes_from_r_and_b() {
    // The table as it is printed in the paper. The crate has a copy of its own, which is checked, too.
    let printed = [
        ("SS5", 52.0, 64 * 1024, [60, 56, 54, 54, 53, 53, 53, 53, 53, 53]),
        ("SS20", 101.0, 128 * 1024, [137, 116, 111, 108, 107, 106, 105, 104, 104, 104]),
    ];
    for (host, (name, drain_mbps, buffer_bytes, rates)) in HOSTS.iter().zip(printed) {
        assert_eq!((host.name, host.table1_mbps), (name, rates));
        let receiver = Receiver { drain_bps: drain_mbps * 1e6, buffer_bytes };
        assert_eq!(host.receiver, receiver);
        for (half, rate) in (1..=10).zip(rates) {
            let rounded = receiver.send_rate(half * 500_000).map(|bps| (bps / 1e6).round() as u32);
            assert_eq!(rounded, Some(rate), "{name}, {half} x 500,000 bytes");
            assert_eq!(TABLE1_BYTES[half as usize - 1], half * 500_000);
        }
    }
    // "If the model gives more than the ATM rate, the ATM's highest rate is used."
    assert_eq!(HOSTS[1].sending().rate_bps(500_000), LINK_BPS);
    assert!(HOSTS[1].sending().rate_bps(1_000_000) < LINK_BPS);
}

/// Sends a message in packets of `packet` bytes at `send_bps`, each complete at its last bit; returns what
/// was dropped.
fn send(receiver: Receiver, message: u64, packet: u64, send_bps: f64) -> u64 {
    let drain = receiver.drain_bps as u64;
    let mut tank = Tank::new(receiver.buffer_bytes, Slow::Steady { bps: drain }, 10 * drain);
    let mut sent = 0;
    while sent < message {
        let bytes = packet.min(message - sent);
        sent += bytes;
        let at = sent as f64 * 8e9 / send_bps;
        tank.arrive(at as u64, bytes);
    }
    assert_eq!(tank.taken() + tank.dropped(), message);
    assert!(tank.most_held() <= receiver.buffer_bytes);
    tank.dropped()
}

/// Equation (1) is about a fluid. Packets differ from it by less than three packets: one that does not fit
/// although a part of it would, one that counts only with its last bit, and what drains while these two come.
/// With smaller packets the difference vanishes.
#[test]
fn equation_1_is_what_overflows() {
    let mut random = 1u64;
    let mut draw = |least: u64, most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        least + (random >> 33) % (most - least)
    };
    let mut overflowed = 0;
    for case in 0..300 {
        let packet = [48, 1000, 1472, 8000, 65_535][case % 5];
        let buffer_bytes = draw(3 * packet, 3 * packet + 1_000_000);
        let drain_bps = draw(1_000_000, 2_000_000_000) as f64;
        let (message, send_bps) = (draw(buffer_bytes, 12_000_000), drain_bps * draw(50, 2000) as f64 / 100.0);
        let receiver = Receiver { drain_bps, buffer_bytes };
        let (expected, got) =
            (receiver.overflow_bytes(message, send_bps), send(receiver, message, packet, send_bps));
        let difference = (got as f64 - expected).abs();
        assert!(
            difference <= 3.0 * packet as f64,
            "case {case}: {receiver:?} {message} {packet} {send_bps}: {got} for {expected}"
        );
        overflowed += u64::from(expected > 0.0);
    }
    assert!(overflowed > 100, "{overflowed} of the cases say something");
    // In the limit of small packets the equation is exact: to a thousandth of a per cent with packets of 8
    // bytes.
    for host in HOSTS {
        let expected = host.receiver.overflow_bytes(2_000_000, LINK_BPS);
        let got = send(host.receiver, 2_000_000, 8, LINK_BPS);
        assert!((got as f64 / expected - 1.0).abs() < 1e-4, "{}: {got} for {expected}", host.name);
    }
}

/// At the rate of equation (2) a message fills the buffer and loses nothing; sent a little faster it loses
/// something.
#[test]
fn the_rate_of_equation_2_fills_the_buffer_and_loses_nothing() {
    for host in HOSTS {
        for message in TABLE1_BYTES {
            // Payload of an ATM cell.
            let packet = 48;
            let rate = host.receiver.send_rate(message).unwrap();
            assert_eq!(send(host.receiver, message, packet, rate * 0.9999), 0, "{} {message}", host.name);
            let lost = send(host.receiver, message, packet, rate * 1.01);
            assert!(lost > 0, "{} {message}", host.name);
        }
    }
}
