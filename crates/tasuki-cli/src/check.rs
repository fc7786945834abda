//! `tasuki check`: an agent on every host, and what they found.

use crate::fleet;
use std::{
    io::{stdin, stdout},
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};
use tasuki_args::CheckArgs;
use tasuki_check::{
    Agents, BurnIn, BurnInOptions, Checker, Options, Report, Switches, add_firewalls, expected_cluster,
    faults, nas_kernels, verdict,
};
use tasuki_cluster::Cluster;
use tasuki_fleet::Fleet;
use tasuki_plan::{picture::draw_cluster, write_file};
use tasuki_process::ignore_broken_pipes;
use tasuki_terminal::{Failure, Verdict, paragraph, percent_bar, print_json, print_verdict};
use tasuki_topo::Network;

/// Exit code when nothing could be checked.
const UNKNOWN: u8 = 3;
/// Steps of the progress bar.
const PARTS: f64 = 1000.0;

/// Runs the agent of this host, which takes orders on standard input and answers on standard output.
pub fn agent() -> Result<ExitCode, Failure> {
    tasuki_check::agent::run(stdin().lock(), stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the command.
pub fn run(arguments: &CheckArgs) -> Result<ExitCode, Failure> {
    let unknown = |failure: Failure| failure.with_code(UNKNOWN);
    arguments.overwrite.check_file(arguments.report.as_deref()).map_err(unknown)?;
    let (report, cluster) = check(arguments).map_err(unknown)?;
    if let Some(file) = &arguments.report {
        let page = tasuki_check::page(&report, SystemTime::now(), &picture(&report, &cluster));
        write_file(file, &page).map_err(|error| unknown(error.into()))?;
    }
    if arguments.json {
        print_json(&report).map_err(unknown)?;
    } else {
        show(&report);
    }
    Ok(ExitCode::from(report.exit_code()))
}

/// The cabling with the parts at fault marked; empty if it is too large for a picture.
fn picture(report: &Report, cluster: &Cluster) -> String {
    let net = Network::from_cluster(cluster).ok();
    let drawn = net.and_then(|net| draw_cluster(&net, cluster, &faults(report)).ok());
    drawn.unwrap_or_default()
}

/// Checks the hosts. Returns what was found, and the cluster that they should be.
fn check(arguments: &CheckArgs) -> Result<(Report, Cluster), Failure> {
    // A host whose agent has ended is reported, and must not end the check; commands that are started have
    // the default action again.
    ignore_broken_pipes()?;
    let fleet = fleet_of(arguments)?;
    let cluster = expected_cluster(&fleet)?;
    let nas = arguments.nas.as_deref();
    // A folder without kernels is reported now, not after hours of other stages.
    nas.map(nas_kernels).transpose()?;
    let burn_in = arguments
        .stages
        .contains(&4)
        .then(|| {
            let cluster = arguments.cluster.as_deref();
            BurnIn::new(&fleet, BurnInOptions { cluster, nas, memory_mb: arguments.memory_mb })
        })
        .transpose()?;
    for note in burn_in.iter().flat_map(BurnIn::notes) {
        eprintln!("tasuki: {note}");
    }
    let from_clock =
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.subsec_nanos().into());
    let options = Options {
        stages: arguments.stages.clone(),
        seed: arguments.seed.unwrap_or_else(from_clock),
        time: arguments.time,
        total_bits_per_second: None,
        memory_mb: arguments.memory_mb,
        errors_per_hour: arguments.errors_per_hour,
    };
    let bar = percent_bar(PARTS as u64).with_prefix("check");
    let mut progress = |done: f64, what: &str| {
        bar.set_position((done * PARTS) as u64);
        bar.set_message(what.to_owned());
    };
    let options = options.for_fleet(&fleet);
    let mut report =
        Checker::new(&cluster, Agents::start(&fleet), Switches::of_fleet(&fleet), options, &mut progress)?
            .run();
    if arguments.stages.contains(&2) {
        progress(0.95, "firewalls");
        add_firewalls(&fleet, &mut report)?;
    }
    if let Some(burn_in) = burn_in {
        burn_in.run(&mut report, |number, name| {
            bar.set_position((950 + number * 6) as u64);
            bar.set_message(name.to_owned());
        })?;
    }
    bar.finish_and_clear();
    Ok((report, cluster))
}

/// The hosts to check: a cluster file's, or a lab's, held against the file if both are named.
fn fleet_of(arguments: &CheckArgs) -> Result<Fleet, Failure> {
    let cluster = arguments.cluster.as_deref().map(Cluster::load).transpose()?;
    match fleet::named(arguments.lab.as_deref(), cluster, &arguments.remote)? {
        Some(fleet) => Ok(fleet),
        None => fleet::only_lab(),
    }
}

/// Prints what a check has found.
pub fn show(report: &Report) {
    for finding in &report.findings {
        let (verdict, word) =
            if finding.warning { (Verdict::Doubtful, "warning") } else { (Verdict::Bad, "FAULT") };
        print_verdict(verdict, "", word, &format!(": {}", finding.part));
        println!("  {}", paragraph(&finding.says, 2));
        let evidence = finding.evidence.iter().filter(|seen| !seen.is_empty());
        evidence.for_each(|seen| println!("  - {}", paragraph(seen, 4)));
        println!("  -> {}\n", finding.advice);
    }
    let stages: Vec<_> = report.stages.iter().map(u8::to_string).collect();
    let worst = report.findings.iter().map(|finding| finding.warning).min();
    let meant = match worst {
        None => Verdict::Well,
        Some(true) => Verdict::Doubtful,
        Some(false) => Verdict::Bad,
    };
    let rest = format!("; stages {}, {:.1} s, seed {}", stages.join(","), report.seconds, report.seed);
    print_verdict(meant, &format!("{}: ", report.cluster), &verdict(report), &rest);
}
