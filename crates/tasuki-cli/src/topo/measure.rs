//! `tasuki topo measure`

use super::steps::steps;
use std::process::ExitCode;
use tasuki_args::MeasureArgs;
use tasuki_cluster::RouteLoads;
use tasuki_plan::{MEASURE_STEPS, Measures, measure, measure_rows, named};
use tasuki_terminal::{Failure, print_json, progress_bar, table};

/// Measures a network and prints the measures.
pub fn run(arguments: &MeasureArgs) -> Result<ExitCode, Failure> {
    let bar = progress_bar(MEASURE_STEPS + 1).with_prefix("measure");
    let mut step = steps(&bar);
    step("network");
    let found = named(&arguments.network);
    let measures = found.map(|found| {
        let routes = found.cluster.as_ref().map(RouteLoads::new);
        measure(&found.net, routes.as_ref(), &arguments.prices.into(), &mut step)
    });
    bar.finish_and_clear();
    let measures = measures?;
    if arguments.json {
        print_json(&measures)?;
    } else {
        print(&measures);
    }
    Ok(ExitCode::SUCCESS)
}

fn print(measures: &Measures) {
    let mut shown = table(["", measures.network.as_str()]);
    for row in measure_rows(measures) {
        shown.add_row(row);
    }
    println!("{shown}");
}
