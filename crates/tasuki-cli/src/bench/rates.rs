//! `tasuki bench rates`: computes the rate at which a message can be sent without loss.

use std::process::ExitCode;
use tasuki_args::BenchRates;
use tasuki_bench::rates::{published_rates, rates, rates_table};
use tasuki_rate::{Receiver, Static};
use tasuki_terminal::{Failure, print_json};

/// Runs the command.
pub fn run(arguments: &BenchRates) -> Result<ExitCode, Failure> {
    let rows = match (arguments.drain, arguments.buffer, arguments.link) {
        (Some(drain), Some(buffer_bytes), Some(link)) => {
            let receiver = Receiver { drain_bps: drain.bits_per_second as f64, buffer_bytes };
            rates("receiver", Static { receiver, link_bps: link.bits_per_second as f64 }, &arguments.bytes)
        }
        _ => published_rates(&arguments.bytes),
    };
    if arguments.json {
        print_json(&rows)?;
    } else {
        print!("{}", rates_table(&rows));
    }
    Ok(ExitCode::SUCCESS)
}
