//! The tests behind the ceilings of a bench run.

use super::{
    client::{MESSAGE_BYTES_MAX, MESSAGE_BYTES_MIN, UDP_MESSAGE_BYTES_MAX},
    protocol::Protocol,
    specification::Test,
};

const ALL: [Protocol; 4] = [Protocol::Tcp, Protocol::TcpSpin, Protocol::Udp, Protocol::PacketRing];
/// Number of batches per size. Many short batches keep disturbances of a few of them out of the median.
const SAMPLES: u32 = 100;
/// Time before counting, as a share of the time that counts.
const WARM_UP: f64 = 0.3;

/// The tests: a ping-pong of every protocol for `seconds` at each of the sizes that the protocol takes, sizes
/// below the smallest rounded up to it; then one-way streams for ten times as long. If the line's rate is
/// given, these are paced to 1.25 times this rate, which fills the line without keeping the receiver off a
/// shared processor.
pub fn limits(sizes: &[u64], seconds: f64, line_bits_per_second: Option<u64>) -> Vec<Test> {
    let ping_pong = |protocol: Protocol| {
        let most = if protocol == Protocol::Udp { UDP_MESSAGE_BYTES_MAX } else { MESSAGE_BYTES_MAX };
        let fitting = sizes.iter().filter_map(|size| u32::try_from(*size).ok()).filter(|size| *size <= most);
        let mut bytes: Vec<u32> = fitting.map(|size| size.max(MESSAGE_BYTES_MIN)).collect();
        bytes.sort_unstable();
        bytes.dedup();
        Test::PingPong { protocol, bytes, seconds, samples: SAMPLES }
    };
    let stream = |protocol: Protocol| Test::Throughput {
        protocol,
        seconds: 10.0 * seconds,
        warm_up_s: WARM_UP * 10.0 * seconds,
        pace_bits_per_second: line_bits_per_second.map(|rate| rate.saturating_add(rate / 4)),
    };
    let streams = [Protocol::Tcp, Protocol::Udp, Protocol::PacketRing];
    ALL.into_iter().map(ping_pong).chain(streams.into_iter().map(stream)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_that_each_protocol_takes() {
        let tests = limits(&[0, 1, 8, 65_536, 4_194_304, 1 << 40], 0.1, Some(1_000_000_000));
        let sizes = |wanted: Protocol| {
            tests.iter().find_map(|test| match test {
                Test::PingPong { protocol, bytes, .. } if *protocol == wanted => Some(bytes.clone()),
                _ => None,
            })
        };
        assert_eq!(sizes(Protocol::PacketRing), Some(vec![4, 8, 65_536]));
        assert_eq!(sizes(Protocol::Udp), Some(vec![4, 8]));
        let pace = tests.iter().find_map(|test| match test {
            Test::Throughput { pace_bits_per_second, .. } => *pace_bits_per_second,
            _ => None,
        });
        assert_eq!((tests.len(), pace), (7, Some(1_250_000_000)));
    }
}
