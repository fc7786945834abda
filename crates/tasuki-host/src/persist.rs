//! systemd units that set the host up again when it starts, or take what would outlive that out of its files.

use crate::{
    Key, Value,
    names::{BEGIN, END, HOSTS_FILE},
};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
};
use tasuki_cluster::{HostPlan, RailTable};

/// Where systemd looks for units of the machine's administrator (systemd.unit(5)).
pub const UNIT_FOLDER: &str = "/etc/systemd/system";
/// Name of the unit that applies the cluster.
pub const UNIT: &str = "tasuki.service";
/// Name of the unit of `tasuki watch`.
pub const WATCH_UNIT: &str = "tasuki-watch.service";

/// Name of the unit of `tasuki tune run`.
pub const TUNE_UNIT: &str = "tasuki-tune.service";

/// Name of the unit of `tasuki daemon`.
pub const RUNTIME_UNIT: &str = "tasukid.service";

/// Name of the unit that ends the names of a host that is not set up again at its next start.
const NAMES_UNIT: &str = "tasuki-names.service";

/// How systemd keeps the daemon that runs jobs. Jobs have cgroups below the daemon's own, which is theirs to
/// divide, and no limit of theirs is above the daemon's. Jobs go on while the daemon is started again, so the
/// unit's end is that of the daemon alone; `apply` and `undo` end what jobs have here.
const RUNTIME_SERVICE: &str = "Delegate=yes\nKillMode=process\nTasksMax=infinity\nLimitMEMLOCK=infinity\n\
     LimitSTACK=infinity\nLimitNOFILE=1048576\n";

/// What is needed to apply a cluster at every start.
#[derive(Clone, Debug)]
pub struct Persistence {
    /// The `tasuki` command.
    pub program: PathBuf,
    /// Folder of the unit, [`UNIT_FOLDER`] on a real machine.
    pub unit_folder: PathBuf,
    /// Folder of the record, in which the cluster file is kept too.
    pub state: PathBuf,
    /// Text of the cluster file.
    pub cluster: String,
    /// Further arguments of `tasuki apply`.
    pub argv: Vec<String>,
    /// Whether `tasuki watch` is to run too.
    pub watched: bool,
    /// Whether `tasuki tune run` is to run too.
    pub tuned: bool,
    /// The folder of keys and jobs with which `tasuki daemon` is to run too.
    pub runtime: Option<PathBuf>,
}

impl Persistence {
    /// The files to be made.
    pub fn files(&self, plan: &HostPlan) -> Vec<(Key, Value)> {
        let folder = self.unit_folder.as_path();
        let cluster = self.state.join("cluster.toml");
        let mut files = vec![(Key::File { path: cluster.clone() }, Value::Text(self.cluster.clone()))];
        files.extend(enabled(folder, UNIT, self.unit(plan, &cluster)));
        let state = quoted(&self.state.display().to_string());
        if self.watched {
            let what = "Leads pairs of hosts around dead cables";
            let file = quoted(&cluster.display().to_string());
            let argv = format!("watch {file} --host {} --state-dir {state}", plan.host);
            files.extend(enabled(folder, WATCH_UNIT, self.daemon_unit(what, &argv, "")));
        }
        if self.tuned {
            let what = "The interrupt delay of the cluster's NICs follows the load";
            let argv = format!("tune run --planned --state-dir {state}");
            files.extend(enabled(folder, TUNE_UNIT, self.daemon_unit(what, &argv, "")));
        }
        if let Some(runtime) = &self.runtime {
            let what = "Starts the jobs of the cluster";
            let argv = format!("daemon --state-dir {}", quoted(&runtime.display().to_string()));
            files.extend(enabled(folder, RUNTIME_UNIT, self.daemon_unit(what, &argv, RUNTIME_SERVICE)));
        }
        files
    }

    /// The unit of a daemon that runs while the host is set up; `service`: further lines about it.
    fn daemon_unit(&self, what: &str, argv: &str, service: &str) -> String {
        let program = quoted(&self.program.display().to_string());
        format!(
            "[Unit]\nDescription={what} (Tasuki)\nRequires={UNIT}\nAfter={UNIT}\n\n\
             [Service]\nExecStart={program} {argv}\nRestart=on-failure\n{service}\n\
             [Install]\nWantedBy=multi-user.target\n"
        )
    }

    fn unit(&self, plan: &HostPlan, cluster: &Path) -> String {
        let devices = plan.cabled().map(|(interface, _)| device_unit(interface));
        let devices: Vec<String> = devices.collect();
        let mut command: Vec<String> = vec![quoted(&self.program.display().to_string()), "apply".into()];
        command.push(quoted(&cluster.display().to_string()));
        command.extend(["--host".into(), plan.host.clone()]);
        command.extend(["--state-dir".into(), quoted(&self.state.display().to_string())]);
        command.extend(self.argv.iter().map(|argument| quoted(argument)));
        let mut text = String::from(
            "[Unit]\nDescription=Addresses, routes and settings of the cluster's cables (Tasuki)\n",
        );
        // Writing to a String cannot fail.
        let _ = writeln!(text, "Wants={}", devices.join(" "));
        let _ = writeln!(text, "After=systemd-sysctl.service network.target {}", devices.join(" "));
        text.push_str("Before=network-online.target\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n");
        let _ = writeln!(text, "ExecStart={}", command.join(" "));
        text.push_str("\n[Install]\nWantedBy=multi-user.target\n");
        text
    }
}

