//! All hosts at once: each is asked first, and then given what it lacks.

use crate::{Bundle, HostReport, Outcome, words::Words};
use std::{path::PathBuf, time::Duration};
use tasuki_fleet::{Fleet, HostError, Task, for_each_host};

/// What runs on a host.
const SCRIPT: &str = include_str!("host.sh");
/// Runs the script that is its name, as root: by sudo where the user is another.
const AS_ROOT: &str = r#"[ "$(id -u)" = 0 ] || exec sudo -n sh -c "$0" "$@"; exec sh -c "$0" "$@""#;
/// How long a host may take to say how it is: time to log in.
const ASK: Duration = Duration::from_secs(30);
/// How long a host may take to be sent its files (tens of megabytes) and to put them in place.
const PUT: Duration = Duration::from_secs(300);

/// Where Tasuki goes on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Below this folder.
    Below(String),
    /// Below `.local` in the home of the user who logs in.
    Home,
}

/// What hosts get.
#[derive(Debug)]
pub enum What {
    /// This program with its parts.
    Bundle(Bundle),
    /// This Debian package.
    Package(PathBuf),
}

/// How far the work has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// This host is being sent its files.
    Sending(&'a str),
    /// All is done on this host.
    Done(&'a str),
}

/// Puts Tasuki on all hosts of a fleet, or takes it away.
pub struct Installer<'a> {
    /// The hosts.
    pub fleet: &'a Fleet,
    /// What messages call them, in the fleet's order.
    pub names: &'a [String],
    /// Where it goes.
    pub place: Place,
    /// The version that hosts get, as `tasuki --version` prints it behind the name.
    pub version: &'a str,
    /// Whether to become root by `sudo -n`.
    pub sudo: bool,
    /// Whether hosts that have the same version get it again.
    pub force: bool,
    /// Told, from several threads, how far the work has got.
    pub progress: &'a (dyn Fn(Step<'_>) + Sync),
}

