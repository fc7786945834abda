//! What the cables carry, in a few figures: an MPI over TCP and over Tasuki beside the raw limits, or these
//! alone.

use serde::Serialize;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};
use tasuki_bench::{
    BenchError, Record, Report,
    lab::{
        MpiAccess, Progress, Session, Testbed,
        mpi::{BuiltStack, Measurement, Program, Spread, build_stacks, over_transports},
        peers::{Pair, measure, tests},
    },
    raw::Outcome,
    stats::median,
};
use tasuki_launch::Provider;

/// How long the demonstration may take; what is under way when it is over still ends.
const LIMIT: Duration = Duration::from_secs(20);
/// Tests of two ranks, and of a rank on every host.
const PAIR_TESTS: [&str; 2] = ["pingpong:8", "stream:64k"];
const ALL_TESTS: [&str; 1] = ["barrier"];
/// Seconds for a test at one size.
const SECONDS: f64 = 0.1;
/// Seconds for a raw limit where there is no MPI.
const RAW_SECONDS: f64 = 1.0;
/// How long what is under way when the time is over may still take.
const GRACE: Duration = Duration::from_secs(200);
/// How often it is looked whether the time is over.
const LOOK: Duration = Duration::from_millis(50);

/// Stacks that hosts can run, with their programs in place, and notes; or why there is none.
pub type Placed = Result<(Vec<BuiltStack>, Vec<String>), String>;

/// What is needed for a demonstration.
pub struct Demonstration<'a> {
    /// The hosts: one testbed.
    pub testbed: &'a [Testbed; 1],
    /// The MPIs of this machine, with the transports to be shown.
    pub mpis: &'a dyn MpiAccess,
    /// Puts programs in place on the hosts.
    pub place: &'a dyn Fn(Vec<BuiltStack>) -> Placed,
    /// Told how far it has got.
    pub progress: &'a dyn Progress,
    /// Set once it is to end.
    pub interrupted: &'a AtomicBool,
}

/// One line of what is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What was measured, in words.
    pub what: String,
    /// Its unit.
    pub unit: String,
    /// What the network gives without any MPI.
    pub limit: Option<f64>,
    /// Over TCP.
    pub tcp: Option<f64>,
    /// Over Tasuki.
    pub tasuki: Option<f64>,
    /// How many times as good Tasuki is as TCP.
    pub gain: Option<f64>,
}

/// What a demonstration has shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// The MPI; `None`: raw limits alone.
    pub mpi: Option<String>,
    /// Why no MPI was run, or what failed.
    pub notes: Vec<String>,
    /// The figures.
    pub figures: Vec<Figure>,
}

