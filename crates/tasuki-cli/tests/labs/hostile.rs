//! Strangers: what another host sends to the ports of a running job, and what another user of the same host
//! can reach, does not harm the job, and is counted by reason.

use crate::support::{
    TestLab, background,
    dump::Rank,
    eventually,
    lanes::{UNTIL_ENDED, end, not_ended},
    mpi::{Programs, families},
    run::MpiRun,
    seed, skip_without_root, tasuki,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    net::Ipv4Addr,
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/hostile.py");

/// The addresses and ports of a rank's UDP sockets, from its network namespace's table (proc(5),
/// `/proc/net/udp`).
fn sockets(rank: &Rank) -> BTreeSet<(Ipv4Addr, u16)> {
    let table = fs::read_to_string(format!("/proc/{}/net/udp", rank.pid)).unwrap_or_default();
    let parse = |line: &str| {
        let (address, port) = line.split_whitespace().nth(1)?.split_once(':')?;
        let address = Ipv4Addr::from(u32::from_str_radix(address, 16).ok()?.to_ne_bytes());
        Some((address, u16::from_str_radix(port, 16).ok()?))
    };
    table.lines().skip(1).filter_map(parse).filter(|(address, _)| !address.is_loopback()).collect()
}

/// Drops by reason, summed over all processes in the lab.
fn drops(lab: &TestLab) -> BTreeMap<String, u64> {
    let output = tasuki().args(["stats", "--lab", &lab.name, "--json"]).output().expect("runs");
    let pages: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let mut all = BTreeMap::new();
    for page in pages.as_array().into_iter().flatten() {
        for drop in page["drops"].as_array().into_iter().flatten() {
            let reason = drop[0].as_str().unwrap_or_default().to_owned();
            *all.entry(reason).or_default() += drop[1].as_u64().unwrap_or(0);
        }
    }
    all.retain(|_, count| *count > 0);
    all
}

#[test]
fn forged_damaged_and_replayed_datagrams() {
    let test = "forged_damaged_and_replayed_datagrams";
    if skip_without_root(test) {
        return;
    }
    let seed = seed(test).to_string();
    let lab = TestLab::up("hostile", &["--shape", "full:3"]);
    let programs = Programs::new();
    for mpi in families(test) {
        let program = programs.build("collect", &mpi);
        not_ended(&lab);
        // With raw lanes there would be few datagrams to capture; frames have a test of their own
        // (raw_lane.rs).
        let mut job = MpiRun::new(&lab, &mpi, "tasuki", 2, &program)
            .args(UNTIL_ENDED)
            .env("TASUKI_LANES", "udp")
            .limit(300)
            .start();
        let mut targets = BTreeSet::new();
        eventually("sockets of both ranks", || {
            let ranks = job.ranks();
            targets = ranks.iter().flat_map(sockets).collect();
            ranks.len() == 2 && targets.iter().map(|(_, port)| port).collect::<BTreeSet<_>>().len() >= 2
        });
        // The packets from n1 to n2 are captured on the cable between them.
        let port = |host: &str| {
            let address = lab.sh(host, "ip -4 -o address show dev tasuki0");
            let identity: Ipv4Addr =
                address.split(['/', ' ']).find_map(|word| word.parse().ok()).expect("identity");
            targets.iter().find(|(address, _)| *address == identity).expect("its port").1
        };
        let to = port("n2").to_string();
        let captured = lab.run("n2", &["timeout", "20", "python3", SCRIPT, "capture", "eth1", &to, "25"]);
        let payloads = captured.lines().collect::<Vec<_>>().join(",");
        let list: Vec<_> = targets.iter().map(|(address, port)| format!("{address}:{port}")).collect();
        let mut attack = background(
            &mut lab.exec("n3", &["python3", SCRIPT, "attack", &seed, &list.join(","), &payloads]),
        );
        let mut seen = BTreeMap::new();
        eventually("datagrams that are dropped for four reasons", || {
            assert!(job.is_running(), "it ended: {seen:?} {} {}", job.printed(), job.complained());
            seen = drops(&lab);
            seen.len() >= 4
        });
        kill(Pid::from_raw(attack.0.id() as i32), Signal::SIGTERM).expect("signals");
        let mut text = String::new();
        attack.0.stdout.take().expect("piped").read_to_string(&mut text).expect("reads");
        end(&lab, job, mpi.name);
        eprintln!("{}: {} thrown at {list:?}, dropped {seen:?}", mpi.name, text.trim().replace('\n', " "));
    }
}

/// Another user of a host finds the shared memory of a job, and cannot open it. Files with similar names that
/// this user leaves beside it disturb nothing.
#[test]
fn another_user_and_shared_memory() {
    let test = "another_user_and_shared_memory";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("shm", &["--shape", "full:2"]);
    let programs = Programs::new();
    // The script tries to read, write and truncate every file of the job; then it makes a thousand files with
    // similar names.
    let script = "import glob, os, random, time
os.setuid(65534)
names, opened, left = [n for n in glob.glob('/dev/shm/*tasuki*') if os.stat(n).st_uid == 0], 0, []
for name in names:
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC):
        try:
            os.close(os.open(name, flags))
            opened += 1
        except PermissionError:
            pass
for i in range(1000):
    stem = random.choice(names)
    cut = random.randrange(len('/dev/shm/') + 8, len(stem))
    guess = stem[:cut] + ''.join(random.choice('0123456789abcdef') for _ in stem[cut:])
    try:
        with open(guess, 'xb') as file:
            file.write(random.randbytes(4096))
        left.append(guess)
    except OSError:
        pass
time.sleep(1)
for guess in left:
    try:
        os.unlink(guess)
    except OSError:
        pass
print(len(names), opened)";
    for mpi in families(test) {
        let program = programs.build("collect", &mpi);
        not_ended(&lab);
        let mut job = MpiRun::new(&lab, &mpi, "tasuki", 4, &program).args(UNTIL_ENDED).limit(300).start();
        eventually("shared memory", || {
            !job.is_running() || lab.sh("n1", "ls /dev/shm | grep -c tasuki || true").trim() != "0"
        });
        let said = lab.run("n1", &["python3", "-c", script]);
        let numbers: Vec<u64> = said.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [files, opened] = numbers[..] else { panic!("{said}") };
        eprintln!("{}: {files} files, opened by another user: {opened}", mpi.name);
        assert!(files > 0 && opened == 0, "{}: {files} files, {opened} opened", mpi.name);
        end(&lab, job, mpi.name);
    }
}

