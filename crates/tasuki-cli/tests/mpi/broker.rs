//! MPI programs of ordinary users, and the broker: members of its group get raw lanes, all others UDP, and
//! whatever becomes of the broker no program waits or fails.

use crate::support::{
    Background, TestLab, background, eventually,
    lanes::{UNTIL_ENDED, end, lane, not_ended, until},
    mpi::{Programs, families},
    mpis::Mpi,
    ok,
    run::{MpiRun, Running},
    skip_without_root, skip_without_way_in, tasuki,
};
use nix::{
    sys::{
        signal::{Signal, kill},
        socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket},
    },
    unistd::Pid,
};
use std::{
    os::fd::AsRawFd,
    path::Path,
    process::{Command, Stdio},
};

const TASUKI: &str = "/run/tasuki/bin/tasuki";
/// Every host of a lab has a `/run` of its own, while `/run/tasuki` is the same on all.
const SOCKET: &str = "/run/broker.sock";
const GROUP: &str = "4100";
/// A member of the broker's group, as setpriv(1) makes one.
const MEMBER: [&str; 7] = [
    "setpriv",
    "--reuid=4201",
    "--regid=4201",
    "--groups=4300,4100",
    "--inh-caps=-all",
    "--bounding-set=-all",
    "--no-new-privs",
];
const STRANGER: [&str; 7] = [
    "setpriv",
    "--reuid=4203",
    "--regid=4203",
    "--groups=4300",
    "--inh-caps=-all",
    "--bounding-set=-all",
    "--no-new-privs",
];

/// The MPIs whose launcher, run by root, allows ranks to be other users. The daemons of Open MPI 4 demand
/// their own user.
fn launchable(test: &str) -> Vec<Mpi> {
    families(test).into_iter().filter(|mpi| mpi.name != "openmpi-4.1").collect()
}

/// Starts a broker on every host of the lab.
fn brokers(lab: &TestLab) -> [Background; 2] {
    ["n1", "n2"].map(|host| {
        let broker =
            background(&mut lab.exec(host, &[TASUKI, "broker", "--socket", SOCKET, "--group", GROUP]));
        eventually("the broker listens", || {
            lab.exec(host, &["test", "-S", SOCKET]).status().is_ok_and(|status| status.success())
        });
        broker
    })
}

fn start(lab: &TestLab, mpi: &Mpi, program: &Path, user: &[&str]) -> Running {
    let mut command = tasuki();
    command.args(["run", "--lab", &lab.name, "--mpi", mpi.name, "--transport", "tasuki", "-n", "2"]);
    // Otherwise Open MPI 5 would not trust a rank of another user, nor share files with it.
    command.args(["-x", "PMIX_MCA_psec=none", "-x", "PMIX_MCA_gds=hash"]);
    command.args(user).arg(program).args(UNTIL_ENDED);
    not_ended(lab);
    let run = MpiRun::of(command, lab, format!("{} as {}", mpi.name, user[1]));
    run.env("TASUKI_LANES", "raw,udp").env("TASUKI_BROKER", SOCKET).limit(300).start()
}

/// A program that other users may read.
fn program(programs: &Programs, mpi: &Mpi) -> std::path::PathBuf {
    let program = programs.build("collect", mpi);
    let folder = program.parent().expect("a folder");
    ok(Command::new("chmod").args(["755"]).arg(folder));
    program
}

fn doctor(lab: &TestLab, user: &[&str]) -> serde_json::Value {
    let socket = format!("TASUKI_BROKER={SOCKET}");
    let argv = [user, &["env", &socket, TASUKI, "doctor-facts"]].concat();
    serde_json::from_str(&lab.run("n1", &argv)).expect("JSON")
}

#[test]
fn members_programs_get_raw_lanes_and_strangers_udp() {
    let test = "members_programs_get_raw_lanes_and_strangers_udp";
    if skip_without_root(test) || skip_without_way_in(test) {
        return;
    }
    let lab = TestLab::up("broker", &["--shape", "pair:1"]);
    let _brokers = brokers(&lab);
    let programs = Programs::new();
    for mpi in launchable(test) {
        let program = program(&programs, &mpi);
        let mut job = start(&lab, &mpi, &program, &MEMBER);
        let now = until("frames both ways", &lab, &mut job, |told| {
            let raw = lane(told, "raw");
            raw.up && raw.sent > 500 && raw.received > 500
        });
        eprintln!("{}: {now:?}", mpi.name);
        end(&lab, job, mpi.name);
        let mut job = start(&lab, &mpi, &program, &STRANGER);
        let now = until("datagrams", &lab, &mut job, |told| lane(told, "udp").sent > 500);
        assert!(!now.lanes.contains_key("raw"), "{}: {now:?}", mpi.name);
        end(&lab, job, mpi.name);
    }
    let (member, stranger) = (doctor(&lab, &MEMBER), doctor(&lab, &STRANGER));
    assert!(member["raw_refused"].is_string() && member["broker_refused"].is_null(), "{member}");
    let remedy = stranger["broker_refused"]["remedy"].as_str().unwrap_or_default();
    assert!(remedy.contains("usermod"), "{stranger}");
}

