//! `tasuki doctor`: what would be used, why, and what improves it.

mod facts;
mod finding;
mod host;
mod mpi;

use crate::{
    args::DoctorArgs,
    failure::Failure,
    terminal::{print_json, print_json_line},
};
use facts::HostFacts;
use finding::{Finding, Weight};
use std::process::ExitCode;
use tasuki_fleet::{Fleet, HostError, Task};

/// The internal command that runs on every host: its facts, as JSON.
pub fn facts_here() -> Result<ExitCode, Failure> {
    print_json_line(&HostFacts::here())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the command.
pub fn run(arguments: &DoctorArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let mut findings = mpi::findings(arguments.program.as_ref(), arguments.mpi.as_deref())?;
    for answer in fleet.run_all(&Task::tasuki(["doctor-facts"])) {
        match answer.json::<HostFacts>() {
            Ok(facts) => findings.extend(host::findings(&facts)),
            Err(HostError { host, why, remedy }) => {
                let remedy = remedy.unwrap_or_else(|| format!("run `tasuki doctor` on {host} itself"));
                findings.push(Finding::broken(&host, why, remedy));
            }
        }
    }
    if arguments.json {
        print_json(&findings)?;
    } else {
        print(&fleet.title(), &findings);
    }
    let worst = findings.iter().map(|finding| finding.weight).max();
    Ok(if worst == Some(Weight::Broken) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Findings under the headings of what they are about, in the order in which they came.
fn print(title: &str, findings: &[Finding]) {
    println!("{title}");
    for group in findings.chunk_by(|a, b| a.about == b.about) {
        println!("\n{}", group[0].about);
        for finding in group {
            let mark = match finding.weight {
                Weight::Well => "  ok    ",
                Weight::Slower => "  slower",
                Weight::Broken => "  BROKEN",
            };
            println!("{mark}  {}", finding.what);
            if let Some(remedy) = &finding.remedy {
                println!("          -> {remedy}");
            }
        }
    }
}
