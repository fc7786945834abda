//! Hosts that are named on the command line, as a cluster that ssh reaches: without NICs, as nothing is known
//! of them yet.

use crate::DiscoverError;
use std::collections::BTreeSet;
use tasuki_cluster::{Cluster, Host, SshAddress, SshOptions, check_label};

/// The cluster of these hosts, each as ssh is given it: `name`, `address`, `user@address`.
///
/// # Errors
/// If one cannot be an address for ssh.
pub fn ssh_hosts(name: &str, hosts: &[String]) -> Result<Cluster, DiscoverError> {
    let (mut used, mut known) = (BTreeSet::new(), BTreeSet::new());
    let mut list = Vec::new();
    for (number, text) in hosts.iter().enumerate() {
        let bad = |why| DiscoverError::BadHost { host: text.clone(), why };
        let address: SshAddress = text.parse().map_err(bad)?;
        if !known.insert(address.address().to_ascii_lowercase()) {
            return Err(bad("it is named twice".into()));
        }
        let short = address.address().split('.').next().unwrap_or_default();
        let plain = if check_label(short).is_ok() { short.to_owned() } else { format!("host{}", number + 1) };
        let mut name = plain.clone();
        let mut copy = 2;
        while !used.insert(name.to_ascii_lowercase()) {
            name = format!("{plain}-{copy}");
            copy += 1;
        }
        list.push(bare_host(name, Some(address)));
    }
    Ok(Cluster { hosts: list, ..Cluster::empty(name.into()) })
}

/// A host of which only the name is known, and how ssh reaches it.
pub(crate) fn bare_host(name: String, management: Option<SshAddress>) -> Host {
    Host {
        name,
        management,
        ssh: SshOptions::default(),
        cores: None,
        rack: None,
        module: None,
        relay: true,
        delay: None,
        nics: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_as_they_are_typed_where_that_is_a_name() {
        let typed = ["n1", "root@n2.example.org", "10.0.0.7", "n1.other.org"].map(str::to_owned);
        let cluster = ssh_hosts("c", &typed).unwrap();
        let names: Vec<_> = cluster.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["n1", "n2", "host3", "n1-2"]);
        assert_eq!(cluster.ssh_target(tasuki_cluster::HostId(1)).to_string(), "root@n2.example.org");
        // One machine, however it is written, has its cables once.
        for twice in [["n1", "n1"], ["n1", "root@N1"]] {
            let error = ssh_hosts("c", &twice.map(str::to_owned)).unwrap_err().to_string();
            assert!(error.contains(twice[1]) && error.contains("named twice"), "{error}");
        }
        let error = ssh_hosts("c", &["-oProxyCommand=id".into()]).unwrap_err().to_string();
        assert!(error.contains("-oProxyCommand=id"), "{error}");
    }
}
