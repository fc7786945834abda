//! The figures of the kernels.

use super::*;

fn case(ranks: u32, stack: &str) -> Case {
    Case {
        kernel: Kernel::Is,
        class: Class::S,
        ranks,
        hosts: ranks,
        nics: 1,
        network: "mesh".into(),
        stack: stack.into(),
        lane: if stack.ends_with("tasuki") { "tasuki" } else { "tcp" }.into(),
        offloads: "off".into(),
    }
}

fn outcome(mops: f64, verified: bool) -> Outcome {
    Outcome {
        kernel: Kernel::Is,
        class: Class::S,
        size: "65536".into(),
        iterations: 10,
        seconds: 1.0 / mops,
        cpu_s: Some(0.1),
        ranks: 1,
        mops,
        operation: "keys ranked".into(),
        verified,
        version: "1".into(),
        breakdown: Vec::new(),
        dgemm_mops: None,
        challenge: std::collections::BTreeMap::new(),
    }
}

fn report(runs: &[(Case, &[f64])]) -> NasReport {
    let machine = Machine { kernel: "Linux 6.1".into(), cpu: "A".into(), cores: 2, user: "root".into() };
    let mut report = NasReport::new(machine);
    for (case, mops) in runs {
        mops.iter().for_each(|mops| report.add(case, outcome(*mops, true)));
    }
    report
}

#[test]
fn cases_are_compared_with_one_host_and_with_tcp() {
    let report = report(&[
        (case(1, "a"), &[10.0, 12.0, 11.0]),
        (case(4, "a"), &[5.5, 5.0, 6.0]),
        (case(4, "a tasuki"), &[11.0, 10.0, 12.0]),
    ]);
    let records = report.records();
    let speedups: Vec<_> = records.iter().map(|record| record.speedup).collect();
    assert_eq!(speedups, [None, Some(0.5), None], "one host with Tasuki was not measured");
    assert_eq!(report.warnings().len(), 1);
    let gain = report.against(&case(4, "a tasuki"), "a").map(|gain| gain.median);
    assert_eq!(gain, Some(2.0));
    let text = report.table(|stack| stack.strip_suffix(" tasuki").map(str::to_owned));
    for part in ["IS", "mesh", "2.00 x (2.00 to 2.00)", "0.50 x", "warning: IS S: 4 hosts on mesh (a)"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn cablings_are_compared_with_the_first_and_with_the_papers() {
    let on = |network: &str, class| Case { network: network.into(), class, ..case(4, "a") };
    let report = report(&[
        (on("star:4", Class::A), &[10.0, 20.0]),
        (on("full:4", Class::A), &[30.0, 60.0]),
        (on("full:4", Class::W), &[30.0]),
    ]);
    let against: Vec<_> = report.records().into_iter().map(|record| record.against).collect();
    assert!(against[0].is_none() && against[2].is_none(), "{against:?}");
    // Cross-connection paper, section 4.2: IS, class A, 2.5 times.
    let cables = against[1].as_ref().map(|it| (it.network.as_str(), it.gain, it.published));
    assert_eq!(cables, Some(("star:4", 3.0, Some(2.5))));
    let text = report.table(|_| None);
    assert!(text.contains("against star:4") && text.contains("2.5 x"), "{text}");
}

#[test]
fn cablings_are_compared_with_the_first_that_was_asked_for_though_a_case_failed_there() {
    let on = |network: &str, kernel| Case { network: network.into(), kernel, ..case(4, "a") };
    // IS ran into its limit on the first network.
    let mut report = report(&[
        (on("full:4", Kernel::Is), &[30.0; 3]),
        (on("star:4", Kernel::Cg), &[10.0; 3]),
        (on("full:4", Kernel::Cg), &[20.0; 3]),
    ]);
    report.first_network = Some("star:4".into());
    let against: Vec<_> = report.records().into_iter().map(|record| record.against).collect();
    let against: Vec<_> =
        against.iter().map(|it| it.as_ref().map(|it| (it.network.as_str(), it.gain))).collect();
    assert_eq!(against, [None, None, Some(("star:4", 2.0))]);
    let text = report.table(|_| None);
    assert!(text.contains("against star:4") && text.contains("2.00 x"), "{text}");
}

// A machine that becomes slower from run to run, and a network on which the last run failed.
#[test]
fn the_runs_before_a_failure_are_paired() {
    let on = |network: &str| Case { network: network.into(), ..case(4, "a") };
    let all = [60.0, 50.0, 40.0, 30.0, 20.0, 10.0];
    let report = report(&[(on("star:4"), &all), (on("full:4"), &all[..5])]);
    let against = report.records().remove(1).against.map(|it| (it.gain, it.ratio.pairs));
    assert_eq!(against, Some((1.0, 5)));
}

#[test]
fn linpack_is_a_share_of_the_peak_of_the_processors_that_it_can_use() {
    let on = |ranks| Case { kernel: Kernel::Linpack, ..case(ranks, "a") };
    let mut report = report(&[(case(2, "a"), &[10.0])]);
    report.peak_mops = Some(1000.0);
    for (ranks, mops) in [(1, 500.0), (4, 800.0)] {
        let outcome = Outcome { dgemm_mops: Some(1600.0), cpu_s: None, ..outcome(mops, true) };
        report.add(&on(ranks), outcome);
    }
    let shares: Vec<_> = report.records().iter().map(|record| (record.of_peak, record.of_dgemm)).collect();
    // The machine has two processors, so that four ranks can use two.
    assert_eq!(shares, [(None, None), (Some(0.5), Some(0.3125)), (Some(0.4), Some(0.5))]);
    let text = report.table(|_| None);
    assert!(text.contains("of peak") && text.contains("40.0 %") && text.contains("50.0 %"), "{text}");
}

/// The rate agrees with the times of one and of several hosts, each computed by itself for one size.
#[test]
fn several_hosts_beat_one_at_is_from_some_rate_on() {
    let (keys, alone, hosts, nics) = (8_388_608.0, 480e6, 4.0, 3.0);
    let seconds = |rate: f64| {
        let packets = keys / hosts * (hosts - 1.0) / hosts * 4.0 / 1448.0;
        keys / hosts / alone + packets * 1538.0 * 8.0 / (nics * rate)
    };
    let rate = is_break_even(alone, 4, 3);
    assert!((1.3e9..1.4e9).contains(&rate), "{rate}");
    assert!(seconds(rate * 0.99) > keys / alone && seconds(rate * 1.01) < keys / alone, "{rate}");
}

#[test]
fn one_wrong_result_is_enough() {
    let mut report = report(&[(case(2, "a"), &[1.0, 1.0])]);
    assert!(report.is_good());
    report.add(&case(2, "a"), outcome(1.0, false));
    assert!(!report.is_good() && report.table(|_| None).contains("NO"));
}

#[test]
fn json_has_the_promised_keys_and_charts_name_their_stacks() {
    let report = report(&[(case(1, "a"), &[10.0]), (case(4, "a"), &[5.5])]);
    let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
    for key in "test kernel class verified ranks network stack median p10 p90 unit lane offloads user cpu \
                samples"
        .split_whitespace()
    {
        assert!(json[0].get(key).is_some(), "{key}");
    }
    assert_eq!((json[0]["kernel"].as_str(), json[0]["unit"].as_str()), (Some("IS"), Some("Mop/s")));
    let charts = report.charts().expect("charts");
    assert!(charts.len() == 1 && charts[0].0 == "IS S" && charts[0].1.contains("4 ranks"));
}