impl Demonstration<'_> {
    /// Measures. What fails is in the notes: a cluster that is set up is not taken back for it.
    pub fn run(&self) -> Shown {
        let mut notes = Vec::new();
        match self.stacks(&mut notes).and_then(|stacks| {
            let (report, is_cut) = self.bench(&stacks)?;
            let name = stacks.first().map(|stack| stack.detected.mpi.id());
            Ok((name, report, is_cut))
        }) {
            Ok((mpi, report, is_cut)) => {
                notes.extend(report.failures.iter().map(ToString::to_string));
                notes.extend(is_cut.then(too_slow));
                Shown { mpi, notes, figures: figures(&report) }
            }
            Err(error) => {
                notes.push(format!("no MPI was run: {error}"));
                self.raw(notes)
            }
        }
    }

    /// The first MPI that all hosts have, over TCP and over Tasuki if it can.
    fn stacks(&self, notes: &mut Vec<String>) -> Result<Vec<BuiltStack>, BenchError> {
        let mut best: Vec<BuiltStack> = Vec::new();
        let mut why = Vec::new();
        for mpi in self.mpis.installed() {
            let built = match build_stacks(self.mpis, &[mpi.id()], Program::Bench) {
                Ok((built, _)) => built,
                Err(error) => {
                    why.push(error.to_string());
                    continue;
                }
            };
            let (stacks, _) = over_transports(self.mpis, built);
            match (self.place)(stacks) {
                Ok((stacks, told)) => {
                    notes.extend(told);
                    if stacks.len() > best.len() {
                        best = stacks;
                    }
                }
                Err(error) => why.push(error),
            }
            if best.len() > 1 {
                break;
            }
        }
        match best.is_empty() {
            false => Ok(best),
            true if why.is_empty() => Err(BenchError::refused("this machine has none")),
            true => Err(BenchError::refused(why.join("; "))),
        }
    }

    /// Measures, and tells whether the time was over before all was measured.
    fn bench(&self, stacks: &[BuiltStack]) -> Result<(Report, bool), BenchError> {
        let measurement = Measurement {
            networks: self.testbed,
            stacks,
            pair_tests: &PAIR_TESTS.map(str::to_owned),
            all_tests: &ALL_TESTS.map(str::to_owned),
            sweep: false,
            spread: Spread::All,
            repetitions: 1,
            seconds: SECONDS,
            calls: None,
            mpis: self.mpis,
        };
        let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let end = Instant::now() + LIMIT;
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) && Instant::now() < end + GRACE {
                    if self.interrupted.load(Ordering::Relaxed) || Instant::now() >= end {
                        stop.store(true, Ordering::Relaxed);
                    }
                    thread::sleep(LOOK);
                }
            });
            let report = measurement.run(Session { progress: self.progress, interrupted: &stop });
            over.store(true, Ordering::Relaxed);
            let is_cut = stop.load(Ordering::Relaxed) && !self.interrupted.load(Ordering::Relaxed);
            Ok((report?, is_cut))
        })
    }

    fn raw(&self, mut notes: Vec<String>) -> Shown {
        let [testbed] = self.testbed;
        let measured = Pair::choose(testbed, None, None)
            .and_then(|pair| measure(testbed, pair, tests(testbed, pair, RAW_SECONDS, true)));
        let figures = match measured {
            Ok(outcome) => {
                notes.extend(outcome.failures.iter().map(ToString::to_string));
                raw_figures(&outcome)
            }
            Err(error) => {
                notes.push(error.to_string());
                Vec::new()
            }
        };
        Shown { mpi: None, notes, figures }
    }
}

fn too_slow() -> String {
    format!(
        "not all was measured in the {} s that the demonstration has, as on hosts with other work: \
         `tasuki bench mpi` takes its time",
        LIMIT.as_secs()
    )
}

fn figures(report: &Report) -> Vec<Figure> {
    let mut all: Vec<Figure> = Vec::new();
    for record in report.records.iter().filter(|record| !record.test.starts_with("raw-")) {
        let what = words(record);
        let at = all.iter().position(|figure| figure.what == what).unwrap_or_else(|| {
            let limit = record.ceiling.as_ref().map(|ceiling| ceiling.value);
            let unit = record.unit.to_string();
            all.push(Figure { what, unit, limit, tcp: None, tasuki: None, gain: None });
            all.len() - 1
        });
        match record.lane == Provider::NAME {
            true => all[at].tasuki = Some(record.median),
            false => all[at].tcp = Some(record.median),
        }
        if let (Some(tcp), Some(tasuki)) = (all[at].tcp, all[at].tasuki) {
            all[at].gain = Some(record.unit.gain(tasuki, tcp));
        }
    }
    all
}

fn words(record: &Record) -> String {
    match record.test.as_str() {
        "pingpong" => format!("latency, {} bytes", record.bytes),
        "stream" => format!("bandwidth, {} KiB", record.bytes / 1024),
        "barrier" => format!("barrier of {} hosts", record.hosts),
        other => format!("{other}, {} bytes", record.bytes),
    }
}

fn raw_figures(outcome: &Outcome) -> Vec<Figure> {
    let figure = |what: String, unit: &str, limit: Option<f64>| Figure {
        what,
        unit: unit.into(),
        limit,
        tcp: None,
        tasuki: None,
        gain: None,
    };
    let latencies = outcome.ping_pongs.iter().map(|result| {
        let what = format!("{}: latency, {} bytes", result.protocol, result.bytes);
        figure(what, "us", median(&result.samples).map(|seconds| seconds * 1e6))
    });
    let rates = outcome.throughputs.iter().map(|result| {
        let rate = result.payload_bytes_per_second() / 1e6;
        figure(format!("{}: throughput", result.protocol), "MB/s", Some(rate))
    });
    latencies.chain(rates).collect()
}
