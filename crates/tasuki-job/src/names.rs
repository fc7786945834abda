//! Whether the names of hosts lead anywhere. Launchers reach hosts by them, and answer an unknown one with a
//! page about daemons, or by waiting.

use crate::RunError;
use std::{io, net::ToSocketAddrs, thread};

/// Refuses a job on hosts whose names have no address on this machine. `apply` is the command that writes
/// the names of all hosts.
///
/// # Errors
/// If there are such hosts; the error names each, with what the system says, and what helps.
pub(crate) fn check_names(hosts: &[String], apply: &str) -> Result<(), RunError> {
    let unknown = unknown(hosts, |name| (name, 0).to_socket_addrs().map(drop));
    if unknown.is_empty() {
        return Ok(());
    }
    let [first, ..] = &unknown[..] else { return Ok(()) };
    Err(RunError::UnknownHosts(format!(
        "{}\nThe launcher reaches hosts by their names: `{apply}` writes them into /etc/hosts of every host \
         (unless told --no-names); or add a line by hand on every host, as `ADDRESS {}`",
        unknown.iter().map(|(host, why)| format!("{host}: no address: {why}")).collect::<Vec<_>>().join("\n"),
        first.0
    )))
}

/// The hosts that `resolve` has no address for, with the reason. All are asked at once, because each may take
/// a name server's whole time limit.
fn unknown(hosts: &[String], resolve: impl Fn(&str) -> io::Result<()> + Sync) -> Vec<(&str, String)> {
    thread::scope(|scope| {
        let asked: Vec<_> = hosts.iter().map(|host| (host, scope.spawn(|| resolve(host)))).collect();
        let answers = asked.into_iter().map(|(host, asked)| (host.as_str(), asked.join()));
        let failed = answers.filter_map(|(host, answer)| match answer {
            Ok(Err(error)) => Some((host, cause(&error))),
            _ => None,
        });
        failed.collect()
    })
}

/// What the system says, without what Rust's standard library puts before it.
fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("failed to lookup address information: ").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 6761: names below "invalid" have no address, and "localhost" is the loopback address.
    #[test]
    fn hosts_without_an_address_are_named_with_the_cause_and_the_remedy() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert!(check_names(&names(&["localhost", "127.0.0.1"]), "tasuki apply my.toml").is_ok());
        let hosts = names(&["localhost", "n2.invalid", "n3.invalid"]);
        let said = check_names(&hosts, "tasuki apply my.toml").unwrap_err().to_string();
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].starts_with("n2.invalid: no address: "), "{said}");
        assert!(lines[1].starts_with("n3.invalid: no address: "), "{said}");
        assert!(!lines[0].contains("failed to lookup") && !said.contains("localhost: "), "{said}");
        assert!(said.contains("`tasuki apply my.toml`") && said.contains("ADDRESS n2.invalid"), "{said}");
    }
}
