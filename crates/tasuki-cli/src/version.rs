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

/// What is wrong with what the others have said, if something is.
fn complaint(here: &str, answers: &[Answer]) -> Option<String> {
    let wrong: Vec<String> = answers
        .iter()
        .filter_map(|answer| {
            let host = answer.host.as_deref().unwrap_or("a host");
            match &answer.text {
                Ok(text) if text.trim() == OWN => None,
                Ok(text) => Some(format!("{host} has {}", text.lines().next().unwrap_or("").trim())),
                Err(why) => Some(format!("{host} does not tell ({why})")),
            }
        })
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

    fn answer(host: &str, text: Result<&str, &str>) -> Answer {
        let text = text.map(str::to_owned).map_err(str::to_owned);
        Answer { host: Some(host.into()), text }
    }

    #[test]
    fn a_host_with_another_version_is_named_with_it_and_a_host_without_too() {
        let same = format!("{OWN}\n");
        assert_eq!(complaint("n1", &[answer("n2", Ok(&same)), answer("n3", Ok(&same))]), None);
        let mixed = [
            answer("n2", Ok(&same)),
            answer("n3", Ok("tasuki 9.9.9\n")),
            answer("n4", Err("exit code 127: sh: tasuki: not found")),
        ];
        let said = complaint("n1", &mixed).unwrap();
        for part in [&format!("n1 has {OWN}"), "n3 has tasuki 9.9.9", "n4 does not tell", "not found"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("n2"), "{said}");
    }
}
