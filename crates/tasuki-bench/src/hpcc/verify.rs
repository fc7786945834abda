//! The output `hpccoutf.txt`: every verdict of hpcc, test by test, and the figures of its summary.

use std::collections::BTreeMap;

/// Share of wrong entries in the tables of RandomAccess that hpcc accepts (updates may race by design).
const RANDOM_ACCESS_TOLERANCE: f64 = 0.01;
/// `HPL_dlamch(HPL_MACH_EPS)` for IEEE doubles.
const EPSILON: f64 = 1.110223e-16;

/// One verification.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What was checked, e.g. `HPL residual`.
    pub name: String,
    /// Whether it holds.
    pub passed: bool,
    /// The text of the output.
    pub detail: String,
}

/// A judged run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Every verification, in the order of hpcc's tests. One that is missing in the output has failed.
    pub checks: Vec<Check>,
    /// The numbers of the summary, e.g. `HPL_Tflops`, `MPIFFT_Gflops`, `MPIRandomAccess_GUPs`.
    pub figures: BTreeMap<String, f64>,
}

impl Outcome {
    /// Judges the last run in the text of an output file, which must have been one of `ranks` ranks.
    pub fn of(text: &str, ranks: u32) -> Self {
        let start = text.rfind("This is the DARPA/DOE HPC Challenge Benchmark").unwrap_or(0);
        let mut judge = Judge::new(&text[start..]);
        judge.whole_run(ranks);
        for name in ["MPIRandomAccess", "MPIRandomAccess_LCG"] {
            judge.mpi_random_access(name);
        }
        judge.transpose();
        for name in ["StarDGEMM", "SingleDGEMM", "StarSTREAM", "SingleSTREAM", "StarFFT", "SingleFFT"] {
            judge.node_errors(name);
        }
        for name in ["StarRandomAccess", "SingleRandomAccess"] {
            judge.node_errors(name);
            judge.node_errors(&format!("{name}_LCG"));
        }
        judge.every_line("StarDGEMM", "Scaled residual:", "scaled residual");
        judge.stream_validates();
        judge.fourier();
        judge.latency_bandwidth(ranks);
        judge.linpack();
        Self { checks: judge.checks, figures: judge.figures }
    }

    /// Whether every verification passed.
    pub fn verified(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }

    /// The verifications that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| !check.passed)
    }
}

struct Judge<'a> {
    text: &'a str,
    threshold: f64,
    figures: BTreeMap<String, f64>,
    checks: Vec<Check>,
}

impl<'a> Judge<'a> {
    fn new(text: &'a str) -> Self {
        let limit = "Computational tests pass if scaled residuals are less than";
        let threshold = text.lines().find_map(|line| number_after(line, limit));
        let summary = between(text, "Begin of Summary section.", "End of Summary section.").unwrap_or("");
        let figure = |line: &str| {
            let (key, value) = line.split_once('=')?;
            Some((key.to_owned(), value.trim().parse().ok()?))
        };
        // A threshold that is missing becomes NaN, below which no number is.
        let threshold = threshold.unwrap_or(f64::NAN);
        Self { text, threshold, figures: summary.lines().filter_map(figure).collect(), checks: Vec::new() }
    }

    fn push(&mut self, name: impl Into<String>, passed: bool, detail: impl Into<String>) {
        self.checks.push(Check { name: name.into(), passed, detail: detail.into() });
    }

    fn figure(&self, key: &str) -> f64 {
        self.figures.get(key).copied().unwrap_or(f64::NAN)
    }

