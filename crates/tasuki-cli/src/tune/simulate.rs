//! `tasuki tune simulate`: the controller against every fixed delay, and against what the kernel has for
//! `adaptive-rx`.

use std::process::ExitCode;
use tasuki_args::TuneSimulate;
use tasuki_terminal::{Failure, percent_bar, print_json, table};
use tasuki_tune::{
    Machine,
    comparison::{COMPARISONS, Comparison, compare_all},
    experiment::Outcome,
};

/// Runs the command.
pub fn run(arguments: &TuneSimulate) -> Result<ExitCode, Failure> {
    let seeds: Vec<u64> = (arguments.seed..).take(arguments.runs as usize).collect();
    let bar = percent_bar(COMPARISONS as u64);
    let rows = compare_all(&seeds, || bar.inc(1));
    bar.finish_and_clear();
    if arguments.json {
        print_json(&rows)?;
    } else {
        print(&rows);
    }
    Ok(ExitCode::SUCCESS)
}

fn print(rows: &[Comparison]) {
    for machine in &Machine::ALL {
        println!(
            "{}: interrupt {:.1} us, packet {:.1} us, round trip {:.0} us",
            machine.name,
            machine.costs.interrupt_ns / 1e3,
            machine.costs.packet_ns / 1e3,
            machine.round_trip_ns / 1e3
        );
        println!("  {}", machine.source);
        let mut out = table([
            "level",
            "best fixed",
            "off",
            "longest",
            "controller",
            "of the best",
            "interrupts/s",
            "busy",
            "adaptive-rx",
            "of the best",
        ]);
        for row in rows.iter().filter(|row| row.machine == machine.name) {
            let levels: Vec<_> = row.levels.iter().map(usize::to_string).collect();
            let best = row.fixed.iter().map(|(_, turns)| *turns).fold(0.0, f64::max);
            let part = |end: Option<&(u32, f64)>| {
                end.map_or(String::new(), |(_, turns)| format!("{:.3}", turns / best))
            };
            let mean_of = |outcomes: &[Outcome], of: &dyn Fn(&Outcome) -> f64| {
                outcomes.iter().map(of).sum::<f64>() / outcomes.len().max(1) as f64
            };
            let mean = |of: &dyn Fn(&Outcome) -> f64| mean_of(&row.controller, of);
            out.add_row([
                levels.join(" and "),
                format!("{} us{}", row.best_us, if row.between { " (between)" } else { "" }),
                part(row.fixed.first()),
                part(row.fixed.last()),
                format!("{:.0} us", mean(&|one| one.us)),
                format!("{:.3} +- {:.3}", row.ratio.0, row.ratio.1),
                format!("{:.0}", mean(&|one| one.interrupts)),
                format!("{:.0} %", mean(&|one| one.busy) * 100.0),
                format!("{:.0} us", mean_of(&row.dim, &|one| one.us)),
                format!("{:.3} +- {:.3}", row.dim_ratio.0, row.dim_ratio.1),
            ]);
        }
        println!("{out}\n");
    }
}
