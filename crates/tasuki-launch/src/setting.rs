//! Settings of an MPI, and the facts about a cluster that they follow from.

use crate::{Environment, Management, Provider, front::joined};
use tasuki_process::quote;

/// What carries the messages between hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// TCP over the identity addresses, by the MPI's own transport.
    #[default]
    Tcp,
    /// Tasuki, loaded as a provider by the libfabric of the MPI (see [`Mpi::check_libfabric`]).
    ///
    /// [`Mpi::check_libfabric`]: crate::Mpi::check_libfabric
    Tasuki(Provider),
    /// libfabric's own shared-memory provider, for ranks on one host; Tasuki within a host is compared with
    /// it. Only MPICH and Intel MPI can use it: Open MPI asks libfabric for more than it has.
    Shm,
}

impl Transport {
    /// `tcp`, `tasuki` or `shm`, as on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Tasuki(_) => Provider::NAME,
            Transport::Shm => "shm",
        }
    }
}

/// The variables that make libfabric load Tasuki and no other provider.
pub(crate) fn provider(provider: &Provider) -> [Setting; 2] {
    let set = |name, value: &str, why| Setting::new(Scope::Variable, name, value, why);
    [
        set("FI_PROVIDER", Provider::NAME, "Tasuki's provider alone: another might win"),
        set(
            "FI_PROVIDER_PATH",
            &provider.folder.to_string_lossy(),
            "the folder that holds Tasuki's provider",
        ),
    ]
}

/// The name and value of the variable that keeps UCX from patching functions of the C library when it is
/// loaded, which takes some 40 ms: it must hear of memory that is unmapped only if it registers memory itself
/// (`src/ucm/mmap/install.c` of UCX).
pub(crate) const UCX_HOOKS: (&str, &str) = ("UCX_MEM_MMAP_HOOK_MODE", "none");

/// The setting for an MPI that loads UCX and does not use it.
pub(crate) fn no_ucx_hooks() -> Setting {
    let why = "UCX is loaded and not used: it need not patch functions of the C library, which takes 40 ms";
    Setting::new(Scope::Variable, UCX_HOOKS.0, UCX_HOOKS.1, why)
}

/// Whether ranks are bound to cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// Ranks are not bound. That is right where hosts share a machine (each believes that core 0 is its own,
    /// so the first ranks of all would run there), and where ranks outnumber cores.
    #[default]
    None,
    /// Ranks are bound as the MPI does by default.
    Library,
}

/// The facts that settings depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The interface that carries each host's identity address: it has the same name on every host.
    pub identity_interface: String,
    /// The network of the launcher's daemons; `None`: the daemons find addresses by themselves.
    pub management: Option<Management>,
    /// The command that runs another command on a host, called like `ssh`; `None`: `ssh` itself.
    pub agent: Option<String>,
    /// Number of hosts.
    pub hosts: usize,
    /// Whether there are more ranks than cores that they really have.
    pub oversubscribed: bool,
    /// Whether ranks are bound to cores.
    pub binding: Binding,
}

/// The scope of a setting, which says how it is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Open MPI's parameter (and, in Open MPI 4, its daemons').
    OpenMpi,
    /// A parameter of PRRTE, the launcher of Open MPI 5.
    Prrte,
    /// A variable of the environment.
    Variable,
    /// A variable that lists folders or files, to which the value is added at the end.
    Folders,
}

/// One setting, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its scope.
    pub scope: Scope,
    /// Its name within the scope.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Why it is set.
    pub why: &'static str,
}

impl Setting {
    pub(crate) fn new(scope: Scope, name: &'static str, value: impl Into<String>, why: &'static str) -> Self {
        Self { scope, name, value: value.into(), why }
    }

    /// The variable of the environment that has the same effect.
    pub fn variable(&self) -> String {
        match self.scope {
            Scope::OpenMpi => format!("OMPI_MCA_{}", self.name),
            Scope::Prrte => format!("PRTE_MCA_{}", self.name),
            Scope::Variable | Scope::Folders => self.name.into(),
        }
    }

    /// Adds a variable to an environment that does not have it. Lists of folders are joined.
    pub fn add_to(&self, env: &mut Environment) {
        match (env.iter_mut().find(|(name, _)| name == self.name), self.scope) {
            (Some((_, list)), Scope::Folders) => *list = joined(Some(list), self.value.as_ref()),
            (Some(_), _) => {}
            (None, _) => env.push((self.name.into(), self.value.clone().into())),
        }
    }

    /// What a POSIX shell sets its variable to. A list of folders is appended to the variable's list.
    pub fn shell_value(&self) -> String {
        let value = quote(self.value.as_ref());
        match self.scope {
            Scope::Folders => format!("\"${{{0}:+${0}:}}\"{value}", self.variable()),
            _ => value,
        }
    }

    /// Whether it is passed to ranks in their environment instead of on the launcher's command line.
    pub fn is_variable(&self) -> bool {
        matches!(self.scope, Scope::Variable | Scope::Folders)
    }

    /// The options for the launcher's command line; `None` for a variable.
    pub(crate) fn options(&self) -> Option<[String; 3]> {
        let flag = match self.scope {
            Scope::OpenMpi => "--mca",
            Scope::Prrte => "--prtemca",
            Scope::Variable | Scope::Folders => return None,
        };
        Some([flag.into(), self.name.into(), self.value.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_sets_a_variable_to_any_value() {
        for value in ["/opt/tasuki", "/home/o'neil/$HOME `id`", "a \"b\" \\", ""] {
            for (scope, before, after) in [
                (Scope::Variable, "gone", value.to_owned()),
                (Scope::Folders, "", value.to_owned()),
                (Scope::Folders, "/a b", format!("/a b:{value}")),
            ] {
                let setting = Setting::new(scope, "LISTED", value, "");
                let script = format!("export LISTED={}; printf %s \"$LISTED\"", setting.shell_value());
                let output = Command::new("sh").args(["-c", &script]).env("LISTED", before).output();
                let said = output.expect("a shell runs").stdout;
                assert_eq!(String::from_utf8_lossy(&said), after, "{script}");
            }
        }
    }
}