impl Installer<'_> {
    /// Gives every host what it lacks. Hosts do not depend on each other: where one fails the others get it.
    pub fn install(&self, what: &What) -> Vec<HostReport> {
        self.each(|host| self.install_on(host, what))
    }

    /// Takes away what [`Self::install`] has put on hosts; what was there before is there again.
    pub fn remove(&self) -> Vec<HostReport> {
        self.each(|host| self.remove_from(host))
    }

    fn each(&self, one: impl Fn(usize) -> HostReport + Sync) -> Vec<HostReport> {
        for_each_host(self.fleet.len(), |host| {
            let report = one(host);
            (self.progress)(Step::Done(&report.host));
            report
        })
    }

    fn name(&self, host: usize) -> String {
        self.names.get(host).cloned().unwrap_or_else(|| self.fleet.name(host))
    }

    fn install_on(&self, host: usize, what: &What) -> HostReport {
        let name = self.name(host);
        let there = match self.ask(host, self.task("probe")) {
            Ok(there) => there,
            Err(error) => return HostReport::failed(&name, None, error),
        };
        let before = there.get("version");
        if before.as_deref() == Some(self.version) && !self.force {
            let path = there.get("path");
            let note = unfound(path.as_deref(), there.get("found").as_deref());
            let after = before.clone();
            return HostReport { before, after, path, note, ..HostReport::new(&name, Outcome::Same) };
        }
        let sent = self.refusal(&name, &there, what).map_or(Ok(()), Err).and_then(|()| {
            (self.progress)(Step::Sending(&name));
            let (verb, file) = match what {
                What::Bundle(bundle) => ("put", bundle.file()),
                What::Package(file) => ("put_package", file.clone()),
            };
            self.ask(host, self.task(verb).file(file).limit(PUT).lasting())
        });
        match sent {
            Err(error) => HostReport::failed(&name, before, error),
            Ok(said) => {
                let (after, path) = (said.get("version"), said.get("path"));
                let note = unfound(path.as_deref(), said.get("found").as_deref());
                HostReport { before, after, path, note, ..HostReport::new(&name, Outcome::Installed) }
            }
        }
    }

    /// Why a host is not sent anything.
    fn refusal(&self, name: &str, there: &Words, what: &What) -> Option<HostError> {
        let own = std::env::consts::ARCH;
        let arch = there.get("arch").unwrap_or_default();
        let refuse = |why: String, remedy: &str| {
            Some(HostError { host: name.into(), why, remedy: Some(remedy.into()) })
        };
        match (what, there.get("package")) {
            // dpkg holds packages against the machine itself.
            (What::Package(_), _) => None,
            (What::Bundle(_), _) if arch != own => refuse(
                format!("its processor is {arch}, and this tasuki is built for {own}"),
                "build Tasuki on such a machine, and install from there, or its package with --deb FILE",
            ),
            (What::Bundle(_), Some(version)) => refuse(
                format!("Debian's package of tasuki, version {version}, is installed there"),
                "install this version's package with --deb FILE, or remove that one: apt-get purge tasuki",
            ),
            (What::Bundle(_), None) => None,
        }
    }

    fn remove_from(&self, host: usize) -> HostReport {
        let name = self.name(host);
        let there = match self.ask(host, self.task("probe")) {
            Ok(there) => there,
            Err(error) => return HostReport::failed(&name, None, error),
        };
        let before = there.get("version");
        let said = match self.ask(host, self.task("take").limit(PUT).lasting()) {
            Ok(said) => said,
            Err(error) => return HostReport::failed(&name, before, error),
        };
        // What is there now may be what was there before, or another one that the path leads to.
        let now = self.ask(host, self.task("probe")).unwrap_or_default();
        let outcome = if said.get("removed").is_some() { Outcome::Removed } else { Outcome::Absent };
        let (after, path) = (now.get("version"), now.get("path"));
        HostReport { before, after, path, ..HostReport::new(&name, outcome) }
    }

    fn task(&self, verb: &str) -> Task {
        let prefix = match &self.place {
            Place::Below(prefix) => prefix.as_str(),
            Place::Home => "",
        };
        let script = [SCRIPT, "tasuki-install", verb, prefix, self.version];
        let shell: &[&str] = if self.sudo { &["sh", "-c", AS_ROOT] } else { &["sh", "-c"] };
        Task::program(shell.iter().chain(&script)).limit(ASK)
    }

    fn ask(&self, host: usize, task: Task) -> Result<Words, HostError> {
        Words::of(self.fleet.run(host, &task)).map_err(|error| match error.why.contains("sudo:") {
            true => HostError {
                remedy: Some(
                    "let this user run sudo without a password there, log in as root, or install with --user"
                        .into(),
                ),
                ..error
            },
            false => error,
        })
    }
}

/// What to say where a login without a terminal finds another `tasuki` than the one at `path`, or none.
fn unfound(path: Option<&str>, found: Option<&str>) -> Option<String> {
    let path = path?;
    // The other commands have no such option.
    let remedy = format!(
        "say --remote {path} to apply, diff, undo, status, check, discover and down; for run and the \
         others it must be in the path of a login without a terminal, as /usr/local/bin is"
    );
    match found {
        Some(found) if found == path => None,
        Some(found) => Some(format!("a login finds {found} there; {remedy}")),
        None => Some(format!("a login does not find it there; {remedy}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_login_does_not_find_is_told() {
        assert_eq!(unfound(Some("/usr/local/bin/tasuki"), Some("/usr/local/bin/tasuki")), None);
        assert!(unfound(Some("/h/.local/bin/tasuki"), None).is_some_and(|note| note.contains("--remote /h")));
        assert!(unfound(Some("/a/tasuki"), Some("/usr/bin/tasuki")).is_some());
        assert_eq!(unfound(None, None), None);
    }
}
