//! What the tests of the UDP lane share.
#![allow(dead_code, reason = "not every test program uses all of it")]

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::time::{Duration, Instant};

use tasuki_link::{UdpLink, UdpOptions};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

/// A generator with the seed from TASUKI_SEED, or with the process id as its seed; the seed is printed.
pub fn seeded() -> Random {
    let replay = Replay { variable: "TASUKI_SEED", command: "cargo test -p tasuki-link" };
    Random::new(replay.one(|| u64::from(std::process::id())))
}

/// A UDP lane at this address, on any free port.
pub fn bind(address: &str) -> UdpLink {
    let address: IpAddr = address.parse().expect("an address");
    UdpLink::bind(&UdpOptions::new(address)).expect("a lane on loopback")
}

/// Queues a packet, for which there must be room.
pub fn push(link: &mut UdpLink, to: SocketAddr, packet: &[u8]) {
    let taken = link.queue(to, packet.len(), |into| {
        into.copy_from_slice(packet);
        packet.len()
    });
    assert!(taken, "queue full");
}

/// All packets that wait at `link`, with their senders, once there are at least so many: a busy kernel
/// delivers later than it sends (ksoftirqd). The time limit keeps a defect from hanging the test.
pub fn receive_all(link: &mut UdpLink, least: usize) -> Vec<(SocketAddr, Vec<u8>)> {
    let (mut all, end) = (Vec::new(), Instant::now() + Duration::from_secs(30));
    while link.receive(64, |from, bytes| all.push((from, bytes.to_vec()))).expect("receiving") > 0
        || (all.len() < least && Instant::now() < end)
    {}
    all
}

/// Puts this thread into a network namespace of its own, whose loopback has this MTU. False, and a line that
/// says why, if that is not allowed.
pub fn private_network(mtu: u32) -> bool {
    // SAFETY: no pointers are passed. The call changes the namespace of this thread alone, and each test has
    // a thread of its own.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        eprintln!("skipped: a network namespace needs CAP_SYS_ADMIN: {}", std::io::Error::last_os_error());
        return false;
    }
    run("ip", &["link", "set", "lo", "up", "mtu", &mtu.to_string()]);
    true
}

/// Runs a program, which must succeed.
pub fn run(program: &str, args: &[&str]) {
    let status =
        Command::new(program).args(args).status().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(status.success(), "{program} {args:?}: {status}");
}

/// A forked child that does nothing and lives until this value ends.
pub struct Child(nix::unistd::Pid);

/// Forks a child. It has come out of fork when this returns.
pub fn child() -> Child {
    use nix::unistd::{ForkResult, fork, pause};
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    // SAFETY: the child makes system calls only, and never returns.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Parent { child } => {
            let child = Child(child);
            reader.read_exact(&mut [0]).expect("it says that it is there");
            child
        }
        ForkResult::Child => {
            let _ = writer.write(&[0]);
            loop {
                pause();
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = nix::sys::signal::kill(self.0, nix::sys::signal::Signal::SIGKILL);
        let _ = nix::sys::wait::waitpid(self.0, None);
    }
}
