//! How launchers of MPIs reach the machines of a cluster file.

use crate::{
    RemoteShell, SshHosts,
    ssh::{PLAIN, over_ssh},
};
use std::{io, process::Command};
use tasuki_cluster::{Host, HostId, SshTarget};
use tasuki_lab::SshCall;

impl SshHosts {
    /// Whether launchers, which call ssh with the names of hosts, would not reach all of them as this value
    /// does.
    pub fn needs_remote_shell(&self) -> bool {
        let is_plain = |(number, host): (usize, &Host)| {
            let plain = SshTarget { address: &host.name, user: None, port: None, jump: None };
            self.target(HostId(number)).is_none_or(|target| target == plain)
        };
        self.ssh != [PLAIN] || !self.cluster.hosts.iter().enumerate().all(is_plain)
    }

    /// What launchers are to call in the place of ssh; `None`: ssh itself. It is made by the first call, and
    /// goes with the last copy of this value.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn remote_shell(&self) -> io::Result<Option<&RemoteShell>> {
        if !self.needs_remote_shell() {
            return Ok(None);
        }
        if self.shell.get().is_none() {
            let made = RemoteShell::new(&self.cluster, &self.ssh)?;
            return Ok(Some(self.shell.get_or_init(|| made)));
        }
        Ok(self.shell.get())
    }

    /// The command in whose place a launcher has called ours. `root` as a user of the cluster file is who
    /// sets hosts up: ranks of somebody else do not become root's.
    pub(crate) fn of_launcher(&self, call: &SshCall, is_root: bool) -> Result<Command, String> {
        let host = self.cluster.host(&call.host);
        let host = host.ok_or_else(|| format!("the cluster file has no host {:?}", call.host))?;
        let Some(mut target) = self.target(host) else {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(call.script());
            return Ok(command);
        };
        let of_file = target.user.filter(|user| is_root || *user != "root");
        target.user = call.user.as_deref().or(of_file);
        let mut command = over_ssh(&self.ssh, &call.options, target);
        command.args(&call.command);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use tasuki_cluster::Cluster;

    // None of the addresses is this machine's (RFC 5737), and a name alone does not make a host this machine.
    const FILE: &str = r#"
        [[host]]
        name = "n1"
        management = "198.51.100.1"
        nic = [{ name = "eth1" }]
        [[host]]
        name = "n2"
        management = "me@198.51.100.2"
        ssh = { port = 2222, jump = "gate" }
        nic = [{ name = "eth1" }]
        [[cable]]
        ends = ["n1:eth1", "n2:eth1"]
    "#;

    fn machines() -> SshHosts {
        SshHosts::new(Cluster::parse(FILE, None).unwrap())
    }

    fn call(words: &str) -> SshCall {
        SshCall::parse(words.split(' ').map(OsString::from).collect()).unwrap()
    }

    fn line(command: &Command) -> Vec<String> {
        let words = [command.get_program()].into_iter().chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn launchers_reach_hosts_as_the_file_says_and_their_words_stay_as_they_are() {
        let way = |words: &str, is_root| {
            let text = line(&machines().of_launcher(&call(words), is_root).unwrap()).join(" ");
            text.replace("-o BatchMode=yes -o ConnectTimeout=10", "QUIET")
        };
        let jump = "-o ProxyCommand=ssh QUIET -W '[%h]:%p' -- gate";
        let orted = "n2 PATH=/x:$PATH ; export PATH ; orted -mca \"a b\" 1";
        let words = orted.strip_prefix("n2 ").unwrap();
        assert_eq!(way(orted, false), format!("ssh QUIET -p 2222 {jump} -l me -- 198.51.100.2 {words}"));
        // Hydra has an option before the host, and a name that the launcher gives goes before the file's.
        assert_eq!(
            way("-x you@n2 p", false),
            format!("ssh -x QUIET -p 2222 {jump} -l you -- 198.51.100.2 p")
        );
        let error = machines().of_launcher(&call("n3 orted"), false).unwrap_err();
        assert!(error.contains("no host \"n3\""), "{error}");
    }

    #[test]
    fn ranks_of_a_user_do_not_become_roots() {
        let mut hosts = machines();
        hosts.cluster.hosts[1].management = Some("root@198.51.100.2".parse().unwrap());
        let users = |is_root| {
            let words = line(&hosts.of_launcher(&call("n2 p"), is_root).unwrap());
            words.windows(2).filter(|pair| pair[0] == "-l").map(|pair| pair[1].clone()).collect::<Vec<_>>()
        };
        assert_eq!([users(true), users(false)], [vec!["root".to_owned()], vec![]]);
    }

    #[test]
    fn plain_ssh_is_enough_where_the_file_says_nothing_else() {
        let plain = FILE.replace("management = \"me@198.51.100.2\"", "");
        let of = |text: &str| SshHosts::new(Cluster::parse(text, None).unwrap());
        assert!(of(&plain).needs_remote_shell());
        let plain = plain.replace("ssh = { port = 2222, jump = \"gate\" }", "");
        assert!(of(&plain).needs_remote_shell(), "n1 has an address of its own");
        let plain = plain.replace("management = \"198.51.100.1\"", "");
        assert!(!of(&plain).needs_remote_shell() && of(&plain).remote_shell().unwrap().is_none());
        assert!(of(&format!("[ssh]\nport = 2222\n{plain}")).needs_remote_shell());
        let ssh = ["ssh", "-F", "config"].map(str::to_owned).to_vec();
        assert!(SshHosts::through(of(&plain).cluster, ssh, vec!["tasuki".into()]).needs_remote_shell());
    }
}
