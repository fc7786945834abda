//! Runs many seeds of the fault simulation, or shows one.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use tasuki_sim::REACHED;
use tasuki_sim::soak::{Soak, Summary, soak};
use tasuki_sim::transport::{Carriage, Options, Text, run};

/// Fault simulation of the transport: real message and packet layers over rails on which everything goes
/// wrong.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Number of seeds
    #[arg(long, default_value_t = 1000, conflicts_with = "seed")]
    seeds: u64,
    /// First of the seeds
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Threads; 0: one per core
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Run this seed alone and show it (TASUKI_SIM_TRACE=1: all of it)
    #[arg(long)]
    seed: Option<u64>,
    /// Carry frames without packets and faults: shows what is the message layer's fault
    #[arg(long)]
    perfect: bool,
    /// Give every rail a raw lane beside UDP; some let no raw frames pass
    #[arg(long, conflicts_with = "perfect")]
    lanes: bool,
    /// Failures after which to stop; 0: never
    #[arg(long, default_value_t = 10)]
    failures: usize,
    /// Print the report as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Fail if something was never reached that the simulation is there to reach (for a few thousand seeds
    /// and more)
    #[arg(long)]
    reach: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    // A panic in a seed is caught and becomes its verdict.
    std::panic::set_hook(Box::new(|_| {}));
    let carriage = match (args.perfect, args.lanes) {
        (true, _) => Carriage::Perfect,
        (_, true) => Carriage::Lanes,
        _ => Carriage::Packets,
    };
    let options = Options { carriage, ..Options::default() };
    match args.seed {
        Some(seed) => show(seed, options),
        None => many(&args, options),
    }
}

fn show(seed: u64, options: Options) -> ExitCode {
    let echo = std::env::var_os("TASUKI_SIM_TRACE").is_some_and(|value| value != "0");
    let text = if echo { Text::Echo } else { Text::None };
    let outcome = match run(seed, Options { text, ..options }) {
        Ok(outcome) => outcome,
        Err(failure) => {
            println!("{failure}");
            return ExitCode::FAILURE;
        }
    };
    for (what, times) in outcome.coverage.iter() {
        println!("{times:10}  {what}");
    }
    println!(
        "seed {seed} passes: {} events, {} messages, {:.3} s of virtual time, hash {:016x}",
        outcome.events,
        outcome.messages,
        outcome.virtual_ns as f64 / 1e9,
        outcome.hash
    );
    ExitCode::SUCCESS
}

fn many(args: &Args, options: Options) -> ExitCode {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&stop)) {
            eprintln!("soak: cannot catch signal {signal}: {error}; it will end without a report");
        }
    }
    let jobs = match args.jobs {
        0 => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        jobs => jobs,
    };
    let bar = ProgressBar::new(args.seeds);
    let style = "{wide_bar} {pos}/{len} seeds, {per_sec}, {eta} left {msg}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    let what = Soak { first: args.first, seeds: args.seeds, jobs, options, failures_most: args.failures };
    let begin = Instant::now();
    let summary = soak(&what, &stop, |_, failure| {
        bar.inc(1);
        if let Some(failure) = failure {
            bar.suspend(|| eprintln!("{failure}\n"));
        }
    });
    bar.finish_and_clear();
    let seconds = begin.elapsed().as_secs_f64();
    if args.json {
        println!("{}", report(args, &summary, seconds, jobs));
    } else {
        print(args, &summary, seconds, jobs);
    }
    let missing = args.reach && !missing(&summary).is_empty();
    let early = stop.load(Ordering::Relaxed);
    if summary.failures.is_empty() && !missing && !early { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn missing(summary: &Summary) -> Vec<&'static str> {
    REACHED.iter().copied().filter(|what| summary.coverage.count(what) == 0).collect()
}

fn print(args: &Args, summary: &Summary, seconds: f64, jobs: usize) {
    println!("{:>12} {:>9}  what happened", "times", "in seeds");
    for (what, times) in summary.coverage.iter() {
        println!("{times:12} {:9}  {what}", summary.seeds_with.count(what));
    }
    for what in missing(summary) {
        println!("{:12} {:9}  {what}   NEVER REACHED", 0, 0);
    }
    println!(
        "{} of {} seeds from {} in {seconds:.1} s on {jobs} threads ({:.0} per second), {} failed; \
         {} events, {} messages, {:.1} MB, {:.0} s of virtual time (longest {:.1} s: seed {}), hash {:016x}",
        summary.seeds,
        args.seeds,
        args.first,
        summary.seeds as f64 / seconds.max(1e-9),
        summary.failures.len(),
        summary.events,
        summary.messages,
        summary.bytes as f64 / 1e6,
        summary.virtual_ns as f64 / 1e9,
        summary.longest.0 as f64 / 1e9,
        summary.longest.1,
        summary.hash
    );
    let failed: Vec<String> = summary.failures.iter().map(|failure| failure.seed.to_string()).collect();
    if !failed.is_empty() {
        println!("failed seeds: {}", failed.join(" "));
    }
}

fn report(args: &Args, summary: &Summary, seconds: f64, jobs: usize) -> serde_json::Value {
    let reached: serde_json::Map<String, serde_json::Value> = summary
        .coverage
        .iter()
        .map(|(what, times)| {
            (what.to_owned(), json!({ "times": times, "seeds": summary.seeds_with.count(what) }))
        })
        .collect();
    let failures: Vec<serde_json::Value> = summary
        .failures
        .iter()
        .map(|failure| json!({ "seed": failure.seed, "complaint": failure.complaint }))
        .collect();
    json!({
        "first": args.first, "asked": args.seeds, "seeds": summary.seeds, "jobs": jobs, "seconds": seconds,
        "events": summary.events, "messages": summary.messages, "bytes": summary.bytes,
        "virtual_s": summary.virtual_ns as f64 / 1e9, "hash": format!("{:016x}", summary.hash),
        "failures": failures, "reached": reached, "never_reached": missing(summary),
    })
}
