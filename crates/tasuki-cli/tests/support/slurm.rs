//! A real Slurm in the hosts of a lab: its controller on the first, its daemon on each, jobs with credentials
//! by munge. The programs are those that `scripts/oracles` has unpacked.

use super::{TestLab, eventually, mpis::peers, ok, skip_without_root, skipped, tasuki};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};

/// Two hosts with Slurm, and a folder that both see, with what configures it.
pub struct Slurm {
    lab: TestLab,
    folder: tempfile::TempDir,
}

impl Slurm {
    /// Starts it. `None`, after a note, without root or Slurm; with TASUKI_NO_SKIP that is a failure.
    pub fn up(test: &str) -> Option<Self> {
        if skip_without_root(test) {
            return None;
        }
        if !peers().join("slurm/bin/srun").exists() {
            skipped(test, "no Slurm: scripts/oracles");
            return None;
        }
        let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
        configure(folder.path());
        let slurm = Self { lab: TestLab::up("slurm", &["--shape", "full:2", "--unshaped"]), folder };
        for host in ["n1", "n2"] {
            ok(&mut slurm.command(host, "sh", &["-c", START]));
        }
        eventually("both nodes can be used", || {
            let nodes = slurm.command("n1", "sinfo", &["-h", "-o", "%D %t"]).output().expect("runs");
            String::from_utf8_lossy(&nodes.stdout).trim() == "2 idle"
        });
        Some(slurm)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A command in a host, in the folder, that finds Slurm's programs and their configuration. It is ended
    /// after a time that nothing here takes.
    pub fn command(&self, host: &str, program: &str, arguments: &[&str]) -> Command {
        let mut command = self.lab.exec(host, &[&["timeout", "100", program], arguments].concat());
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", peers().join("slurm/bin").display()));
        command.env("SLURM_CONF", self.path().join("slurm.conf")).env("TASUKI_PEERS", peers());
        command.current_dir(self.path());
        command
    }
}

/// Every host has a /run of its own.
const START: &str = "mkdir -p /run/slurm/state /run/slurm/spool
exec </dev/null >/dev/null 2>&1
munged --force --key-file=$PWD/munge.key --socket=/run/munge.socket --pid-file=/run/munge.pid \
    --seed-file=/run/munge.seed --log-file=/run/munge.log || exit
if [ $(hostname) = n1 ]; then slurmctld -L /run/slurm/controller.log || exit; fi
slurmd -d $(command -v slurmstepd) -L /run/slurm/daemon.log -N $(hostname)";

/// The part of a configuration that is not the cluster's: what Slurm needs to run in a lab.
fn settings(folder: &Path) -> String {
    let (folder, plugins) = (folder.display(), peers().join("slurm/plugins"));
    format!(
        "ClusterName=lab\nSlurmctldHost=n1\nSlurmUser=root\nAuthType=auth/munge\nCredType=cred/munge\n\
         AuthInfo=socket=/run/munge.socket\nPluginDir={}\nStateSaveLocation=/run/slurm/state\n\
         SlurmdSpoolDir=/run/slurm/spool\nSlurmctldPidFile=/run/slurm/controller.pid\n\
         SlurmdPidFile=/run/slurm/daemon.pid\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\nSlurmdParameters=config_overrides\n\
         SelectType=select/cons_tres\nTaskProlog={folder}/task-prolog\n\
         include {folder}/tasuki-nodes.conf\n",
        plugins.display()
    )
}

fn configure(folder: &Path) {
    let file = |name: &str| folder.join(name);
    let write = |name: &str, text: &str| fs::write(file(name), text).expect("a file");
    ok(tasuki().args(["cluster", "new", "full:2", "--cores", "4", "-o"]).arg(file("cluster.toml")));
    ok(tasuki().args(["slurm", "conf"]).arg(file("cluster.toml")).arg("-o").arg(folder));
    write("slurm.conf", &settings(folder));
    let prolog = format!(
        "#!/bin/sh\n[ -z \"$WITH_MPI\" ] || \
         exec {} slurm task-prolog --mpi \"$WITH_MPI\" --cluster {}/cluster.toml\n",
        env!("CARGO_BIN_EXE_tasuki"),
        folder.display()
    );
    write("task-prolog", &prolog);
    fs::set_permissions(file("task-prolog"), Permissions::from_mode(0o755)).expect("sets them");
    // The key of a lab that nobody else reaches.
    write("munge.key", &"tasuki".repeat(20));
    fs::set_permissions(file("munge.key"), Permissions::from_mode(0o400)).expect("sets them");
}

/// Builds the SPANK plug-in for this Slurm, and names it in its configuration, from where commands and
/// daemons take it at once.
pub fn spank(slurm: &Slurm) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slurm/tasuki_spank.c");
    let plugin = slurm.path().join("tasuki_spank.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-I"]);
    ok(compiler.arg(peers().join("slurm/usr/include")).arg("-o").arg(&plugin).arg(source));
    let program = env!("CARGO_BIN_EXE_tasuki");
    let cluster = slurm.path().join("cluster.toml");
    let words = format!("tasuki={program} cluster={}", cluster.display());
    let line = format!("required {} {words}\n", plugin.display());
    fs::write(slurm.path().join("plugstack.conf"), line).expect("a file");
}
