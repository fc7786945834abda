//! What the tests of the command share: labs that end with the test, and looks at the machine.
#![allow(dead_code)] // Every test program uses its own part.

pub mod browser;
pub mod dump;
pub mod guests;
pub mod jobs;
pub mod killed;
pub mod lanes;
pub mod machines;
pub mod mpi;
pub mod mpis;
pub mod run;
pub mod slurm;
pub mod ssh;
pub mod state;
pub mod stream;
pub mod trial;

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use tasuki_testkit::replay::Replay;

/// Environment variable that marks every process of a test's labs, because children inherit it.
pub const MARK: &str = "TASUKI_TEST_MARK";

/// A script that takes eth1 of a host into a network namespace of its own, and has another interface take its
/// number, so that it has another one when it is back, as a device that is plugged in again. What was set is
/// gone by then.
pub const NIC_OUT: &str = "ip netns add aside
    number=$(cat /sys/class/net/eth1/ifindex)
    ip link set eth1 netns aside
    ip link add holder index $number type veth peer name holder-end";

/// The command under test.
pub fn tasuki() -> Command {
    let mut tasuki = Command::new(env!("CARGO_BIN_EXE_tasuki"));
    // Daemons that it starts in labs find it by this.
    tasuki.env("TASUKI_CRIU", mpis::criu());
    tasuki
}

/// A name that no other test uses.
pub fn unique(stem: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{stem}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Notes that a test is not run, and why. With TASUKI_NO_SKIP (in CI) that is a failure.
pub fn skipped(test: &str, why: &str) {
    assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "{test} cannot run: {why}");
    eprintln!("SKIPPED {test}: {why}");
}

/// Whether the test cannot run because labs need root; prints a note then. With TASUKI_NO_SKIP that is a
/// failure.
pub fn skip_without_root(test: &str) -> bool {
    if nix::unistd::Uid::effective().is_root() {
        return false;
    }
    skipped(test, "labs need root");
    true
}

/// Debian's Python, for which its python3-torch is.
pub const PYTHON: &str = "/usr/bin/python3";

/// Whether the test cannot run because labs need root, or because PyTorch is missing; prints a note then.
/// With TASUKI_NO_SKIP that is a failure.
pub fn skip_without_torch(test: &str) -> bool {
    if skip_without_root(test) {
        return true;
    }
    let import = Command::new(PYTHON).args(["-c", "import torch"]).output();
    let is_there = import.is_ok_and(|output| output.status.success());
    if !is_there {
        skipped(test, "PyTorch is not there: apt-get install python3-torch");
    }
    !is_there
}

/// Whether the test cannot run because ordinary users may not enter the folder of this checkout, such as
/// root's home, and so not load what was built there; prints a note then. With TASUKI_NO_SKIP that is a
/// failure.
pub fn skip_without_way_in(test: &str) -> bool {
    let is_closed =
        |folder: &&Path| fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & 0o001 == 0);
    let Some(closed) = Path::new(env!("CARGO_BIN_EXE_tasuki")).ancestors().skip(1).find(is_closed) else {
        return false;
    };
    let closed = closed.display();
    skipped(test, &format!("ordinary users may not enter {closed}: move the checkout out of it"));
    true
}

