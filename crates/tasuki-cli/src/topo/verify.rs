//! `tasuki topo verify`

use std::process::ExitCode;
use tasuki_args::VerifyArgs;
use tasuki_plan::{TableFault, Verdict, VerifyOptions, digits, network, verify_tables};
use tasuki_terminal::{Failure, print_json, table};

/// Reads tables and checks them.
pub fn run(arguments: &VerifyArgs) -> Result<ExitCode, Failure> {
    let options = VerifyOptions {
        channels: arguments.channels,
        lossy: arguments.lossy,
        minimal: arguments.minimal,
        without: arguments.without.clone(),
    };
    let verdict = verify_tables(network(&arguments.network)?, &arguments.tables, &options)?;
    if arguments.json {
        print_json(&verdict)?;
    } else {
        print(&verdict);
    }
    Ok(if verdict.refuted.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print(verdict: &Verdict) {
    let by = if verdict.engine.is_empty() { "tables" } else { &verdict.engine };
    println!("{}, {by}", verdict.network);
    match (&verdict.refuted, verdict.lossless) {
        (None, true) => println!("PROVEN: every pair is delivered, and no deadlock can arise"),
        (None, false) => println!("PROVEN: every pair is delivered"),
        (Some(why), _) => println!("REFUTED: {why}"),
    }
    let mut rows = table(["", ""]);
    let mut row = |what: &str, value: String| {
        rows.add_row([what, &value]);
    };
    row("pairs delivered", format!("{} of {}", verdict.delivered, verdict.pairs));
    row("longer than necessary", format!("{}, by up to {} cables", verdict.longer, verdict.excess_max));
    let mean = digits(verdict.cables_mean);
    row("cables on a path", format!("{mean} on average, {} at most", verdict.cables_max));
    row("virtual channels in use", verdict.channels_used.to_string());
    row("waiting between cables", format!("{} pairs of (cable, channel)", verdict.dependencies));
    row("smallest circle of waiting", verdict.circle.as_ref().map_or("none".into(), |all| all.join(", ")));
    println!("{rows}");
    if !verdict.faults.is_empty() {
        let mut rows = table(["from", "to", "what happens"]);
        for TableFault { from, to, what } in &verdict.faults {
            rows.add_row([from, to, what]);
        }
        println!("{rows}");
    }
}
