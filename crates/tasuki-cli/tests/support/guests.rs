//! Virtual machines with Debian's own kernel and emulated NICs: what namespaces cannot show, drivers and a whole system with systemd and
//! packages. `scripts/guest-image` makes what they start from; QEMU emulates the processor too, so that any machine will do, slowly.
//!
//! Every guest has a way in for ssh that leads nowhere else, and NICs that are wired to other guests' NICs, as with cables. Its disk is the
//! image, and forgets what was written when it ends.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a guest may take to start before that counts as failed; it measures nothing.
const START: Duration = Duration::from_secs(400);
/// The same for a command.
const COMMAND_SECONDS: &str = "400";

/// A NIC: which model QEMU emulates, and the cable that its end is of.
pub struct Nic<'a> {
    /// `e1000` (82540EM), `e1000-82545em`, `igb`, `rtl8139`, ...: `qemu-system-x86_64 -device help`.
    pub model: &'a str,
    /// Name of the cable: the other end has the same. Two ends each.
    pub cable: &'a str,
    /// Which end, 0 or 1.
    pub end: usize,
}

/// Guests that belong together: their cables, and the folder with what they print.
pub struct Guests {
    image: PathBuf,
    folder: tempfile::TempDir,
}

/// A guest that runs. It ends with this.
pub struct Guest {
    name: String,
    key: PathBuf,
    port: u16,
    console: PathBuf,
    machine: Child,
}

impl Guests {
    /// From the image that TASUKI_GUESTS names. `None`, with a note, where there is none; with TASUKI_NO_SKIP that is a failure.
    pub fn find(test: &str) -> Option<Guests> {
        let image = std::env::var_os("TASUKI_GUESTS")
            .map(PathBuf::from)
            .filter(|image| image.join("root.ext4").exists());
        if image.is_none() {
            assert!(
                std::env::var_os("TASUKI_NO_SKIP").is_none(),
                "{test} needs TASUKI_GUESTS (scripts/guest-image)"
            );
            eprintln!("SKIPPED {test}: no image of guests; see `make test-guests`");
        }
        let folder = tempfile::tempdir().expect("a folder");
        Some(Guests { image: image?, folder })
    }

    /// Starts a guest. Its NICs are `ens4`, `ens5` and so on, in the order given.
    pub fn start(&self, name: &str, nics: &[Nic<'_>]) -> Guest {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|free| free.local_addr())
            .expect("a port")
            .port();
        let at = |file: &str| self.image.join(file).display().to_string();
        let console = self.folder.path().join(format!("{name}.console"));
        let mut qemu = Command::new("qemu-system-x86_64");
        qemu.args(["-accel", "tcg,thread=multi", "-machine", "pc", "-cpu", "max", "-smp", "1", "-m", "768"]);
        qemu.args(["-nodefaults", "-display", "none", "-monitor", "none", "-no-reboot"]);
        qemu.args(["-serial", &format!("file:{}", console.display())]);
        qemu.args(["-kernel", &at("vmlinuz"), "-initrd", &at("initrd")]);
        qemu.args([
            "-append",
            &format!("root=/dev/vda rw console=ttyS0 quiet mitigations=off systemd.hostname={name}"),
        ]);
        qemu.args(["-drive", &format!("file={},if=virtio,format=raw,snapshot=on", at("root.ext4"))]);
        qemu.args(["-device", "virtio-rng-pci"]);
        // Without `restrict` it would reach this machine's network.
        qemu.args(["-netdev", &format!("user,id=way,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22")]);
        qemu.args(["-device", "virtio-net-pci,netdev=way,addr=0x3"]);
        for (number, nic) in nics.iter().enumerate() {
            let end =
                |end: usize| self.folder.path().join(format!("{}.{end}", nic.cable)).display().to_string();
            let (own, other) = (end(nic.end), end(1 - nic.end));
            qemu.args([
                "-netdev",
                &format!(
                    "dgram,id=w{number},local.type=unix,local.path={own},remote.type=unix,remote.path={other}"
                ),
            ]);
            // Addresses that say which cable and end they are of.
            let cable = nic.cable.bytes().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
            let mac = format!("52:54:00:77:{cable:02x}:{:02x}", nic.end);
            let slot = number + 4;
            qemu.args(["-device", &format!("{},netdev=w{number},mac={mac},addr={slot:#x}", nic.model)]);
        }
        let said = File::create(self.folder.path().join(format!("{name}.qemu"))).expect("a file");
        let machine =
            qemu.stdin(Stdio::null()).stdout(said.try_clone().expect("a copy")).stderr(said).spawn();
        let machine = machine.expect("qemu-system-x86_64 (apt: qemu-system-x86)");
        Guest { name: name.into(), key: self.key(), port, console, machine }
    }

    /// The key, as ssh wants it: nobody else's to read.
    fn key(&self) -> PathBuf {
        let key = self.folder.path().join("key");
        if !key.exists() {
            fs::copy(self.image.join("key"), &key).expect("the key");
            fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("its mode");
        }
        key
    }
}

impl Guest {
    /// Waits until one can log in.
    pub fn wait(&mut self) -> &Self {
        let end = Instant::now() + START;
        while !self.ssh("root", "true").output().is_ok_and(|output| output.status.success()) {
            let gone = self.machine.try_wait().expect("waits");
            assert!(
                gone.is_none() && Instant::now() < end,
                "{} does not start: {gone:?}\n{}",
                self.name,
                self.printed()
            );
            thread::sleep(Duration::from_millis(500));
        }
        self
    }

    /// What it has printed on its console.
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.console).unwrap_or_default()).into_owned()
    }

    /// A shell script as a user.
    pub fn ssh(&self, user: &str, script: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", COMMAND_SECONDS, "ssh", "-p", &self.port.to_string(), "-i"]).arg(&self.key);
        for option in [
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "LogLevel=ERROR",
            "BatchMode=yes",
            "ConnectTimeout=10",
        ] {
            command.args(["-o", option]);
        }
        command.arg(format!("{user}@127.0.0.1")).arg(script).stdin(Stdio::null());
        command
    }

    /// Runs a script to its end, whatever that is.
    pub fn run(&self, user: &str, script: &str) -> Output {
        self.ssh(user, script).output().expect("ssh starts")
    }

    /// Runs a script, demands success, and returns what it printed.
    pub fn ok(&self, user: &str, script: &str) -> String {
        let output = self.run(user, script);
        assert!(output.status.success(), "{}: {user}: {script}: {}", self.name, super::text(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Puts a file there, readable by all.
    pub fn put(&self, file: &Path, place: &str) {
        let mut command = self.ssh("root", &format!("cat > {place} && chmod 755 {place}"));
        command.stdin(File::open(file).expect("the file"));
        let status = command.status().expect("ssh starts");
        assert!(status.success(), "{}: {} is not copied", self.name, file.display());
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.machine.kill();
        let _ = self.machine.wait();
    }
}
