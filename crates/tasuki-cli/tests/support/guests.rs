//! Virtual machines with Debian's own kernel and emulated NICs: what namespaces cannot show, drivers and a
//! whole system with systemd and packages. `scripts/guest-image` makes what they start from; QEMU emulates
//! the processor too, so that any machine will do, slowly.
//!
//! Every guest has a way in for ssh that leads nowhere else, and NICs that are wired to other guests' NICs,
//! as with cables. Its disk is the image, and forgets what was written when it ends.

use super::skipped;
use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a guest may take to start before that counts as a failure. It is only a limit: nothing is
/// measured with it.
const START: Duration = Duration::from_secs(2400);
/// How long a command in a guest may take, seconds. It is only a limit: nothing is measured with it.
const COMMAND_SECONDS: &str = "1800";

/// A NIC of a guest: the model that QEMU emulates, and its cable.
pub struct Nic<'a> {
    /// `e1000` (82540EM), `e1000-82545em`, `igb`, `rtl8139`, ...: `qemu-system-x86_64 -device help`.
    pub model: &'a str,
    /// Name of the cable. Two NICs have the same.
    pub cable: &'a str,
    /// The end of the cable at which it is, 0 or 1.
    pub end: usize,
}

/// Guests that belong together: their cables, and the folder with their consoles.
pub struct Guests {
    image: PathBuf,
    folder: tempfile::TempDir,
}

/// A guest that runs. It ends with this value.
pub struct Guest {
    name: String,
    key: PathBuf,
    port: u16,
    console: PathBuf,
    monitor: PathBuf,
    machine: Child,
}

/// The cluster file of two hosts and two cables, from the NICs of `n1` in turn to these NICs of `n2`.
pub fn back_to_back(rate: &str, mtu: u32, [first, second]: [&str; 2]) -> String {
    let host =
        |name| format!("[[host]]\nname = \"{name}\"\nnic = [{{ name = \"ens4\" }}, {{ name = \"ens5\" }}]\n");
    let cable = |from, to| format!("[[cable]]\nends = [\"n1:{from}\", \"n2:{to}\"]\n");
    format!(
        "[cluster]\nname = \"guests\"\n[defaults]\nrate = \"{rate}\"\nmtu = {mtu}\n{}{}{}{}",
        host("n1"),
        host("n2"),
        cable("ens4", first),
        cable("ens5", second)
    )
}

impl Guests {
    /// Guests of the image that TASUKI_GUESTS names. `None`, after a note, if there is none; with
    /// TASUKI_NO_SKIP that is a failure.
    pub fn find(test: &str) -> Option<Guests> {
        let image = std::env::var_os("TASUKI_GUESTS")
            .map(PathBuf::from)
            .filter(|image| image.join("root.ext4").exists());
        if image.is_none() {
            skipped(test, "no image of guests in TASUKI_GUESTS; see `make test-guests`");
        }
        let folder = tempfile::tempdir().expect("a folder");
        Some(Guests { image: image?, folder })
    }

