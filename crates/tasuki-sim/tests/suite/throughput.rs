//! The rates that the transport must reach, in virtual time. Shares are of the greatest payload rate of the
//! lines: at MTU 1500 a line of 100 Mbit/s carries 11.58 MB/s of payload, with UDP and 1425 bytes of payload
//! in each frame of 1538.

use tasuki_sim::transport::{Measured, Stream};

fn measure(stream: Stream) -> Measured {
    let measured = stream.measure().unwrap_or_else(|failure| panic!("{stream:?}: {}", failure.complaint));
    println!("{stream:?}: {measured:?}");
    measured
}

fn at_least(share: f64, stream: Stream) {
    let measured = measure(stream.clone());
    // The last byte cannot be received before the lines have carried all bytes.
    assert!((share..=1.001).contains(&measured.share), "share {} of {stream:?}", measured.share);
}

#[test]
fn four_equal_rails_carry_windows_of_messages() {
    for rates_known in [true, false] {
        at_least(0.85, Stream { len: 8 << 10, messages: 2048, rates_known, ..Stream::default() });
        at_least(0.95, Stream { len: 64 << 10, rates_known, ..Stream::default() });
        let megabytes = Stream { len: 1 << 20, messages: 24, outstanding: 4, ..Stream::default() };
        at_least(0.95, Stream { rates_known, ..megabytes });
    }
    at_least(0.90, Stream { rates_mbps: vec![1000; 4], messages: 1024, ..Stream::default() });
    at_least(0.95, Stream { poll_ns: 500_000, ..Stream::default() });
}

#[test]
fn unequal_rails_carry_their_shares() {
    for rates_known in [true, false] {
        let stream = Stream { rates_mbps: vec![100, 100, 50, 25], rates_known, ..Stream::default() };
        at_least(0.95, stream.clone());
        let rails = measure(stream).rail_bytes;
        // Each rail by itself is as fast as expected, not only their sum.
        let whole: u64 = rails.iter().sum();
        for (rail, rate) in rails.iter().zip([100.0, 100.0, 50.0, 25.0]) {
            let part = *rail as f64 / whole as f64 / (rate / 275.0);
            assert!((0.85..1.15).contains(&part), "{rails:?}");
        }
    }
}

#[test]
fn one_message_is_spread() {
    let one = Stream { outstanding: 1, messages: 32, ..Stream::default() };
    let four = measure(one.clone());
    let single = measure(Stream { rates_mbps: vec![100], ..one });
    let faster = single.latency_ns / four.latency_ns;
    assert!(faster >= 3.0, "one message of 64 KiB is only {faster:.2} x faster over four rails");
    let (least, most) = (four.rail_bytes.iter().min(), four.rail_bytes.iter().max());
    assert!(least.zip(most).is_some_and(|(least, most)| least * 10 > most * 9), "{:?}", four.rail_bytes);
}

#[test]
fn loss_costs_little_more_than_what_is_lost() {
    for seed in 1..4 {
        at_least(0.90, Stream { loss_ppm: 10_000, seed, ..Stream::default() });
        at_least(0.85, Stream { loss_ppm: 10_000, len: 8 << 10, messages: 2048, seed, ..Stream::default() });
    }
    let rates_mbps = vec![100, 100, 50, 25];
    at_least(0.85, Stream { loss_ppm: 10_000, rates_mbps, ..Stream::default() });
}

/// The routed rail runs over the cables of the others: while one of them is up, the routed rail carries no
/// data.
#[test]
fn the_routed_rail_stays_free() {
    let measured = measure(Stream { routed_mbps: Some(100), ..Stream::default() });
    let routed = measured.rail_bytes.last().copied();
    assert!(routed.is_some_and(|bytes| bytes < 2000), "{:?}", measured.rail_bytes);
    assert!(measured.share >= 0.95, "{}", measured.share);
}
