//! An sshd in hosts of a lab, and keys to it.

use super::{TestLab, mpis::peers, ok};
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
    /// `None`, with a note, where there is no sshd. Set TASUKI_NO_SKIP to make that a failure.
    pub fn prepare(test: &str) -> Option<Self> {
        let folder = tempfile::tempdir_in("/tmp").expect("a folder");
        let Some(start) = start_sshd(folder.path()) else {
            assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "{test} needs sshd: scripts/oracles");
            eprintln!("SKIPPED {test}: no sshd: scripts/oracles");
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

    /// Starts sshd in a host, on this port.
    pub fn serve_on(&self, lab: &TestLab, host: &str, port: u16) {
        let start = format!("{} -p {port}", self.start);
        ok(lab.exec(host, &["sh", "-c", &start]).current_dir(self.path()));
    }
}

/// Puts sshd into the folder that all hosts see: the one that `scripts/oracles` has unpacked, or the system's; and gives what starts
/// it in a host. It wants a user of its own, whom the host gets for himself.
fn start_sshd(folder: &Path) -> Option<String> {
    let unpacked = peers().join("openssh");
    let mut known = [unpacked.join("usr/sbin/sshd"), PathBuf::from("/usr/sbin/sshd")].into_iter();
    let sshd = known.find(|sshd| sshd.exists())?;
    let words = "cp --dereference \"$0\" sshd; for library in \"$1\"/usr/lib/*-linux-gnu/*.so.?; do [ ! -e \"$library\" ] || cp \"$library\" .; done";
    ok(Command::new("sh").args(["-ec", words]).args([&sshd, &unpacked]).current_dir(folder));
    Some(format!(
        "if ! grep -q ^sshd: /etc/passwd; then (cat /etc/passwd; echo sshd:x:65000:65534::/run/sshd:/usr/sbin/nologin) > \
         /run/passwd && mount --bind /run/passwd /etc/passwd; fi && mkdir -p /run/sshd && \
         LD_LIBRARY_PATH={at} exec {at}/sshd -f sshd_config",
        at = folder.display(),
    ))
}

/// Keys and settings of both sides, in a folder that all hosts see.
fn configure(folder: &Path) {
    for key in ["host", "user"] {
        let file = folder.join(key);
        ok(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file));
    }
    let at = folder.display();
    let server = format!(
        "HostKey {at}/host\nAuthorizedKeysFile {at}/user.pub\nStrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\n\
         PasswordAuthentication no\nPidFile none\n"
    );
    fs::write(folder.join("sshd_config"), server).expect("writes");
    let client = format!(
        "IdentityFile {at}/user\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
    );
    fs::write(folder.join("ssh_config"), client).expect("writes");
}