/// Runs a command to its end, demands success, and returns what it printed.
pub fn ok(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the command starts");
    assert!(output.status.success(), "{command:?} failed: {}", text(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Both streams of a finished command, for messages.
pub fn text(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A lab that ends with the test, also when the test fails.
pub struct TestLab {
    /// Its name.
    pub name: String,
}

impl TestLab {
    /// Builds a lab; `arguments` are those of `tasuki lab up` without the name.
    pub fn up(stem: &str, arguments: &[&str]) -> Self {
        let lab = Self { name: unique(stem) };
        ok(tasuki().args(["lab", "up", "--name", &lab.name]).args(arguments).env(MARK, &lab.name));
        lab
    }

    /// A command in a host.
    pub fn exec(&self, host: &str, command: &[&str]) -> Command {
        let mut tasuki = tasuki();
        tasuki.args(["lab", "exec", "--lab", &self.name, host, "--"]).args(command);
        tasuki.env(MARK, &self.name);
        tasuki
    }

    /// Runs a command in a host and returns what it printed.
    pub fn run(&self, host: &str, command: &[&str]) -> String {
        ok(&mut self.exec(host, command))
    }

    /// A shell script in a host.
    pub fn sh(&self, host: &str, script: &str) -> String {
        self.run(host, &["sh", "-c", script])
    }

    /// Runs iperf3 from one host to an address or name of another. Returns what it printed.
    pub fn iperf3(&self, from: &str, to: &str, argv: &[&str]) -> String {
        // iperf3 forks before it listens.
        let listens = "until ss -Hltn sport = :5201 | grep -q .; do sleep 0.02; done";
        self.sh(to, &format!("iperf3 -s -D -1 && timeout 60 sh -c '{listens}'"));
        let mut command = vec!["iperf3", "-c", to, "--connect-timeout", "30000"];
        command.extend(argv);
        self.run(from, &command)
    }

    /// Plants a fault: `fault("cut", &["n1-n2"])`.
    pub fn fault(&self, kind: &str, arguments: &[&str]) {
        ok(tasuki().args(["lab", kind, "--lab", &self.name]).args(arguments));
    }

    /// The lab's status as JSON.
    pub fn status(&self) -> serde_json::Value {
        let text = ok(tasuki().args(["lab", "status", "--json", &self.name]));
        serde_json::from_str(&text).expect("JSON")
    }

    /// Takes the lab down now.
    pub fn down(&self) {
        ok(tasuki().args(["lab", "down", &self.name]));
    }
}

impl Drop for TestLab {
    fn drop(&mut self) {
        // It is down already if the test took it down itself.
        let _ = tasuki().args(["lab", "down", &self.name]).output();
    }
}

/// Processes whose environment has the mark. Zombies have no environment, so they are not among them.
pub fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let carries = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(carries).collect()
}

/// Namespaces of a process, as links like `net:[4026532563]`.
pub fn namespaces(pid: i32) -> BTreeSet<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/ns")).into_iter().flatten().flatten();
    let link = |entry: fs::DirEntry| fs::read_link(entry.path()).ok();
    entries.filter_map(link).map(|link| link.display().to_string()).collect()
}

/// Namespaces of all processes of the machine.
pub fn all_namespaces() -> BTreeSet<String> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).flat_map(namespaces).collect()
}

/// The machine's own network and mounts, which a lab must not touch.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    interfaces: BTreeSet<String>,
    addresses: String,
    routes: String,
    mounts: BTreeSet<String>,
    forwarding: String,
}

impl Machine {
    /// The state of the machine now.
    pub fn look() -> Self {
        let ip = |arguments: &[&str]| ok(Command::new("ip").args(arguments));
        let names = fs::read_dir("/sys/class/net").expect("/sys").flatten();
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
        Self {
            interfaces: names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect(),
            addresses: ip(&["-o", "-4", "address"]),
            routes: ip(&["route", "show", "table", "all"]),
            mounts: mounts.lines().map(str::to_owned).collect(),
            forwarding: fs::read_to_string("/proc/sys/net/ipv4/ip_forward").expect("ip_forward"),
        }
    }
}

/// A child process that is ended with the test.
pub struct Background(pub Child);

impl Drop for Background {
    fn drop(&mut self) {
        // It has ended already if the test has waited for it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a command in the background, its output readable from the child.
pub fn background(command: &mut Command) -> Background {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    Background(child.expect("the command starts"))
}

/// Looks at a condition, 10 ms apart, and the time that they must have taken as well, before it counts as a
/// hang. On a machine that others keep busy jobs took longer than 30 s to end, and a look takes its time.
const LOOKS_LEAST: u32 = 1_000;
const LIMIT: std::time::Duration = std::time::Duration::from_secs(300);

/// Waits until `condition` holds. The limit keeps a defect from hanging the tests; nothing is measured with
/// it.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    for looks in 0.. {
        if condition() {
            return;
        }
        assert!(
            looks < LOOKS_LEAST || begun.elapsed() < LIMIT,
            "waited for five minutes or more for: {what}"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// The labs that the process with this id has made for itself.
pub fn labs(id: u32) -> Vec<String> {
    let all = ok(tasuki().args(["lab", "list"]));
    all.lines().filter(|name| name.ends_with(&format!("-{id}"))).map(str::to_owned).collect()
}

/// The seed of a randomised test: TASUKI_SEED, or one from the clock. It is printed, so that a run can be
/// repeated.
pub fn seed(test: &str) -> u64 {
    let from_clock = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |since| since.subsec_nanos().into())
    };
    let command = format!("cargo test --release {test} -- --nocapture");
    Replay { variable: "TASUKI_SEED", command: &command }.one(from_clock)
}