    /// Starts a guest that ends when it is restarted, as it does when its kernel panics. Its NICs are `ens4`,
    /// `ens5` and so on, in the order given.
    pub fn start(&self, name: &str, nics: &[Nic<'_>]) -> Guest {
        self.launch(name, nics, &["-no-reboot"])
    }

    /// Like [`Guests::start`], but the guest can be restarted ([`Guest::restart`]) and then has what is on
    /// its disk.
    pub fn start_lasting(&self, name: &str, nics: &[Nic<'_>]) -> Guest {
        self.launch(name, nics, &[])
    }

    fn launch(&self, name: &str, nics: &[Nic<'_>], argv: &[&str]) -> Guest {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|free| free.local_addr())
            .expect("a port")
            .port();
        let at = |file: &str| self.image.join(file).display().to_string();
        let console = self.folder.path().join(format!("{name}.console"));
        let mut qemu = Command::new("qemu-system-x86_64");
        qemu.args([
            "-accel",
            "tcg,thread=multi",
            "-machine",
            "pc",
            "-cpu",
            "Nehalem",
            "-smp",
            "1",
            "-m",
            "768",
        ]);
        let monitor = self.folder.path().join(format!("{name}.monitor"));
        qemu.args(["-nodefaults", "-display", "none"]).args(argv);
        qemu.args(["-monitor", &format!("unix:{},server=on,wait=off", monitor.display())]);
        qemu.args(["-serial", &format!("file:{}", console.display())]);
        qemu.args(["-kernel", &at("vmlinuz"), "-initrd", &at("initrd")]);
        qemu.args([
            "-append",
            &format!(
                "root=/dev/vda rw console=ttyS0 quiet panic=1 no_timer_check nowatchdog mitigations=off \
                      systemd.show_status=false systemd.default_timeout_start_sec=1h \
                      systemd.default_device_timeout_sec=1h systemd.hostname={name}"
            ),
        ]);
        qemu.args(["-drive", &format!("file={},if=virtio,format=raw,snapshot=on", at("root.ext4"))]);
        qemu.args(["-device", "virtio-rng-pci"]);
        // Without `restrict` the guest would reach this machine's network.
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
            // MAC addresses from which cable and end can be told.
            let cable = nic.cable.bytes().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
            let mac = format!("52:54:00:77:{cable:02x}:{:02x}", nic.end);
            let slot = number + 4;
            qemu.args(["-device", &format!("{},netdev=w{number},mac={mac},addr={slot:#x}", nic.model)]);
        }
        let said = File::create(self.folder.path().join(format!("{name}.qemu"))).expect("a file");
        let machine =
            qemu.stdin(Stdio::null()).stdout(said.try_clone().expect("a copy")).stderr(said).spawn();
        let machine = machine.expect("qemu-system-x86_64 (apt: qemu-system-x86)");
        Guest { name: name.into(), key: self.key(), port, console, monitor, machine }
    }

    /// The private key. ssh demands that no other user can read it.
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

    /// Restarts the guest as its administrator would, and waits until one can log in again.
    pub fn restart(&mut self) -> &Self {
        const BOOT: &str = "cat /proc/sys/kernel/random/boot_id";
        let before = self.ok("root", BOOT);
        // The connection breaks while the guest goes down.
        self.run("root", "systemctl reboot");
        let end = Instant::now() + START;
        loop {
            self.wait();
            let now = self.run("root", BOOT);
            if now.status.success() && now.stdout != before.as_bytes() {
                return self;
            }
            assert!(Instant::now() < end, "{} does not restart\n{}", self.name, self.printed());
            thread::sleep(Duration::from_secs(1));
        }
    }

    /// What the guest has printed on its console.
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.console).unwrap_or_default()).into_owned()
    }

    /// Reads a register of one of its NICs through the emulator, without the guest's driver: 32 bits at this
    /// offset of the NIC's memory.
    pub fn register(&self, nic: &str, offset: u64) -> u32 {
        let resource = self.ok("root", &format!("head -n 1 /sys/class/net/{nic}/device/resource"));
        let base = resource.split_whitespace().next().and_then(|word| word.strip_prefix("0x"));
        let base = base.and_then(|digits| u64::from_str_radix(digits, 16).ok()).expect("an address");
        let said = self.ask_machine(&format!("xp /1wx {:#x}", base + offset));
        let value = said.rsplit("0x").next().and_then(|rest| rest.get(..8));
        value.and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or_else(|| panic!("{said}"))
    }

    /// Sends a command to QEMU's monitor. Returns the answer.
    fn ask_machine(&self, command: &str) -> String {
        const PROMPT: &[u8] = b"(qemu) ";
        let mut stream = UnixStream::connect(&self.monitor).expect("the monitor");
        stream.set_read_timeout(Some(Duration::from_secs(300))).expect("a limit");
        let mut answer = Vec::new();
        for argv in [None, Some(command)] {
            if let Some(argv) = argv {
                answer.clear();
                stream.write_all(format!("{argv}\n").as_bytes()).expect("writes");
            }
            while !answer.ends_with(PROMPT) {
                let mut some = [0; 4096];
                let read = stream.read(&mut some).expect("an answer in time");
                assert!(read > 0, "the monitor has closed: {}", String::from_utf8_lossy(&answer));
                answer.extend_from_slice(&some[..read]);
            }
        }
        answer.truncate(answer.len() - PROMPT.len());
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Writes a cluster file into root's home.
    pub fn put_cluster(&self, file: &str, cluster: &str) {
        self.ok("root", &format!("cat > {file} <<'EOF'\n{cluster}EOF"));
    }

    /// A command that runs a shell script in the guest as a user.
    pub fn ssh(&self, user: &str, script: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", COMMAND_SECONDS, "ssh", "-p", &self.port.to_string(), "-i"]).arg(&self.key);
        for option in [
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "LogLevel=ERROR",
            "BatchMode=yes",
            "ConnectTimeout=300",
        ] {
            command.args(["-o", option]);
        }
        command.arg(format!("{user}@127.0.0.1")).arg(script).stdin(Stdio::null());
        command
    }

    /// Runs a script to its end, whatever its exit code is.
    pub fn run(&self, user: &str, script: &str) -> Output {
        self.ssh(user, script).output().expect("ssh starts")
    }

    /// Runs a script, demands success, and returns what it printed.
    pub fn ok(&self, user: &str, script: &str) -> String {
        let output = self.run(user, script);
        assert!(output.status.success(), "{}: {user}: {script}: {}", self.name, super::text(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a script in the background, and asks until it has ended: then a guest that is so busy that the
    /// connection breaks does not end it. Returns the exit code, and what it printed.
    pub fn detached(&self, user: &str, script: &str) -> (i32, String) {
        let whole = format!("( {script} ) > printed 2> errors; echo $? > code.new; mv code.new code");
        let start = format!("rm -f code; ( {whole} ) < /dev/null > /dev/null 2>&1 &");
        self.ok(user, &start);
        let end = Instant::now() + START;
        loop {
            // One login waits for a while in the guest, because each login is a load that a check would
            // report.
            let output = self.run(
                user,
                "n=0; until test -e code || test $n = 30; do sleep 3; n=$((n + 1)); \
                                         done; cat code && cat printed",
            );
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if let (true, Some((code, printed))) = (output.status.success(), said.split_once('\n')) {
                return (code.parse().expect("an exit code"), printed.to_owned());
            }
            assert!(Instant::now() < end, "{}: {script} does not end: {}", self.name, super::text(&output));
            thread::sleep(Duration::from_secs(2));
        }
    }

    /// Copies a file into the guest, readable by all.
    pub fn put(&self, file: &Path, place: &str) {
        let mut command = self.ssh("root", &format!("cat > {place} && chmod 755 {place}"));
        command.stdin(File::open(file).expect("the file"));
        let status = command.status().expect("ssh starts");
        assert!(status.success(), "{}: {} is not copied", self.name, file.display());
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The guest may have ended by itself.
        let _ = self.machine.kill();
        let _ = self.machine.wait();
    }
}
