//! `tasuki bench raw`: latency and throughput of TCP, UDP and bare frames between two hosts, without any MPI.

use super::{
    access::Networks,
    exit::{check_seconds, code},
};
use std::process::ExitCode;
use tasuki_args::BenchRaw;
use tasuki_bench::{
    lab::peers::{Pair, measure, tests},
    raw::Outcome,
    stats::median,
};
use tasuki_job::Readiness;
use tasuki_terminal::{Failure, print_json, progress_bar, table};

/// Runs the command.
pub fn run(arguments: &BenchRaw) -> Result<ExitCode, Failure> {
    check_seconds(arguments.seconds)?;
    arguments.source.check_rights()?;
    let mut results = Vec::new();
    let hosts = Networks::of(&arguments.source, Readiness::SetUp)?;
    hosts.note().inspect(|note| eprintln!("tasuki: {note}"));
    for network in &hosts.testbeds {
        let pair = Pair::choose(network, arguments.from.as_deref(), arguments.to.as_deref())?;
        let bar = progress_bar(1).with_prefix("raw").with_message(network.name.clone());
        let outcome = measure(network, pair, tests(network, pair, arguments.seconds, !arguments.no_latency));
        bar.finish_and_clear();
        results.push((network.name.clone(), outcome?));
    }
    if arguments.json {
        let named: Vec<_> = results
            .iter()
            .map(|(network, outcome)| serde_json::json!({ "network": network, "outcome": outcome }))
            .collect();
        print_json(&named)?;
    } else {
        print(&results);
    }
    Ok(code(results.iter().all(|(_, outcome)| outcome.failures.is_empty())))
}

fn print(results: &[(String, Outcome)]) {
    let mut rows = table(["network", "protocol", "test", "bytes", "median", "unit", "of the line"]);
    for (network, outcome) in results {
        for result in &outcome.ping_pongs {
            let median = median(&result.samples).unwrap_or(f64::NAN) * 1e6;
            rows.add_row([
                network.clone(),
                result.protocol.to_string(),
                "half round trip".into(),
                result.bytes.to_string(),
                format!("{median:.2}"),
                "us".into(),
                String::new(),
            ]);
        }
        for result in &outcome.throughputs {
            let share = result.line_fraction.map_or("-".into(), |share| format!("{:.1} %", share * 100.0));
            rows.add_row([
                network.clone(),
                result.protocol.to_string(),
                "throughput".into(),
                String::new(),
                format!("{:.1}", result.payload_bytes_per_second() / 1e6),
                "MB/s".into(),
                share,
            ]);
        }
        for failure in &outcome.failures {
            eprintln!("tasuki: {network}: {failure}");
        }
    }
    println!("{rows}");
}
