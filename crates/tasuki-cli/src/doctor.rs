//! `tasuki doctor`: what would be used, why, and what improves it.

use std::{
    io::{stdin, stdout},
    process::ExitCode,
};
use tasuki_args::DoctorArgs;
use tasuki_doctor::{Finding, HostFacts, Weight, examine};
use tasuki_fleet::Fleet;
use tasuki_terminal::{Failure, Verdict, paragraph, print_json, print_json_line, print_verdict};

/// The internal command that every host runs: prints its facts as JSON.
pub fn local_facts() -> Result<ExitCode, Failure> {
    print_json_line(&HostFacts::local())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the agent that hosts have while what gets through between them is tried.
pub fn firewall_agent() -> Result<ExitCode, Failure> {
    tasuki_firewall::agent::run(stdin().lock(), stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the command.
pub fn run(arguments: &DoctorArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let findings = examine(&fleet, arguments.program.as_ref(), arguments.mpi.as_deref())?;
    if arguments.json {
        print_json(&findings)?;
    } else {
        print(&fleet.title(), &findings);
    }
    let worst = findings.iter().map(|finding| finding.weight).max();
    Ok(if worst == Some(Weight::Broken) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints findings in their order, under headings that say what they are about.
fn print(title: &str, findings: &[Finding]) {
    println!("{title}");
    for group in findings.chunk_by(|a, b| a.about == b.about) {
        println!("\n{}", group[0].about);
        for finding in group {
            let (verdict, word) = match finding.weight {
                Weight::Well => (Verdict::Well, "ok    "),
                Weight::Slower => (Verdict::Doubtful, "slower"),
                Weight::Broken => (Verdict::Bad, "BROKEN"),
            };
            print_verdict(verdict, "  ", word, &format!("  {}", paragraph(&finding.what, 10)));
            if let Some(remedy) = &finding.remedy {
                let lines = remedy.lines().enumerate();
                lines.for_each(|(number, line)| {
                    println!("          {} {line}", if number == 0 { "->" } else { "or" });
                });
            }
        }
    }
}
