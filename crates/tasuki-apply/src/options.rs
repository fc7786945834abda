//! What `apply` and `undo` are told.

use std::path::PathBuf;
use tasuki_cluster::Rate;
use tasuki_host::{RingLength, UNIT_FOLDER};

/// What `apply`, `undo` and `status` are told alike.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// Where a host keeps its record of how things were; `None`: [`crate::state_folder`]'s default.
    pub state_dir: Option<PathBuf>,
    /// Change also the interface by which the user is logged in.
    pub force: bool,
}

impl HostOptions {
    /// The arguments that tell another host's `tasuki` the same.
    pub(crate) fn argv(&self) -> Vec<String> {
        let mut argv: Vec<String> = self.force.then(|| "--force".into()).into_iter().collect();
        if let Some(folder) = &self.state_dir {
            argv.extend(["--state-dir".into(), folder.display().to_string()]);
        }
        argv
    }
}

/// What becomes of the systemd unit that applies the cluster file at every start of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UnitWish {
    /// It stays where an earlier `--persist` put it, and is kept up to date there.
    #[default]
    AsBefore,
    /// It goes into this folder.
    Install(PathBuf),
    /// It is removed.
    Remove,
}

/// What `apply` is told.
#[derive(Clone, Debug, Default)]
pub struct ApplyOptions {
    /// Offloads of cabled NICs: on, off, or (`None`) as they are.
    pub offloads: Option<bool>,
    /// Length of the queues of cabled NICs; `None`: as they are.
    pub rings: Option<RingLength>,
    /// One rate for all rails in the table of rails; `None`: the cables' own.
    pub rate: Option<Rate>,
    /// Leave `/etc/hosts` alone.
    pub no_names: bool,
    /// Set up the NICs that are there, although others of the file are not.
    pub allow_missing: bool,
    /// Turn forwarding off where the plan does not need it.
    pub stop_forwarding: bool,
    /// Do not start `tasuki watch`.
    pub no_watch: bool,
    /// A unit of its own starts `tasuki watch` and `tasuki tune run`.
    pub watch_by_unit: bool,
    /// What becomes of the systemd unit.
    pub unit: UnitWish,
    /// Where systemd applies the cluster file at every start, have it start the resident runtime as well.
    pub runtime: bool,
}

impl ApplyOptions {
    /// The defaults, `persist`: at every start of the hosts.
    pub fn at_every_start(persist: bool) -> Self {
        let unit = if persist { UnitWish::Install(UNIT_FOLDER.into()) } else { UnitWish::AsBefore };
        Self { unit, ..Self::default() }
    }

    /// The arguments that have `tasuki apply` do the same, besides those about its systemd unit.
    pub(crate) fn argv(&self) -> Vec<String> {
        let mut argv = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                argv.extend([name.to_owned(), value]);
            }
        };
        option("--offloads", self.offloads.map(|on| if on { "on" } else { "off" }.to_owned()));
        option("--rings", self.rings.map(|length| length.to_string()));
        option("--rate", self.rate.map(|rate| rate.to_string()));
        let flags = [
            ("--no-names", self.no_names),
            ("--allow-missing", self.allow_missing),
            ("--stop-forwarding", self.stop_forwarding),
            ("--no-watch", self.no_watch),
        ];
        argv.extend(flags.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()));
        argv
    }

    /// [`Self::argv`] with the arguments about the systemd unit.
    pub(crate) fn argv_with_unit(&self) -> Vec<String> {
        let mut argv = self.argv();
        match &self.unit {
            UnitWish::AsBefore => {}
            UnitWish::Install(folder) => {
                argv.extend(["--persist".into(), "--unit-dir".into(), folder.display().to_string()]);
            }
            UnitWish::Remove => argv.push("--no-persist".into()),
        }
        argv.extend(self.runtime.then(|| "--runtime-unit".into()));
        argv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_what_differs_from_the_default_and_nothing_else() {
        assert!(
            ApplyOptions::default().argv_with_unit().is_empty() && HostOptions::default().argv().is_empty()
        );
        let options = ApplyOptions {
            offloads: Some(false),
            rate: Some("100M".parse().unwrap()),
            no_watch: true,
            watch_by_unit: true,
            unit: UnitWish::Install("/units".into()),
            runtime: true,
            ..ApplyOptions::default()
        };
        let argv = ["--offloads", "off", "--rate", "100M", "--no-watch"];
        let unit = ["--persist", "--unit-dir", "/units", "--runtime-unit"];
        assert_eq!(options.argv(), argv);
        assert_eq!(options.argv_with_unit(), [&argv[..], &unit].concat());
        let host = HostOptions { state_dir: Some("/state".into()), force: true };
        assert_eq!(host.argv(), ["--force", "--state-dir", "/state"]);
    }
}