/// The sockets belong to the programs, so they survive a broker that dies. Programs that start afterwards use
/// UDP.
#[test]
fn lanes_outlive_their_broker_and_without_one_there_is_udp() {
    let test = "lanes_outlive_their_broker_and_without_one_there_is_udp";
    if skip_without_root(test) || skip_without_way_in(test) {
        return;
    }
    let lab = TestLab::up("brokerless", &["--shape", "pair:1"]);
    let programs = Programs::new();
    for mpi in launchable(test) {
        let program = program(&programs, &mpi);
        let mut dying = brokers(&lab);
        let mut job = start(&lab, &mpi, &program, &MEMBER);
        let before = until("frames", &lab, &mut job, |told| lane(told, "raw").received > 200);
        for broker in &mut dying {
            // The session in the lab ends with its client.
            broker.0.kill().expect("killed");
            broker.0.wait().expect("ends");
        }
        until("frames as before", &lab, &mut job, |told| {
            let raw = lane(told, "raw");
            raw.up && raw.received > lane(&before, "raw").received + 500
        });
        end(&lab, job, mpi.name);
        let mut job = start(&lab, &mpi, &program, &MEMBER);
        let now = until("datagrams", &lab, &mut job, |told| lane(told, "udp").sent > 500);
        assert!(!now.lanes.contains_key("raw"), "{}: {now:?}", mpi.name);
        end(&lab, job, mpi.name);
        lab.sh("n1", "rm -f /run/broker.sock");
        lab.sh("n2", "rm -f /run/broker.sock");
    }
    let facts = doctor(&lab, &MEMBER);
    let remedy = facts["broker_refused"]["remedy"].as_str().unwrap_or_default();
    assert!(remedy.contains("tasuki broker") || remedy.contains("tasuki-broker"), "{facts}");
    // A folder of systemd's own, see systemd.unit(5).
    lab.sh("n1", "mkdir -p /run/systemd/system && touch /run/systemd/system/tasuki-broker.socket");
    let facts = doctor(&lab, &MEMBER);
    let remedy = facts["broker_refused"]["remedy"].as_str().unwrap_or_default();
    assert!(remedy.contains("systemctl enable --now tasuki-broker.socket"), "{facts}");
}

/// As systemd does it (sd_listen_fds(3)): the socket exists before the service, which gets it as descriptor
/// 3.
#[test]
fn a_socket_that_systemd_has_made_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("broker.sock");
    let socket =
        socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
    bind(socket.as_raw_fd(), &UnixAddr::new(&path).expect("a path")).expect("bound");
    listen(&socket, Backlog::new(16).expect("a number")).expect("listens");
    let group = nix::unistd::getgid().to_string();
    let program = env!("CARGO_BIN_EXE_tasuki");
    let script = format!("LISTEN_PID=$$ LISTEN_FDS=1 exec {program} broker --group {group} --nic lo 3<&0");
    let mut service = Command::new("sh");
    service.args(["-c", &script]).stdin(Stdio::from(socket)).stdout(Stdio::null()).stderr(Stdio::null());
    let mut service = Background(service.spawn().expect("sh starts"));
    // Asking whether a lane would be given needs no privilege; `lo` is the NIC that the broker was told.
    let mut broker = tasuki_link::broker::Broker::at(&path);
    broker.would_give("lo").expect("the service answers");
    assert!(broker.would_give("eth99").unwrap_err().to_string().contains("--nic"));
    kill(Pid::from_raw(service.0.id() as i32), Signal::SIGTERM).expect("signals");
    assert!(service.0.wait().expect("ends").success(), "it ends well when it is told to");
    assert!(path.exists(), "the socket's file is systemd's");
}

/// Sends a signal to the brokers themselves, and not to the clients that started them from outside.
fn signal_brokers(lab: &TestLab, signal: Signal) {
    for pid in crate::support::marked(&lab.name) {
        let argv = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if argv.starts_with(TASUKI.as_bytes()) && argv.windows(6).any(|part| part == b"broker") {
            kill(Pid::from_raw(pid), signal).expect("signals");
        }
    }
}

/// A broker that does not answer: programs start without it. A broker that answers after a while is not too
/// late: on a slow host it may have to be started first.
#[test]
fn a_broker_that_hangs_keeps_no_program_from_starting_and_may_come_late() {
    let test = "a_broker_that_hangs_keeps_no_program_from_starting_and_may_come_late";
    if skip_without_root(test) || skip_without_way_in(test) {
        return;
    }
    let lab = TestLab::up("brokerstop", &["--shape", "pair:1"]);
    let _brokers = brokers(&lab);
    signal_brokers(&lab, Signal::SIGSTOP);
    let programs = Programs::new();
    for mpi in launchable(test).into_iter().take(1) {
        let program = program(&programs, &mpi);
        let mut job = start(&lab, &mpi, &program, &MEMBER);
        let now = until("datagrams", &lab, &mut job, |told| lane(told, "udp").sent > 500);
        assert!(!now.lanes.contains_key("raw"), "{}: {now:?}", mpi.name);
        // This is longer than programs wait that do nothing else.
        std::thread::sleep(std::time::Duration::from_secs(3));
        signal_brokers(&lab, Signal::SIGCONT);
        until("frames", &lab, &mut job, |told| {
            told.lanes.contains_key("raw") && lane(told, "raw").sent > 500
        });
        end(&lab, job, mpi.name);
    }
}
