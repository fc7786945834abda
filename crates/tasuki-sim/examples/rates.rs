//! Prints what streams of messages reach over simulated rails, in virtual time.

use tasuki_sim::transport::Stream;

fn main() {
    let base = Stream::default();
    let equal = |rails: usize| vec![100; rails];
    let cases = [
        ("1 x 100, 64 KiB", Stream { rates_mbps: equal(1), ..base.clone() }),
        ("4 x 100, 1 KiB", Stream { len: 1 << 10, messages: 8192, ..base.clone() }),
        ("4 x 100, 8 KiB", Stream { len: 8 << 10, messages: 2048, ..base.clone() }),
        ("4 x 100, 64 KiB", base.clone()),
        ("4 x 100, 1 MiB", Stream { len: 1 << 20, messages: 32, outstanding: 4, ..base.clone() }),
        ("4 x 100 unknown, 64 KiB", Stream { rates_known: false, ..base.clone() }),
        ("4 x 100, 64 KiB, busy hosts", Stream { poll_ns: 500_000, ..base.clone() }),
        ("100/100/50/25, 64 KiB", Stream { rates_mbps: vec![100, 100, 50, 25], ..base.clone() }),
        (
            "100/100/50/25 unknown, 64 KiB",
            Stream { rates_mbps: vec![100, 100, 50, 25], rates_known: false, ..base.clone() },
        ),
        ("4 x 100, 64 KiB, 1 % loss", Stream { loss_ppm: 10_000, ..base.clone() }),
        ("4 x 100, 8 KiB, 1 % loss", Stream { loss_ppm: 10_000, len: 8192, messages: 2048, ..base.clone() }),
        ("4 x 1000, 64 KiB", Stream { rates_mbps: vec![1000; 4], messages: 1024, ..base.clone() }),
        ("4 x 100, one 64 KiB", Stream { outstanding: 1, messages: 64, ..base.clone() }),
        (
            "1 x 100, one 64 KiB",
            Stream { outstanding: 1, messages: 64, rates_mbps: equal(1), ..base.clone() },
        ),
        ("4 x 100 and routed 100, 64 KiB", Stream { routed_mbps: Some(100), ..base.clone() }),
    ];
    for (what, stream) in cases {
        match stream.measure() {
            Ok(measured) => println!(
                "{what:32} {:7.2} MB/s, share {:.3}, latency {:8.1} us, resent {} bytes, rails {:?}",
                measured.bytes_per_s / 1e6,
                measured.share,
                measured.latency_ns / 1e3,
                measured.resent_bytes,
                measured.rail_bytes
            ),
            Err(failure) => println!("{what}: {}", failure.complaint),
        }
    }
}
