//! Ways through jump hosts.
//!
//! `ssh -J` starts further programs of ssh for the jump hosts and passes them next to nothing of its own
//! options: they may ask for a password on the terminal, and wait long. So they are started here, by ssh's
//! `ProxyCommand`.

use std::ffi::OsStr;
use tasuki_cluster::{SshTarget, through};
use tasuki_process::quote;

/// What every ssh is told: to ask nobody for a password, and not to wait long for a machine that is off.
pub const QUIET: [&str; 4] = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"];

/// Options of ssh that are about its own target and not about a jump host, and that have a value.
const OF_TARGET: [&str; 3] = ["-p", "-l", "-J"];

/// The arguments that lead an ssh (program and options) to its target through jump hosts, as `ssh -J` takes
/// them.
pub fn arguments(ssh: &[String], jump: &str) -> Vec<String> {
    let Some(hosts) = through(jump) else { return vec!["-J".into(), jump.to_owned()] };
    let mut proxy: Option<String> = None;
    for host in hosts {
        proxy = Some(command(ssh, &host, proxy));
    }
    proxy.map_or_else(Vec::new, |command| vec!["-o".into(), format!("ProxyCommand={command}")])
}

/// A line for the shell that connects to what ssh puts in for `%h` and `%p`, through a host that is itself
/// reached by `before`.
fn command(ssh: &[String], host: &SshTarget<'_>, before: Option<String>) -> String {
    let mut words = vec![ssh[0].clone()];
    words.extend(without_target(&ssh[1..]));
    words.extend(QUIET.map(str::to_owned));
    words.extend(before.map(|before| ["-o".into(), format!("ProxyCommand={before}")]).into_iter().flatten());
    words.extend(host.port.map(|port| ["-p".into(), port.to_string()]).into_iter().flatten());
    words.extend(host.user.map(|user| ["-l".into(), user.to_owned()]).into_iter().flatten());
    words.push("-W".into());
    // A % of any word but this one is itself.
    let mut line: Vec<String> = words.iter().map(|word| quote(OsStr::new(word)).replace('%', "%%")).collect();
    line.extend(["'[%h]:%p'".into(), "--".into(), quote(OsStr::new(host.address)).replace('%', "%%")]);
    line.join(" ")
}

/// Options of ssh without those that say where its target is, or that it gets a terminal.
fn without_target(options: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        if OF_TARGET.contains(&option.as_str()) {
            rest.next();
        } else if !OF_TARGET.iter().any(|name| option.starts_with(name)) && !option.starts_with("-t") {
            kept.push(option.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, process::Command};

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn one_jump_host_is_reached_with_the_same_options_and_asks_nobody() {
        let ssh = words("/opt/ssh -F my%config -p 2222 -lme -i key -t");
        let way = arguments(&ssh, "root@[fe80::1%eth0]:22");
        let line = "ProxyCommand=/opt/ssh -F my%%config -i key -o BatchMode=yes -o ConnectTimeout=10 -p 22 \
                    -l root -W '[%h]:%p' -- fe80::1%%eth0";
        assert_eq!(way, ["-o", line]);
        assert_eq!(arguments(&ssh, "none"), ["-J", "none"]);
    }

    /// A program stands for ssh: it does with its `ProxyCommand` what ssh does, for a target with the name
    /// and port that it is itself told, and writes down where it was led.
    #[test]
    fn several_jump_hosts_are_reached_each_through_the_one_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let (ssh, log) = (folder.path().join("s s%h"), folder.path().join("log"));
        let script = r#"port=22
while [ "$1" != -- ]; do
  case "$1" in
    -o) case "$2" in ProxyCommand=*) proxy=${2#ProxyCommand=};; esac; shift;;
    -p) port=$2; shift;;
    -W) to=$2; shift;;
  esac
  shift
done
[ -n "$proxy" ] && sh -c "exec $(printf %s "$proxy" | sed "s/%%/\a/g; s/%h/$2/g; s/%p/$port/g; s/\a/%/g")"
echo "$2 $port to $to" >> "$(dirname "$0")/log"
"#;
        fs::write(&ssh, script).expect("a script");
        let way = arguments(&["sh".into(), ssh.display().to_string()], "a,me@b:2222,c");
        let status = Command::new("sh").arg(&ssh).args(way).args(["--", "n2"]).status().expect("it runs");
        let log = fs::read_to_string(log).expect("a log");
        assert!(status.success());
        let expected = "a 22 to [b]:2222\nb 2222 to [c]:22\nc 22 to [n2]:22\nn2 22 to \n";
        assert_eq!(log, expected);
    }
}
