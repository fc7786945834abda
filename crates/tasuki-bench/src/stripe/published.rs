//! Results of the NIC distribution paper, as far as its text gives them for figures 2 to 4; the figures
//! themselves are lost.

use super::{Cabling, Case, Spreading};
use serde::Serialize;

/// A MB of the paper (section 3), bytes.
const MIB: f64 = 1_048_576.0;
/// Throughput of one Fast Ethernet NIC, bytes per second.
const ONE_NIC: f64 = 11.9 * MIB;
/// Throughput of bonding with two NICs, beyond which the paper sees no gain; bytes per second.
const BONDING: f64 = 22.1 * MIB;

/// A published result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Published {
    /// Bytes per second; `None` if the paper only compares it with others.
    pub bytes_per_second: Option<f64>,
    /// The statement in words.
    pub says: &'static str,
    /// The place in the paper.
    pub source: &'static str,
}

/// The published result for a case of 100 Mbit/s and MTU 1500.
pub fn published(case: &Case) -> Option<Published> {
    if case.rate_bps != 100_000_000 || case.mtu != 1500 || case.bytes != 1024 || case.streams != 1 {
        return None;
    }
    let figure = |bytes: f64, says, source| Some(Published { bytes_per_second: Some(bytes), says, source });
    let words = |says, source| Some(Published { bytes_per_second: None, says, source });
    const FIGURE_2: &str = "figure 2, Celeron 533 MHz";
    const FIGURE_3: &str = "figure 3, Pentium 4 1.6 GHz";
    const FIGURE_4: &str = "figure 4, Pentium 4 1.6 GHz, one switch";
    let is_slow = case.quota_percent.is_some();
    match (case.spreading, case.nics, case.cabling) {
        (Spreading::One, 1, _) if !is_slow => figure(ONE_NIC, "the limit of one NIC", "section 3.2"),
        (Spreading::RoundRobin, 2, _) if is_slow => words("gain; CPU idle about 0 %", FIGURE_2),
        (Spreading::RoundRobin, 3.., _) if is_slow => words("no gain over 2 NICs", FIGURE_2),
        (Spreading::RoundRobin, 2, Cabling::Switch) => figure(BONDING, "about as bonding", FIGURE_4),
        (Spreading::RoundRobin, 3, Cabling::Switch) => figure(1.29 * BONDING, "1.29 x bonding", FIGURE_4),
        (Spreading::RoundRobin, 4, Cabling::Switch) => figure(1.88 * BONDING, "1.88 x bonding", FIGURE_4),
        (Spreading::RoundRobin, 4, _) => words("nearly 4 x one NIC", FIGURE_3),
        (Spreading::RoundRobin, 2 | 3, _) => words("nearly in proportion", FIGURE_3),
        // The paper measured bonding once. Its descriptions of bonding fit both of these.
        (Spreading::BondFixed | Spreading::BondOneMac, 2, Cabling::Switch) if !is_slow => {
            figure(BONDING, "1.8 x the limit of one NIC and more", FIGURE_4)
        }
        (Spreading::BondFixed | Spreading::BondOneMac, 3 | 4, Cabling::Switch) if !is_slow => {
            figure(BONDING, "no gain over 2 NICs; receiver's CPU about 60 %", FIGURE_4)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(spreading: Spreading, nics: u32, quota_percent: Option<f64>) -> Case {
        let cabling = Cabling::Switch;
        Case {
            cabling,
            spreading,
            nics,
            bytes: 1024,
            streams: 1,
            mtu: 1500,
            rate_bps: 100_000_000,
            quota_percent,
        }
    }

    // The paper, section 3.2: 22.1 MB/s of 2^20 bytes; 1.29 and 1.88 times that with three and four NICs.
    #[test]
    fn figures_are_those_of_the_text() {
        let at = |spreading, nics| published(&case(spreading, nics, None)).and_then(|it| it.bytes_per_second);
        let near = |value: Option<f64>, expected: f64| {
            value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-3)
        };
        assert!(near(at(Spreading::BondOneMac, 2), 23.173e6) && near(at(Spreading::BondFixed, 4), 23.173e6));
        assert!(near(at(Spreading::RoundRobin, 3), 29.894e6) && near(at(Spreading::RoundRobin, 4), 43.566e6));
        assert_eq!(at(Spreading::Mptcp, 2), None);
        assert!(published(&case(Spreading::RoundRobin, 3, Some(9.0))).is_some_and(|it| it.says.contains(
            "no \
                                                                                                     gain"
        )));
        assert_eq!(published(&Case { bytes: 65_536, ..case(Spreading::RoundRobin, 3, None) }), None);
    }
}
