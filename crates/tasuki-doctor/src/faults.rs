//! Whether a user may answer page faults of system calls, as OpenMP programs on several hosts must.

use crate::{Finding, HostFacts, host::lasting};
use nix::unistd::{Gid, Group};
use serde::{Deserialize, Serialize};
use std::{fs, os::unix::fs::MetadataExt, path::Path};
use tasuki_sys::userfault::UserFault;

/// The device that stands for the right, from Linux 6.1 on.
const DEVICE: &str = "/dev/userfaultfd";
/// The rule for udev that gives it to [`GROUP`], as the package and `make install` bring it.
const RULE: &str = "60-tasuki-userfaultfd.rules";
/// The group to whose members the broker gives lanes.
const GROUP: &str = "tasuki";
/// Programs that need the right.
const WHAT: &str = "OpenMP programs on several hosts (tasuki omp)";

/// What is known of the right on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultFacts {
    /// What the user has of it.
    pub right: FaultRight,
    /// The group of the device; `None`: there is no device, or its group has no name.
    pub group: Option<String>,
    /// Whether there is a device.
    pub has_device: bool,
    /// Whether udev has the rule.
    pub has_rule: bool,
}

/// What a user may answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultRight {
    /// All page faults.
    #[default]
    All,
    /// Those of the program alone.
    NotOfCalls,
    /// None: why.
    None(String),
}

impl FaultFacts {
    /// Gathers what this host knows.
    pub fn local() -> Self {
        let right = match UserFault::open() {
            Ok(opened) if opened.is_user_mode_only() => FaultRight::NotOfCalls,
            Ok(_) => FaultRight::All,
            Err(error) => FaultRight::None(error.to_string()),
        };
        let device = fs::metadata(DEVICE).ok();
        let named = |about: &fs::Metadata| Group::from_gid(Gid::from_raw(about.gid())).ok().flatten();
        let group = device.as_ref().and_then(named).map(|group| group.name);
        // See udev(7).
        let folders = ["/etc/udev", "/run/udev", "/usr/local/lib/udev", "/usr/lib/udev", "/lib/udev"];
        let has_rule = folders.iter().any(|folder| Path::new(folder).join("rules.d").join(RULE).exists());
        Self { right, group, has_device: device.is_some(), has_rule }
    }
}

/// What the facts of a host mean; `None`: a host that does not tell these.
pub fn finding(facts: &HostFacts) -> Option<Finding> {
    let (host, faults) = (&facts.host, facts.faults.as_ref()?);
    Some(match &faults.right {
        FaultRight::All => Finding::well(host, format!("{WHAT}: allowed")),
        FaultRight::NotOfCalls => Finding::slower(
            host,
            format!("{WHAT} are refused: this user may not answer page faults of system calls"),
            remedy(faults),
        ),
        FaultRight::None(why) => Finding::slower(
            host,
            format!("{WHAT} are refused: page faults cannot be answered (userfaultfd: {why})"),
            "Linux 5.7 or newer (aarch64: 6.10) with CONFIG_USERFAULTFD; a container's seccomp profile must \
             allow userfaultfd(2)",
        ),
    })
}

/// What gives a user the right.
fn remedy(faults: &FaultFacts) -> String {
    let of_group = faults.group.as_deref() == Some(GROUP);
    match faults {
        // What older kernels have gives it to all users.
        FaultFacts { has_device: false, .. } => lasting("vm.unprivileged_userfaultfd=1"),
        _ if of_group => format!(
            "sudo usermod --append --groups {GROUP} USER, then log in anew (docs/guide/security.md says what \
             that allows)"
        ),
        FaultFacts { has_rule: true, .. } => "sudo groupadd --force --system tasuki; sudo udevadm control \
             --reload; sudo udevadm trigger --sysname-match=userfaultfd"
            .into(),
        _ => format!(
            "install Tasuki's package there, which brings a rule for udev; or after each start of the \
             machine sudo chgrp {GROUP} {DEVICE}, sudo chmod g+rw {DEVICE} (docs/guide/security.md)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weight;

    fn found(faults: FaultFacts) -> Finding {
        finding(&HostFacts { faults: Some(faults), ..HostFacts::default() }).unwrap()
    }

    #[test]
    fn who_lacks_the_right_is_told_what_gives_it() {
        let has = FaultFacts { has_device: true, group: Some("root".into()), ..FaultFacts::default() };
        assert_eq!(found(has.clone()).weight, Weight::Well);
        let lacks = FaultFacts { right: FaultRight::NotOfCalls, ..has };
        for (facts, remedy) in [
            (lacks.clone(), "install Tasuki's package"),
            (FaultFacts { has_rule: true, ..lacks.clone() }, "udevadm trigger"),
            (
                FaultFacts { group: Some("tasuki".into()), ..lacks.clone() },
                "usermod --append --groups tasuki",
            ),
            (FaultFacts { has_device: false, ..lacks.clone() }, "vm.unprivileged_userfaultfd=1"),
            (FaultFacts { right: FaultRight::None("forbidden".into()), ..lacks }, "seccomp"),
        ] {
            let finding = found(facts);
            assert_eq!(finding.weight, Weight::Slower);
            assert!(finding.remedy.as_ref().is_some_and(|text| text.contains(remedy)), "{finding:?}");
        }
        assert_eq!(finding(&HostFacts::default()), None, "a host with an older Tasuki says nothing of it");
    }

    /// What packages bring is what is looked for here.
    #[test]
    fn the_rule_gives_the_device_to_the_group() {
        let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
        let rule = fs::read_to_string(packaging.join(RULE)).unwrap();
        let line = rule.lines().find(|line| !line.starts_with('#')).unwrap();
        assert!(line.contains(&format!("GROUP=\"{GROUP}\"")), "{line}");
        let name = Path::new(DEVICE).file_name().unwrap().to_string_lossy();
        assert!(line.contains(&format!("KERNEL==\"{name}\"")), "{line}");
    }
}
