//! How ssh was to reach a host, for the error that it did not.

use crate::{SshHosts, answer::NOT_REACHED};
use std::{env, io, net::Ipv4Addr, path::PathBuf};
use tasuki_cluster::HostId;
use tasuki_process::{Output, quote};

/// How ssh reaches a host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Way {
    /// What ssh is given, as one would type it.
    pub target: String,
    /// The cluster file that says how the host is reached, if one does.
    pub file: Option<PathBuf>,
    /// The address of the host's cables, if that is what its name leads to.
    pub by_cables: Option<Ipv4Addr>,
    /// The user who has become root by sudo.
    pub sudo_user: Option<String>,
}

impl Way {
    /// How ssh reaches a host that is another machine. Where its name leads is looked up only if it was not
    /// reached: names may take long.
    pub fn of(hosts: &SshHosts, host: HostId, output: &io::Result<Output>) -> Option<Self> {
        let target = hosts.target(host)?.to_string();
        let file = hosts.cluster.source.clone();
        // sudo names itself as the user where root calls it.
        let sudo_user =
            env::var("SUDO_USER").ok().filter(|user| nix::unistd::geteuid().is_root() && user != "root");
        let is_unreached = output.as_ref().is_ok_and(|output| output.code == Some(NOT_REACHED));
        let by_cables = is_unreached.then(|| hosts.by_cables(host)).flatten();
        Some(Self { target, file, by_cables, sudo_user })
    }

    /// What helps if the host was not reached.
    pub fn remedy(&self) -> String {
        let (sudo, keys) = match &self.sudo_user {
            Some(user) => ("sudo ", format!(" (under sudo the keys of root count, not those of {user})")),
            None => ("", String::new()),
        };
        let try_it = format!("try `{sudo}ssh {} true`{keys}", self.target);
        if let Some(address) = self.by_cables {
            let file = self.file.as_ref().map_or_else(|| "FILE".into(), |file| quote(file.as_os_str()));
            return format!(
                "{try_it}; that name leads to {address}, an address that the host has only while it is set \
                 up. If it was started again since, give the hosts their names back and set them up: `sudo \
                 tasuki down {file}`, then `sudo tasuki apply {file}` (with --persist also at every start)"
            );
        }
        match self.file.is_some() {
            true => format!("{try_it}; `management` and `ssh` in the cluster file say how it is reached"),
            false => format!("{try_it}; ~/.ssh/config can say how it is reached"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_helps_says_whose_keys_count_and_where_a_name_leads() {
        let plain = Way { target: "root@n2".into(), file: Some("my cluster.toml".into()), ..Way::default() };
        assert!(plain.remedy().starts_with("try `ssh root@n2 true`; `management`"), "{}", plain.remedy());
        let by_sudo = Way { sudo_user: Some("me".into()), ..plain.clone() };
        let said = by_sudo.remedy();
        assert!(
            said.starts_with("try `sudo ssh root@n2 true`") && said.contains("not those of me"),
            "{said}"
        );
        let stale = Way { by_cables: Some(Ipv4Addr::new(10, 77, 0, 2)), ..plain };
        let said = stale.remedy();
        for word in
            ["10.77.0.2", "`sudo tasuki down 'my cluster.toml'`", "apply 'my cluster.toml'` (with --persist"]
        {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
}