/// The files by which the names of hosts are taken out of `/etc/hosts` early at the next start of the
/// machine, for a host that is not set up again then: its names would lead to addresses that nobody has, and
/// hide those that other sources know. Nothing is done while the host is set up, or where the block has no
/// end.
pub fn names_end(unit_folder: &Path) -> [(Key, Value); 2] {
    // No start of a machine leaves this file there, and each host that is set up has it.
    let set_up = RailTable::PATH;
    let begin = BEGIN.split_once(" (").map_or(BEGIN, |(begin, _)| begin);
    let text = format!(
        "[Unit]\nDescription=Takes names that lead nowhere any more out of {HOSTS_FILE} (Tasuki)\n\
         DefaultDependencies=no\nConflicts=shutdown.target\nAfter=local-fs.target\n\
         Before=sysinit.target shutdown.target\n\
         ConditionPathExists=!{set_up}\n\n\
         [Service]\nType=oneshot\nExecCondition=/bin/grep -qx '{END}' {HOSTS_FILE}\n\
         ExecStart=/bin/sed -i '/^{begin} /,/^{END}$$/d' {HOSTS_FILE}\n\n\
         [Install]\nWantedBy=multi-user.target\n"
    );
    enabled(unit_folder, NAMES_UNIT, text)
}

/// A unit, and the link by which systemd starts it.
fn enabled(folder: &Path, name: &str, text: String) -> [(Key, Value); 2] {
    let link = folder.join("multi-user.target.wants").join(name);
    [
        (Key::File { path: folder.join(name) }, Value::Text(text)),
        (Key::Symlink { path: link }, Value::Text(format!("../{name}"))),
    ]
}

/// The unit by which systemd knows an interface (systemd-escape(1) of /sys/subsystem/net/devices/NAME).
fn device_unit(interface: &str) -> String {
    let mut name = String::from("sys-subsystem-net-devices-");
    for (at, byte) in interface.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric() || b":_".contains(&byte) || (byte == b'.' && at > 0);
        // Writing to a String cannot fail.
        let _ = if plain { write!(name, "{}", char::from(byte)) } else { write!(name, "\\x{byte:02x}") };
    }
    name + ".device"
}

/// A word of a command line (systemd.service(5), "COMMAND LINES").
fn quoted(word: &str) -> String {
    let special = |c: char| c.is_whitespace() || c.is_control() || "\"'\\;".contains(c);
    let word = word.replace('%', "%%").replace('$', "$$");
    if !word.is_empty() && !word.contains(special) {
        return word;
    }
    let mut quoted = String::from('"');
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // The end of a line would begin the next directive, so control characters are escaped.
            c if c.is_control() => c.to_string().bytes().for_each(|byte| quoted += &format!("\\x{byte:02x}")),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    // From `systemd-escape --path --suffix=device /sys/subsystem/net/devices/NAME`.
    #[test]
    fn names_of_devices() {
        assert_eq!(device_unit("enp3s0f1"), "sys-subsystem-net-devices-enp3s0f1.device");
        assert_eq!(device_unit("eth-a.5"), "sys-subsystem-net-devices-eth\\x2da.5.device");
    }

    #[test]
    fn words_are_quoted_as_systemd_reads_them() {
        assert_eq!(quoted("/usr/bin/tasuki"), "/usr/bin/tasuki");
        assert_eq!(quoted("/a b/100%"), "\"/a b/100%%\"");
        assert_eq!(quoted("$HOME\"x"), "\"$$HOME\\\"x\"");
        assert_eq!(quoted("/a\nExecStartPre=/bin/id"), "\"/a\\x0aExecStartPre=/bin/id\"");
    }

    // systemd says itself what it makes of units, without running any of them (systemd-analyze(1)).
    #[test]
    fn systemd_finds_nothing_wrong_with_the_units() {
        let folder = tempfile::tempdir().unwrap();
        let shape = "pair:2".parse().unwrap();
        let options = tasuki_cluster::generate::Options::default();
        let cluster = tasuki_cluster::generate::generate(&shape, &options).unwrap();
        let plan = tasuki_cluster::AddressPlan::new(&cluster).unwrap();
        let persistence = Persistence {
            program: "/bin/true".into(),
            unit_folder: folder.path().into(),
            state: folder.path().join("a b"),
            cluster: String::new(),
            argv: vec!["--allow-missing".into()],
            watched: true,
            tuned: true,
            runtime: Some(folder.path().join("50%")),
        };
        let files = persistence.files(&plan.hosts[0]).into_iter().chain(names_end(folder.path()));
        let mut units = Vec::new();
        for (key, value) in files {
            if let (Key::File { path }, Value::Text(text)) = (key, value)
                && path.parent() == Some(folder.path())
            {
                std::fs::write(&path, text).unwrap();
                units.push(path);
            }
        }
        assert_eq!(units.len(), 5);
        let mut verify = std::process::Command::new("systemd-analyze");
        let Ok(output) = verify.args(["verify", "--man=no"]).args(&units).output() else {
            return eprintln!("skipped: no systemd-analyze");
        };
        let said = String::from_utf8_lossy(&output.stderr);
        // What is wrong with other units of the machine is no matter here.
        let ours: Vec<_> = said.lines().filter(|line| line.contains("tasuki")).collect();
        assert!(ours.is_empty(), "{said}");
    }
}