    /// The text of a test's section. A section without an end counts as missing, as the run broke off there.
    fn section(&self, name: &str) -> Option<&'a str> {
        between(self.text, &format!("Begin of {name} section."), &format!("End of {name} section."))
    }

    fn whole_run(&mut self, ranks: u32) {
        let ended = self.text.contains("End of HPC Challenge tests.");
        self.push("run complete", ended, if ended { "end mark found" } else { "no end mark: it broke off" });
        let (success, count) = (self.figure("Success"), self.figure("CommWorldProcs"));
        self.push("Success flag", success == 1.0, format!("Success={success}"));
        self.push("ranks", count == f64::from(ranks), format!("CommWorldProcs={count}, wanted {ranks}"));
    }

    fn mpi_random_access(&mut self, name: &str) {
        let line = self.section(name).and_then(|text| text.lines().find(|l| l.contains("errors in")));
        let share = self.figure(&format!("{name}_Errors")) / self.figure(&format!("{name}_N"));
        let passed = line.is_some_and(|line| line.contains("(passed)")) && share <= RANDOM_ACCESS_TOLERANCE;
        self.push(format!("{name} errors"), passed, line.unwrap_or("missing"));
    }

    /// Checks for `Node(s) with error 0`, which each of the local tests must print at least once.
    fn node_errors(&mut self, name: &str) {
        const MARK: &str = "Node(s) with error";
        let lines = self.section(name).map(|text| lines_with(text, MARK)).unwrap_or_default();
        let passed = !lines.is_empty() && lines.iter().all(|line| number_after(line, MARK) == Some(0.0));
        self.push(format!("{name} nodes"), passed, or_missing(&lines));
    }

    /// Checks that the section has numbers behind `mark`, and that all of them are below the threshold.
    fn every_line(&mut self, section: &str, mark: &str, what: &str) {
        let lines = self.section(section).map(|text| lines_with(text, mark)).unwrap_or_default();
        let small = |line: &&str| number_after(line, mark).is_some_and(|value| value < self.threshold);
        let passed = !lines.is_empty() && lines.iter().all(small);
        self.push(format!("{section} {what}"), passed, or_missing(&lines));
    }

    fn stream_validates(&mut self) {
        let section = self.section("StarSTREAM").unwrap_or("");
        let lines = lines_with(section, "Solution Validates");
        let failed = section.contains("Failed Validation");
        self.push("StarSTREAM solution", !lines.is_empty() && !failed, or_missing(&lines));
    }

    fn transpose(&mut self) {
        let section = self.section("PTRANS").unwrap_or("");
        let rows: Vec<&str> =
            section.lines().filter(|line| line.starts_with("WALL") || line.starts_with("CPU")).collect();
        let passed = !rows.is_empty() && rows.iter().all(|row| row.contains("PASSED"));
        self.push("PTRANS rows", passed, format!("{} rows", rows.len()));
        self.tally("PTRANS", section);
        let residual = self.figure("PTRANS_residual");
        self.push("PTRANS residual", residual < self.threshold, format!("{residual}"));
    }

    /// Checks `Finished 5 tests`, `5 ... passed`, `0 ... failed` and `0 ... skipped`.
    fn tally(&mut self, name: &str, section: &str) {
        let count = |mark: &str| {
            let line = section.lines().find(|line| line.contains(mark))?;
            line.split_whitespace().find_map(|word| word.parse::<u64>().ok())
        };
        let finished = count("with the following results");
        let passed = count("completed and passed residual checks");
        let failed = count("completed and failed residual checks");
        let skipped = count("skipped because of illegal input values");
        let good =
            finished.is_some_and(|n| n > 0) && finished == passed && failed == Some(0) && skipped == Some(0);
        let detail =
            format!("finished {finished:?}, passed {passed:?}, failed {failed:?}, skipped {skipped:?}");
        self.push(format!("{name} tally"), good, detail);
    }

    /// Checks hpcc's own criterion: max |x - x0| / ln(size) / eps is below the threshold.
    fn fourier(&mut self) {
        for name in ["MPIFFT", "StarFFT"] {
            let section = self.section(name).unwrap_or("");
            let value = |mark: &str| section.lines().find_map(|line| number_after(line, mark));
            let error = value("max(|x-x0|):").unwrap_or(f64::NAN);
            let scaled = error / value("Vector size:").unwrap_or(f64::NAN).ln() / EPSILON;
            let detail = format!("error {error}, scaled {scaled:.3}");
            self.push(format!("{name} error"), scaled < self.threshold, detail);
        }
    }

    /// This test verifies nothing. It must have ended and, on more than one rank, given figures.
    fn latency_bandwidth(&mut self, ranks: u32) {
        let keys =
            ["MaxPingPongLatency_usec", "MinPingPongBandwidth_GBytes", "RandomlyOrderedRingLatency_usec"];
        let complete = self.section("LatencyBandwidth").is_some();
        let passed = complete && (ranks == 1 || keys.iter().all(|key| self.figure(key) > 0.0));
        self.push("LatencyBandwidth", passed, if complete { "complete" } else { "missing" });
    }

    fn linpack(&mut self) {
        let section = self.section("HPL").unwrap_or("");
        let lines = lines_with(section, "||Ax-b||_oo/(eps*(");
        let good = |line: &&str| {
            number_after(line, ")=").is_some_and(|value| value < self.threshold) && line.ends_with("PASSED")
        };
        let passed = !lines.is_empty() && lines.iter().all(good);
        self.push("HPL residual", passed, or_missing(&lines));
        self.tally("HPL", section);
        let f = |key: &str| self.figure(key);
        let scale = f("HPL_eps") * (f("HPL_AnormI") * f("HPL_XnormI") + f("HPL_BnormI")) * f("HPL_N");
        let residual = f("HPL_RnormI") / scale;
        let detail = format!("{residual:.6} from the norms of the summary");
        self.push("HPL residual recomputed", residual < self.threshold, detail);
    }
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let rest = &text[text.find(begin)? + begin.len()..];
    Some(&rest[..rest.find(end)?])
}

fn lines_with<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.contains(mark)).collect()
}

fn or_missing(lines: &[&str]) -> String {
    if lines.is_empty() { "missing".into() } else { lines.join("; ") }
}

