//! Two endpoints in one process that exchange messages in lock-step, so that nobody waits and everything that is done is done for
//! a message.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use tasuki_engine::{Buffer, Completion, Endpoint, Lanes, Options, Peer, RecvArgs, Report, SendArgs};
use tasuki_sys::netlink::{Netlink, VethEnd};
use tasuki_sys::netns::within;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Shared,
    Udp,
    Raw,
}

/// The two ends. Namespaces and the cable between them go with the process.
pub struct Pair {
    pub ends: [Endpoint; 2],
    peers: [Peer; 2],
    into: Vec<u8>,
    from: Vec<u8>,
}

const MACS: [[u8; 6]; 2] = [[0x02, 0, 0, 0, 0, 1], [0x02, 0, 0, 0, 0, 2]];
const MTU: u32 = 1500;
/// A wait that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn identity(end: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 1 + end as u8)
}

fn link_address(end: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, 0, 1 + end as u8)
}

impl Pair {
    /// Two ends joined by `way`. `None` without root, which namespaces need (shared memory does not).
    pub fn new(way: Way) -> Option<Pair> {
        let ends = match way {
            Way::Shared => {
                let options = Options { identity: Some(Ipv4Addr::LOCALHOST.into()), ..options() };
                [0, 1].map(|_| Endpoint::open(&options).expect("an endpoint"))
            }
            _ if !nix::unistd::geteuid().is_root() => {
                eprintln!("skipped: needs root to make network namespaces");
                return None;
            }
            Way::Udp => cabled(Lanes::Udp),
            Way::Raw => cabled(Lanes::RawUdp),
        };
        let peers = [ends[0].add_peer(&ends[1].address()), ends[1].add_peer(&ends[0].address())];
        Some(Pair { ends, peers, into: Vec::new(), from: Vec::new() })
    }

    /// Sends messages there and back for what happens only at the beginning: greeting, proof of the raw lane, memory that grows.
    pub fn warm_up(&mut self, bytes: usize) {
        self.round_trips(bytes, 2000);
    }

    /// So many messages there and back. Not inlined, so that a profiler can be told to look at nothing else.
    #[inline(never)]
    pub fn round_trips(&mut self, bytes: usize, count: usize) {
        for _ in 0..count {
            self.round_trip(bytes);
        }
    }

    /// One message there and one back.
    fn round_trip(&mut self, bytes: usize) {
        if self.into.len() != bytes {
            self.into = vec![0; bytes];
            self.from = vec![1; bytes];
        }
        self.message(0, 1);
        self.message(1, 0);
    }

    fn message(&mut self, from: usize, to: usize) {
        let (start, buffers) =
            (Instant::now(), [Buffer { ptr: self.into.as_mut_ptr(), len: self.into.len() }]);
        let recv = RecvArgs {
            source: Some(self.peers[to]),
            tag: Some(5),
            ignore: 0,
            buffers: &buffers,
            multi: None,
            report: Report::Completion,
            context: 1,
        };
        // SAFETY: the buffer outlives the receive, which is over before this function is.
        unsafe { self.ends[to].recv(&recv) }.expect("a receive");
        let buffers = [Buffer { ptr: self.from.as_mut_ptr(), len: self.from.len() }];
        let send = SendArgs {
            peer: self.peers[from],
            tag: Some(5),
            data: None,
            buffers: &buffers,
            inject: false,
            report: Report::Completion,
            delivery: false,
            context: 2,
        };
        // SAFETY: nobody writes to the buffer; it outlives the send, which is over before this function is.
        unsafe { self.ends[from].send(&send) }.expect("a send");
        let (mut sent, mut received) = (false, false);
        while !(sent && received) {
            // The receiver first: most often it finds the message at once.
            self.ends[to].turn(8, |one| received |= matches!(one, Completion::Recv { .. }));
            let poll = |one| sent |= matches!(one, Completion::Send { .. });
            if self.ends[from].poll_many(8, poll) == 0 && !(sent && received) {
                self.ends[from].turn(8, |one| sent |= matches!(one, Completion::Send { .. }));
            }
            assert!(start.elapsed() < PATIENCE, "no message: {}", self.ends[from].describe());
        }
    }
}

fn options() -> Options {
    Options { stats: false, ..Options::default() }
}

/// Two endpoints in namespaces of their own with a cable between them.
fn cabled(lanes: Lanes) -> [Endpoint; 2] {
    let spaces = [(); 2].map(|()| namespace());
    let end = |which: usize| VethEnd {
        name: "e0",
        mac: Some(MACS[which]),
        mtu: MTU,
        namespace: Some(spaces[which].as_fd()),
    };
    Netlink::open().expect("netlink").add_veth(&end(0), &end(1)).expect("a cable");
    for (which, space) in spaces.iter().enumerate() {
        within(space.as_fd(), || set_up(which)).expect("the namespace");
    }
    [0, 1].map(|which| within(spaces[which].as_fd(), || open(which, lanes)).expect("the namespace"))
}

fn namespace() -> File {
    let maker = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
        File::open("/proc/thread-self/ns/net").expect("its file")
    });
    maker.join().expect("the thread")
}

fn set_up(which: usize) {
    let mut netlink = Netlink::open().expect("netlink");
    let index = netlink.link("e0").expect("the cable's end").index;
    netlink.set_up(index, true).expect("up");
    for address in [identity(which), link_address(which)] {
        netlink.add_address(index, address, 24).expect("an address");
    }
}

fn open(which: usize, lanes: Lanes) -> Endpoint {
    let (own, other) = (which, 1 - which);
    let rail = serde_json::json!({
        "rail": 0, "nic": "e0", "local": link_address(own), "remote": link_address(other), "mtu": MTU,
    });
    let peers = serde_json::json!({ identity(other).to_string(): { "rails": [rail] } });
    let rails = serde_json::json!({ "version": 1, "identity": identity(own), "peers": peers });
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), rails.to_string()).expect("a file");
    let rails = Some(file.path().to_owned());
    Endpoint::open(&Options { rails, lanes, shm: false, ..options() }).expect("an endpoint")
}
