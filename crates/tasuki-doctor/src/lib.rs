//! Which MPI, lanes and rails a job would use, why, and the command that improves it.
//!
//! [`HostFacts`] are gathered on every host of a fleet; what they mean is judged by a pure function.
//! [`examine`] asks all hosts and adds what is known of the MPIs of this one.
#![forbid(unsafe_code)]

mod facts;
mod faults;
mod finding;
mod firewall;
mod host;
mod mpi;
mod setup;

pub use facts::{BrokerRefusal, HostFacts, NicFacts};
pub use faults::{FaultFacts, FaultRight};
pub use finding::{Finding, Weight};

use setup::Expected;
use std::ffi::OsString;
use tasuki_fleet::{Fleet, HostError, Task};
use tasuki_job::RunError;

/// The hidden subcommand of `tasuki` that prints a host's [`HostFacts`] as JSON.
pub const FACTS_COMMAND: &str = "doctor-facts";

/// All findings: about the provider and the MPI (the program's, the one that `mpi` names, or all that are
/// installed), about every host of the fleet, and about what does not get from one to another.
///
/// # Errors
/// If the program or the MPI that was named is not found, or the fleet's cluster has no plan of addresses.
pub fn examine(
    fleet: &Fleet,
    program: Option<&OsString>,
    mpi: Option<&str>,
) -> Result<Vec<Finding>, RunError> {
    let expected = Expected::of_all(fleet)?;
    let mut findings = mpi::findings(program, mpi)?;
    for (number, answer) in fleet.run_all(&Task::tasuki([FACTS_COMMAND])).into_iter().enumerate() {
        match answer.json::<HostFacts>() {
            Ok(facts) => {
                findings.extend(host::findings(&facts, expected.get(number)));
                findings.extend(faults::finding(&facts));
            }
            Err(HostError { host, why, remedy }) => {
                let remedy = remedy.unwrap_or_else(|| format!("run `tasuki doctor` on {host} itself"));
                findings.push(Finding::broken(&host, why, remedy));
            }
        }
    }
    for blocked in tasuki_firewall::probe(fleet)? {
        let finding = firewall::finding(&blocked);
        // Beside what else is said of its host.
        let behind = findings.iter().rposition(|other| other.about == finding.about);
        findings.insert(behind.map_or(findings.len(), |at| at + 1), finding);
    }
    Ok(findings)
}
