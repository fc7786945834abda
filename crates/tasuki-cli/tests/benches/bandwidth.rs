//! What several cables carry together, and that one message uses all of them. The lab's wires have their
//! rates on any machine, but two cores that also do other work cannot always fill them: these tests need a
//! quiet machine, repeat a measurement, and print every figure.

use crate::support::{
    TestLab,
    mpi::{families, transports},
    mpis::Mpi,
    ok,
    run::MpiRun,
    skip_without_root, tasuki,
};

/// Payload per second of a cable of 100 Mbit/s that carries only full frames: 1,472 bytes of UDP payload in
/// 1,538 on the wire, without the header of 32 bytes.
const CABLE: f64 = 100e6 / 8.0 * 1_440.0 / 1_538.0;
const ATTEMPTS: usize = 4;

/// Runs one test of tasuki-mpi-bench. Returns the median of its samples, seconds per message.
fn median(lab: &TestLab, mpi: &Mpi, transport: &str, test: &str, bytes: u64) -> f64 {
    let target = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mpi-bench-{}", mpi.name));
    tasuki_bench::program::build(&mpi.mpicc, &target).expect("builds");
    let argv = ["--seconds", "2", &format!("{test}:{bytes}")].map(str::to_owned);
    let printed = MpiRun::new(lab, mpi, transport, 2, &target).args(argv).ok();
    let lines = tasuki_bench::parse_lines(&printed).expect("lines");
    let line = lines.into_iter().find(|line| line.test == test && line.bytes == bytes).expect("a result");
    let mut samples = line.samples;
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// The best of some attempts at a windowed stream, as a share of `sum` bytes per second.
fn best_share(lab: &TestLab, mpi: &Mpi, transport: &str, bytes: u64, sum: f64, enough: f64) -> f64 {
    let mut best = 0.0f64;
    for attempt in 1..=ATTEMPTS {
        let rate = bytes as f64 / median(lab, mpi, transport, "stream", bytes);
        let share = rate / sum;
        eprintln!(
            "{} over {transport}, windows of {bytes} bytes, attempt {attempt}: {:.1} MB/s, {:.1} % of the \
             sum",
            mpi.name,
            rate / 1e6,
            share * 100.0
        );
        best = best.max(share);
        if best >= enough {
            break;
        }
    }
    best
}

fn windows(test: &str, rates: [u32; 4], demands: &[(u64, f64)]) {
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("rails", &["--shape", "pair:4", "--rate", "100M"]);
    for (cable, rate) in rates.iter().enumerate().filter(|(_, rate)| **rate != 100) {
        let (cable, rate) = (format!("n1:eth{}", cable + 1), format!("{rate}M"));
        ok(tasuki().args(["lab", "rate", "--lab", &lab.name, &cable, &rate]));
    }
    let sum = CABLE * f64::from(rates.iter().sum::<u32>()) / 100.0;
    let mut short = Vec::new();
    for mpi in families(test) {
        for transport in transports() {
            for &(bytes, demand) in demands {
                let share = best_share(&lab, &mpi, &transport, bytes, sum, demand);
                if share < demand {
                    short
                        .push(format!("{} over {transport}, {bytes} bytes: {share:.3} < {demand}", mpi.name));
                }
            }
        }
    }
    assert!(short.is_empty(), "{short:#?}");
}

#[test]
#[ignore = "needs a quiet machine"]
fn four_cables_carry_the_sum() {
    windows("four_cables_carry_the_sum", [100; 4], &[(8 << 10, 0.85), (64 << 10, 0.95), (1 << 20, 0.95)]);
}

#[test]
#[ignore = "needs a quiet machine"]
fn unequal_cables_carry_the_sum() {
    windows("unequal_cables_carry_the_sum", [100, 100, 50, 25], &[(64 << 10, 0.95), (1 << 20, 0.95)]);
}

/// Bytes that each cable has carried from n1 to n2, and from n2 to n1.
fn carried(lab: &TestLab) -> Vec<u64> {
    let status = lab.status();
    let cables = status["cables"].as_array().expect("cables");
    let bytes =
        |cable: &serde_json::Value, side: usize| cable["directions"][side]["bytes"].as_u64().unwrap_or(0);
    cables.iter().map(|cable| bytes(cable, 0) + bytes(cable, 1)).collect()
}

/// Single messages of 64 KiB, back and forth: of four cables each carries its share, and a message takes less
/// than a third of the time that it takes over one cable.
#[test]
#[ignore = "needs a quiet machine"]
fn one_message_goes_over_all_cables() {
    const BYTES: u64 = 64 << 10;
    let test = "one_message_goes_over_all_cables";
    if skip_without_root(test) {
        return;
    }
    let one = TestLab::up("one", &["--shape", "pair:1", "--rate", "100M"]);
    let four = TestLab::up("four", &["--shape", "pair:4", "--rate", "100M"]);
    for mpi in families(test) {
        for transport in transports() {
            let single = median(&one, &mpi, &transport, "pingpong", BYTES);
            let before = carried(&four);
            let striped = median(&four, &mpi, &transport, "pingpong", BYTES);
            let after = carried(&four);
            let each: Vec<_> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
            let total: u64 = each.iter().sum();
            let shares: Vec<_> = each.iter().map(|bytes| *bytes as f64 / total as f64).collect();
            eprintln!(
                "{} over {transport}: 64 KiB in {:.2} ms over one cable, {:.2} ms over four: {:.2} x; shares \
                 {shares:.3?}",
                mpi.name,
                single * 1e3,
                striped * 1e3,
                single / striped
            );
            if transport == "tasuki" {
                assert!(shares.iter().all(|share| *share > 0.15), "{}: {shares:?}", mpi.name);
                assert!(single / striped >= 3.0, "{}: {:.2} x", mpi.name, single / striped);
            }
        }
    }
}
