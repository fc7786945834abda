//! An sshd in hosts of a lab, with keys.

use super::{TestLab, mpis::peers, ok, skipped};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A folder that all hosts of a lab see, with keys, settings of both sides (`ssh_config`), and sshd.
pub struct Ssh {
    folder: tempfile::TempDir,
    start: String,
}

impl Ssh {
    /// Prepares the folder. `None`, after a note, if there is no sshd; with TASUKI_NO_SKIP that is a failure.
    pub fn prepare(test: &str) -> Option<Self> {
        let folder = tempfile::tempdir_in("/tmp").expect("a folder");
        let Some(start) = start_sshd(folder.path()) else {
            skipped(test, "no sshd: scripts/oracles");
            return None;
        };
        configure(folder.path());
        Some(Self { folder, start })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Starts sshd in a host.
    pub fn serve(&self, lab: &TestLab, host: &str) {
        self.serve_on(lab, host, 22);
    }

    /// A command in a host of the lab, in this folder and with its `bin` first, for what measures with
    /// MPIs. What they build is kept in `cache`.
    pub fn command(&self, lab: &TestLab, host: &str, argv: &[&str], cache: &str) -> Command {
        let mut command = lab.exec(host, argv);
        let path = std::env::var("PATH").unwrap_or_default();
        command.current_dir(self.path()).env("PATH", format!("{}/bin:{path}", self.path().display()));
        command.env("TASUKI_PEERS", peers()).env("XDG_CACHE_HOME", cache);
        // Hosts of a lab share their cores, and Open MPI would bind all ranks to the first one.
        command.env("OMPI_MCA_hwloc_base_binding_policy", "none");
        command
    }

    /// Starts sshd in a host, on this port.
    pub fn serve_on(&self, lab: &TestLab, host: &str, port: u16) {
        // It goes into the background before it listens.
        let listens = format!("until ss -Hltn sport = :{port} | grep -q .; do sleep 0.02; done");
        let start = format!("({} -p {port}) && timeout 60 sh -c '{listens}'", self.start);
        ok(lab.exec(host, &["sh", "-c", &start]).current_dir(self.path()));
    }
}

/// Puts sshd into the folder that all hosts see: the one that `scripts/oracles` has unpacked, or the
/// system's. Returns the script that starts it in a host. sshd needs a user of its own, which the script adds
/// in that host only.
fn start_sshd(folder: &Path) -> Option<String> {
    let unpacked = peers().join("openssh");
    let mut known = [unpacked.join("usr/sbin/sshd"), PathBuf::from("/usr/sbin/sshd")].into_iter();
    let sshd = known.find(|sshd| sshd.exists())?;
    let argv = "cp --dereference \"$0\" sshd; for library in \"$1\"/usr/lib/*-linux-gnu/*.so.?; do [ ! -e \
                 \"$library\" ] || cp \"$library\" .; done";
    ok(Command::new("sh").args(["-ec", argv]).args([&sshd, &unpacked]).current_dir(folder));
    Some(format!(
        "if ! grep -q ^sshd: /etc/passwd; then (cat /etc/passwd; echo \
         sshd:x:65000:65534::/run/sshd:/usr/sbin/nologin) > /run/passwd && mount --bind /run/passwd \
         /etc/passwd; fi && mkdir -p /run/sshd && LD_LIBRARY_PATH={at} exec {at}/sshd -f sshd_config",
        at = folder.display(),
    ))
}

/// Makes keys and the settings of both sides.
fn configure(folder: &Path) {
    for key in ["host", "user"] {
        let file = folder.join(key);
        ok(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file));
    }
    let at = folder.display();
    let server = format!(
        "HostKey {at}/host\nAuthorizedKeysFile {at}/user.pub\nStrictModes no\nUsePAM no\nPermitRootLogin \
         prohibit-password\nPasswordAuthentication no\nPidFile none\n"
    );
    fs::write(folder.join("sshd_config"), server).expect("writes");
    let client = format!(
        "IdentityFile {at}/user\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile \
         /dev/null\nLogLevel ERROR\n"
    );
    fs::write(folder.join("ssh_config"), client).expect("writes");
}
