//! What a host's kernel does with the core file of a process that dies (core(5)).

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use serde::{Deserialize, Serialize};
use std::{
    env, fs,
    path::{Path, PathBuf},
};
use tasuki_process::program_in;

/// The command with which the catalogue of systemd is read.
pub(crate) const CATALOG: &str = "coredumpctl";
/// Parts of a pattern that are another one for every process: its number, or its thread's, in its own
/// namespace or the first.
const OF_PROCESS: [&str; 4] = ["%p", "%P", "%i", "%I"];

/// What a host says of its core files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kernel {
    /// The pattern of their names (`kernel.core_pattern`).
    pub pattern: String,
    /// Whether the number of the process is added to a name without it (`kernel.core_uses_pid`).
    pub uses_pid: bool,
    /// The most bytes that one may have (the hard limit of RLIMIT_CORE); `None`: any number.
    pub limit: Option<u64>,
    /// Whether the host has the command that reads the catalogue of systemd.
    pub has_catalog: bool,
}

/// Where core files go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// To this program.
    Program(String),
    /// To files of a folder whose names begin so. A folder that is not absolute is seen from the one of the
    /// process; `None`: its name differs from process to process.
    Files { folder: Option<PathBuf>, prefix: String },
}

impl Kernel {
    /// That of this host. What cannot be read is taken to be as Linux begins.
    pub fn here() -> Self {
        let setting = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok();
        let limit = getrlimit(Resource::RLIMIT_CORE).map_or(RLIM_INFINITY, |limits| limits.1);
        let folders = env::var_os("PATH").unwrap_or_default();
        Self {
            pattern: setting("core_pattern").map_or("core".into(), |text| text.trim_end().into()),
            uses_pid: setting("core_uses_pid").is_some_and(|text| text.trim() != "0"),
            limit: (limit != RLIM_INFINITY).then_some(limit),
            has_catalog: program_in(env::split_paths(&folders), CATALOG).is_some(),
        }
    }

    /// Where core files go.
    pub fn place(&self) -> Place {
        if let Some(command) = self.pattern.strip_prefix('|') {
            return Place::Program(command.split_whitespace().next().unwrap_or_default().into());
        }
        let (folder, name) = self.pattern.rsplit_once('/').map_or(("", &*self.pattern), |(folder, name)| {
            (if folder.is_empty() { "/" } else { folder }, name)
        });
        let folder = (!folder.contains('%')).then(|| folder.into());
        Place::Files { folder, prefix: name.split('%').next().unwrap_or_default().into() }
    }

    /// Whether core files are in the catalogue of systemd.
    pub fn is_catalogued(&self) -> bool {
        match self.place() {
            Place::Program(program) => self.has_catalog && Path::new(&program).ends_with("systemd-coredump"),
            Place::Files { .. } => false,
        }
    }

    /// What of it will lose core files, and what helps; `None`: nothing.
    pub fn warning(&self) -> Option<String> {
        if self.limit == Some(0) {
            let words = "core files may have 0 bytes (hard limit of RLIMIT_CORE), ranks leave none: `core` \
                         in /etc/security/limits.conf raises it";
            return Some(words.into());
        }
        let pattern = &self.pattern;
        match self.place() {
            Place::Program(_) if self.is_catalogued() => None,
            Place::Program(program) => Some(format!(
                "the kernel gives core files to {program}, which alone says what becomes of them \
                 (kernel.core_pattern); `sysctl kernel.core_pattern=core.%p` leaves them where ranks run"
            )),
            Place::Files { folder: None, .. } => Some(format!(
                "core files go to folders that differ (kernel.core_pattern is {pattern}), where none is \
                 looked for; `sysctl kernel.core_pattern=core.%p` leaves them where ranks run"
            )),
            Place::Files { .. } if self.uses_pid || OF_PROCESS.iter().any(|part| pattern.contains(part)) => {
                None
            }
            Place::Files { .. } => Some(format!(
                "core files are named {pattern}, without the number of the process: of several ranks that \
                 die in one folder one overwrites the other's; `sysctl kernel.core_uses_pid=1` keeps all"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(pattern: &str) -> Kernel {
        Kernel { pattern: pattern.into(), uses_pid: false, limit: None, has_catalog: false }
    }

    fn files(folder: Option<&str>, prefix: &str) -> Place {
        Place::Files { folder: folder.map(Into::into), prefix: prefix.into() }
    }

    /// The patterns are those of Linux, Debian, systemd, Ubuntu, and the examples of core(5).
    #[test]
    fn patterns_say_where_core_files_go() {
        for (pattern, place) in [
            ("core", files(Some(""), "core")),
            ("core.%e.%p", files(Some(""), "core.")),
            ("/var/crash/%e-%t", files(Some("/var/crash"), "")),
            ("/core", files(Some("/"), "core")),
            ("/cores/%u/core", files(None, "core")),
            ("|/usr/share/apport/apport -p%p", Place::Program("/usr/share/apport/apport".into())),
        ] {
            assert_eq!(kernel(pattern).place(), place, "{pattern}");
        }
    }

    #[test]
    fn what_loses_core_files_is_said_with_what_helps() {
        let says = |kernel: Kernel, word: &str| {
            let warning = kernel.warning();
            assert!(warning.as_ref().is_some_and(|text| text.contains(word)), "{kernel:?}: {warning:?}");
        };
        says(kernel("core"), "sysctl kernel.core_uses_pid=1");
        says(kernel("/tmp/core-%e"), "sysctl kernel.core_uses_pid=1");
        says(Kernel { limit: Some(0), ..kernel("core.%p") }, "limits.conf");
        says(kernel("|/usr/share/apport/apport %p"), "/usr/share/apport/apport");
        says(kernel("/cores/%u/core.%p"), "/cores/%u/core.%p");
        let systemd = kernel("|/lib/systemd/systemd-coredump %P %u");
        says(systemd.clone(), "systemd-coredump");
        let fine = [
            Kernel { has_catalog: true, ..systemd },
            kernel("core.%p"),
            Kernel { uses_pid: true, ..kernel("core") },
        ];
        assert!(fine.iter().all(|kernel| kernel.warning().is_none()));
    }
}