fn number_after(line: &str, mark: &str) -> Option<f64> {
    let rest = &line[line.find(mark)? + mark.len()..];
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A real output: hpcc 1.5.0 of Debian 12 on four ranks.
    const SAMPLE: &str = include_str!("../../tests/data/hpccoutf.txt");

    fn failed(text: &str) -> Vec<String> {
        Outcome::of(text, 4).failed().map(|check| check.name.clone()).collect()
    }

    #[test]
    fn a_good_run_is_verified() {
        let outcome = Outcome::of(SAMPLE, 4);
        assert!(outcome.verified(), "{:?}", outcome.failed().collect::<Vec<_>>());
        assert_eq!(outcome.figures.get("HPL_N"), Some(&300.0));
        assert_eq!(outcome.figures.get("MPIFFT_Gflops"), Some(&3.23552));
        assert_eq!(outcome.checks.len(), 26);
    }

    #[test]
    fn every_verdict_of_hpcc_counts() {
        for (from, to, name) in [
            ("Success=1", "Success=0", "Success flag"),
            ("CommWorldProcs=4", "CommWorldProcs=3", "ranks"),
            ("0.0099934 ...... PASSED", "99.0 ...... FAILED", "HPL residual"),
            ("0.0099934 ...... PASSED", "nan ...... PASSED", "HPL residual"),
            ("HPL_RnormI=6.57252e-14", "HPL_RnormI=6.57252e-09", "HPL residual recomputed"),
            (
                "0 tests completed and failed residual checks,",
                "1 tests completed and failed residual checks,",
                "HPL tally",
            ),
            (
                "0 tests completed and failed residual checks.",
                "1 tests completed and failed residual checks.",
                "PTRANS tally",
            ),
            ("0.00 PASSED    8.571", "0.00 FAILED    8.571", "PTRANS rows"),
            ("PTRANS_residual=0", "PTRANS_residual=20", "PTRANS residual"),
            ("Scaled residual: 0.0461511", "Scaled residual: 16.5", "StarDGEMM scaled residual"),
            ("max(|x-x0|): 1.119e-15", "max(|x-x0|): 1.119e-10", "MPIFFT error"),
            ("max(|x-x0|): 1.053e-15", "max(|x-x0|): nan", "StarFFT error"),
            ("MPIRandomAccess_LCG_Errors=0", "MPIRandomAccess_LCG_Errors=700", "MPIRandomAccess_LCG errors"),
            (
                "Found 0 errors in 65536 locations (passed)",
                "Found 9 errors in 65536 locations (failed)",
                "MPIRandomAccess errors",
            ),
            ("Solution Validates", "Failed Validation", "StarSTREAM solution"),
            ("MinPingPongBandwidth_GBytes=11.2585", "MinPingPongBandwidth_GBytes=0", "LatencyBandwidth"),
        ] {
            let damaged = SAMPLE.replacen(from, to, 1);
            assert_ne!(damaged, SAMPLE, "{from} is not in the sample");
            assert!(failed(&damaged).contains(&name.to_owned()), "{to}: {:?}", failed(&damaged));
        }
    }

    #[test]
    fn node_errors_of_each_local_test_count() {
        for name in ["StarDGEMM", "SingleSTREAM", "StarFFT", "SingleRandomAccess", "StarRandomAccess_LCG"] {
            let begin = format!("Begin of {name} section.");
            let at = SAMPLE.find(&begin).unwrap_or(SAMPLE.len());
            let (before, rest) = SAMPLE.split_at(at);
            let damaged =
                before.to_owned() + &rest.replacen("Node(s) with error 0", "Node(s) with error 1", 1);
            assert_eq!(failed(&damaged), [format!("{name} nodes")]);
        }
    }

    // hpcc 1.5.0 on one rank says -1 of everything that needs two.
    #[test]
    fn one_rank_has_nobody_to_exchange_messages_with() {
        let keys =
            ["MaxPingPongLatency_usec", "MinPingPongBandwidth_GBytes", "RandomlyOrderedRingLatency_usec"];
        let silent =
            |line: &str| keys.iter().find(|key| line.starts_with(*key)).map(|key| format!("{key}=-1"));
        let lines: Vec<String> = SAMPLE.lines().map(|line| silent(line).unwrap_or(line.into())).collect();
        let text = lines.join("\n");
        assert_eq!(failed(&text), ["LatencyBandwidth"]);
        let alone = text.replace("CommWorldProcs=4", "CommWorldProcs=1");
        assert!(Outcome::of(&alone, 1).verified());
    }

    #[test]
    fn a_run_that_broke_off_is_not_verified() {
        for share in [0, 1, 3, 5, 7, 9] {
            let cut = SAMPLE.len() * share / 10;
            assert!(failed(&SAMPLE[..cut]).contains(&"run complete".to_owned()), "cut at {cut}");
        }
        // An older good run in the same file does not make up for the last one.
        let appended = format!("{SAMPLE}{}", &SAMPLE[..SAMPLE.len() / 2]);
        assert!(!Outcome::of(&appended, 4).verified());
    }
}
