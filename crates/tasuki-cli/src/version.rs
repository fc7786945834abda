//! Hosts of one job run one version: packets and addresses of another are not understood.

use crate::{
    failure::Failure,
    places::{Answer, Places, host_name},
};
use tasuki_cluster::Cluster;

/// What `tasuki --version` prints here.
const OWN: &str = concat!("tasuki ", env!("CARGO_PKG_VERSION"));

/// Asks all other hosts over ssh for their version; an error names those that have another, or none.
pub fn same_everywhere(cluster: &Cluster) -> Result<(), Failure> {
    let here = host_name();
    let mut others = cluster.clone();
    others.hosts.retain(|host| host.name != here);
    match complaint(&here, &Places::Cluster(Box::new(others)).ask(&["--version"])) {
        None => Ok(()),
        Some(text) => Err(Failure::new(text)),
    }
}

/// What is wrong with what the others have said, if something is. A host that cannot be reached has no wrong version.
fn complaint(here: &str, answers: &[Answer]) -> Option<String> {
    let name = |answer: &Answer| answer.host.clone().unwrap_or_else(|| "a host".into());
    let silent: Vec<String> = answers
        .iter()
        .filter_map(|answer| Some(format!("{}: {}", name(answer), answer.text.as_ref().err()?)))
        .collect();
    if !silent.is_empty() {
        return Some(silent.join("\n"));
    }
    let versions =
        answers.iter().filter_map(|answer| Some((name(answer), answer.text.as_ref().ok()?.trim())));
    let wrong: Vec<String> = versions
        .filter(|(_, version)| *version != OWN)
        .map(|(host, version)| format!("{host} has {}", version.lines().next().unwrap_or("none")))
        .collect();
    if wrong.is_empty() {
        return None;
    }
    Some(format!(
        "all hosts of a job must run the same version: {here} has {OWN}, {}; install the same package on all, or run over TCP (--transport tcp)",
        wrong.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Unanswered;

    fn answer(host: &str, text: Result<&str, &str>) -> Answer {
        let unanswered = |why: &str| Unanswered { why: why.into(), remedy: Some("try it".into()) };
        Answer { host: Some(host.into()), text: text.map(str::to_owned).map_err(unanswered) }
    }

    #[test]
    fn a_host_with_another_version_is_named_with_it() {
        let same = format!("{OWN}\n");
        assert_eq!(complaint("n1", &[answer("n2", Ok(&same)), answer("n3", Ok(&same))]), None);
        let said = complaint("n1", &[answer("n2", Ok(&same)), answer("n3", Ok("tasuki 9.9.9\n"))]).unwrap();
        for part in [&format!("n1 has {OWN}"), "n3 has tasuki 9.9.9", "same version"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("n2"), "{said}");
    }

    #[test]
    fn a_host_that_is_not_reached_is_not_said_to_have_another_version() {
        let why = "it does not answer: ssh: Could not resolve hostname n4: Name or service not known";
        let said = complaint("n1", &[answer("n3", Ok("tasuki 9.9.9")), answer("n4", Err(why))]).unwrap();
        assert_eq!(said, format!("n4: {why}; try it"));
    }
}
