//! All hosts of a job run the same version of Tasuki: one does not understand packets and addresses of
//! another.

use crate::RunError;
use tasuki_cluster::Cluster;
use tasuki_fleet::{Fleet, HostError, SshHosts, Task, for_each_host, host_name};

/// What `tasuki --version` prints on this host.
const OWN: &str = concat!("tasuki ", env!("CARGO_PKG_VERSION"));

/// Whether a version, as `tasuki --version` gives it behind the name, is that of this program.
pub(crate) fn is_own(version: &str) -> bool {
    version == env!("CARGO_PKG_VERSION")
}

/// Name and version in the line that `tasuki --version` prints. The commit behind them is for people:
/// packages of one version may be built of several.
fn name_and_version(line: &str) -> &str {
    line.split(" (").next().unwrap_or(line)
}

/// The line of `tasuki --version` in what came with it. A start file of the host's shell may print before it.
fn version_line(text: &str) -> &str {
    let is_version = |line: &&str| line.starts_with("tasuki ");
    text.lines().rfind(is_version).or_else(|| text.lines().next()).unwrap_or("none")
}

/// Asks all other hosts over ssh for their version.
///
/// # Errors
/// If hosts do not answer, or have another version; the error names them.
pub(crate) fn check_same_everywhere(cluster: &Cluster) -> Result<(), RunError> {
    let fleet = Fleet::Ssh(Box::new(SshHosts::new(cluster.clone())));
    let others: Vec<usize> = (0..fleet.len()).filter(|&host| !fleet.is_here(host)).collect();
    let ask = |number: usize| fleet.run(others[number], &Task::tasuki(["--version"]));
    let answers = for_each_host(others.len(), ask).into_iter();
    let answers: Vec<_> = answers.map(|answer| (answer.host.clone(), answer.text())).collect();
    match complaint(&host_name(), &answers) {
        None => Ok(()),
        Some(text) => Err(RunError::Versions(text)),
    }
}

/// What is wrong with the hosts' answers, if something is. A host that cannot be reached is not said to have
/// another version.
fn complaint(local: &str, answers: &[(String, Result<String, HostError>)]) -> Option<String> {
    let errors: Vec<String> =
        answers.iter().filter_map(|(_, answer)| Some(answer.as_ref().err()?.to_string())).collect();
    if !errors.is_empty() {
        return Some(errors.join("\n"));
    }
    let printed = answers.iter().filter_map(|(host, answer)| Some((host, answer.as_ref().ok()?.trim())));
    let versions = printed.map(|(host, text)| (host, version_line(text)));
    let wrong: Vec<String> = versions
        .filter(|(_, version)| name_and_version(version) != OWN)
        .map(|(host, version)| format!("{host} has {version}"))
        .collect();
    if wrong.is_empty() {
        return None;
    }
    Some(format!(
        "all hosts of a job must run the same version: {local} has {OWN}, {}; install the same package on \
         all, or run over TCP (--transport tcp)",
        wrong.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(host: &str, text: Result<&str, &str>) -> (String, Result<String, HostError>) {
        let error =
            |why: &str| HostError { host: host.into(), why: why.into(), remedy: Some("try it".into()) };
        (host.into(), text.map(str::to_owned).map_err(error))
    }

    #[test]
    fn a_host_with_another_version_is_named_with_it() {
        let same = format!("{OWN} (0123456789ab)\n");
        assert_eq!(complaint("n1", &[answer("n2", Ok(&same)), answer("n3", Ok(&same))]), None);
        let said = complaint("n1", &[answer("n2", Ok(&same)), answer("n3", Ok("tasuki 9.9.9\n"))]).unwrap();
        for part in [&format!("n1 has {OWN}"), "n3 has tasuki 9.9.9", "same version"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("n2"), "{said}");
    }

    #[test]
    fn what_a_start_file_prints_is_no_version() {
        let same = format!("Welcome\n{OWN} (0123456789ab)\n");
        assert_eq!(complaint("n1", &[answer("n2", Ok(&same))]), None);
        let said = complaint("n1", &[answer("n2", Ok("Welcome\ntasuki 9.9.9\n"))]).unwrap();
        assert!(said.contains("n2 has tasuki 9.9.9"), "{said}");
    }

    #[test]
    fn a_host_that_is_not_reached_is_not_said_to_have_another_version() {
        let why = "it does not answer: ssh: Could not resolve hostname n4: Name or service not known";
        let said = complaint("n1", &[answer("n3", Ok("tasuki 9.9.9")), answer("n4", Err(why))]).unwrap();
        assert_eq!(said, format!("n4: {why}; try it"));
    }
}
