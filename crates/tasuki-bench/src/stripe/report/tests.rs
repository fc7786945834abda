//! The figures of striped streams.

use super::*;
use crate::raw::StreamTest;

fn case(spreading: Spreading, nics: u32) -> Case {
    let cabling = Cabling::Switch;
    Case {
        cabling,
        spreading,
        nics,
        bytes: 1024,
        streams: 1,
        mtu: 1500,
        rate_bps: 100_000_000,
        quota_percent: None,
    }
}

fn sample(bytes: u64) -> Streamed {
    let side = Side { seconds: 1.0, process: 0.25, core: Some(0.5), data_in: 1000, ..Side::default() };
    Streamed {
        test: StreamTest { mptcp: false, streams: 1, bytes: 1024, seconds: 1.0, warm_up_s: 0.1 },
        received_bytes: vec![bytes],
        sender: side.clone(),
        receiver: Side { out_of_order: 300, ..side },
    }
}

fn report() -> StripeReport {
    let machine = Machine { kernel: "Linux 6.1".into(), cpu: "A".into(), cores: 2, user: "root".into() };
    let mut report = StripeReport::new(machine);
    for drift in 0..6 {
        report.add(case(Spreading::One, 1), sample(11_000_000 + drift * 100_000));
        report.add(case(Spreading::RoundRobin, 2), sample(22_000_000 + drift * 200_000));
        report.add(case(Spreading::Mptcp, 2), sample(22_000_000));
    }
    report
}

// 1448 bytes of payload in 1538 byte times, at 12.5 MB/s: 11.77 MB/s.
#[test]
fn the_line_carries_what_segments_leave() {
    assert!((case(Spreading::One, 1).line_bytes_per_second() / 11.7685e6 - 1.0).abs() < 1e-4);
    assert!((case(Spreading::Mptcp, 4).line_bytes_per_second() / 47.074e6 - 1.0).abs() < 1e-4);
}

#[test]
fn points_are_compared_with_one_nic_pair_by_pair() -> Result<(), Box<dyn std::error::Error>> {
    let report = report();
    let table = report.table();
    for part in ["2.00 x (2.00 to 2.00)", "25 / 50 %", "30.0 %", "23.2 MB/s: about as bonding", "round-robin"]
    {
        assert!(table.contains(part), "{part} is missing in\n{table}");
    }
    let json: serde_json::Value = serde_json::from_str(&report.json()?)?;
    let record = &json["records"][1];
    assert_eq!((&record["way"], &record["nics"]), (&"round-robin".into(), &2.into()));
    assert_eq!(record["out_of_order_percent"]["median"], 30.0);
    assert_eq!(record["samples"].as_array().map(Vec::len), Some(6));
    let charts = report.charts()?;
    assert_eq!(charts.len(), 1);
    assert!(charts[0].0 == "stripe-1024-fast.svg" && charts[0].1.contains("round-robin"));
    Ok(())
}