/// The name of a user's program is in tables that root looks at. Nothing in it acts on root's terminal or
/// makes rows of its own; in JSON it is complete.
#[test]
fn a_programs_name_does_nothing_to_the_terminal_of_who_looks() {
    let test = "a_programs_name_does_nothing_to_the_terminal_of_who_looks";
    if skip_without_root(test) {
        return;
    }
    // A window's title, red, 8-bit red, a line of its own, text set backwards. Kernels keep 15 bytes of a
    // name.
    let names = ["x\u{1b}]0;own\u{7}", "x\u{1b}[31m\u{9b}1m", "x\nn9 \u{7f}root", "x\u{202e}exe.y"];
    let lab = TestLab::up("b-names", &["--shape", "full:2"]);
    let programs = Programs::new();
    let mpi = families(test).remove(0);
    let program = programs.build("collect", &mpi);
    for name in names {
        let hostile = program.with_file_name(name);
        fs::copy(&program, &hostile).expect("copies");
        let mut job = MpiRun::new(&lab, &mpi, "tasuki", 2, &hostile).args(["100000"]).limit(300).start();
        let look = |argv: &[&str]| {
            let output = tasuki().args(["stats", "--lab", &lab.name]).args(argv).output().expect("runs");
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        let mut pages = serde_json::Value::Null;
        eventually("both pages", || {
            assert!(job.is_running(), "it ended: {}", job.printed());
            pages = serde_json::from_str(&look(&["--json"])).expect("JSON, whatever the name");
            pages.as_array().is_some_and(|pages| pages.len() == 2)
        });
        assert!(pages.as_array().expect("a list").iter().all(|page| page["program"] == name), "{pages}");
        for said in [look(&[]), look(&["--json"])] {
            let is_harmless = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
            assert!(said.chars().all(is_harmless), "{said:?}");
        }
        let rows = look(&[]).lines().filter(|line| line.contains("@n1") || line.contains("@n2")).count();
        assert!(rows >= 2 && !look(&[]).lines().any(|line| line.starts_with("n9 ")), "{}", look(&[]));
        drop(job);
        // Its processes may outlive their launcher for a moment, and must not be taken for the next ones.
        eventually("no pages", || look(&["--json"]).trim() == "[]");
    }
}
