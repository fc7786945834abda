//! Two endpoints in network namespaces of their own with cables between them. All of it goes with the
//! process. Needs root.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use tasuki_engine::{Endpoint, Lanes, Options};
use tasuki_sys::netlink::{Netlink, TokenBucket, VethEnd};
use tasuki_sys::netns::within;

const MTU: u32 = 1500;

/// Two hosts with NICs `e0`, `e1`, ... each joined to the one of the same name. The first carries the
/// identity addresses too.
pub struct Cables {
    spaces: [File; 2],
    count: usize,
}

fn nic(cable: usize) -> String {
    format!("e{cable}")
}

fn identity(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 1 + host as u8)
}

fn link_address(cable: usize, host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, cable as u8, 1 + host as u8)
}

impl Cables {
    /// Makes `count` cables between two namespaces; `None` without root, which namespaces need.
    pub fn new(count: usize) -> Option<Cables> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: needs root to make network namespaces");
            return None;
        }
        let cables = Cables { spaces: [(); 2].map(|()| namespace()), count };
        let mut netlink = Netlink::open().expect("netlink");
        for cable in 0..count {
            let name = nic(cable);
            let end = |host: usize| VethEnd {
                name: &name,
                mac: Some([0x02, 0, 0, 0, cable as u8, 1 + host as u8]),
                mtu: MTU,
                namespace: Some(cables.spaces[host].as_fd()),
            };
            netlink.add_veth(&end(0), &end(1)).expect("a cable");
        }
        for host in 0..2 {
            for cable in 0..count {
                cables.set_up(host, cable, true);
                cables.address(host, cable, link_address(cable, host));
            }
            cables.address(host, 0, identity(host));
        }
        Some(cables)
    }

    fn with<T>(&self, host: usize, work: impl FnOnce() -> T) -> T {
        within(self.spaces[host].as_fd(), work).expect("the namespace")
    }

    /// Sets a NIC up, or down: then the one at the other end has no carrier either.
    pub fn set_up(&self, host: usize, cable: usize, up: bool) {
        self.with(host, || {
            let mut netlink = Netlink::open().expect("netlink");
            let index = netlink.link(&nic(cable)).expect("the cable's end").index;
            netlink.set_up(index, up).expect("up or down");
        });
    }

    /// Lets no more than this many bits per second through each NIC, so that one cable alone does not carry
    /// all; raw lanes go past that.
    #[allow(dead_code, reason = "each test includes this file and uses a part")]
    pub fn limit(&self, bits_per_second: u64) {
        for (host, cable) in (0..2).flat_map(|host| (0..self.count).map(move |cable| (host, cable))) {
            self.with(host, || {
                let mut netlink = Netlink::open().expect("netlink");
                let index = netlink.link(&nic(cable)).expect("the cable's end").index;
                let bucket = TokenBucket { bits_per_second, burst_bytes: 16 << 10, limit_bytes: 256 << 10 };
                netlink.set_token_bucket(index, &bucket).expect("a limit");
            });
        }
    }

    fn address(&self, host: usize, cable: usize, address: Ipv4Addr) {
        self.with(host, || {
            let mut netlink = Netlink::open().expect("netlink");
            let index = netlink.link(&nic(cable)).expect("the cable's end").index;
            netlink.add_address(index, address, 24).expect("an address");
        });
    }

    /// An endpoint on each host; cable n is rail n.
    pub fn endpoints(&self, lanes: Lanes) -> [Endpoint; 2] {
        [0, 1].map(|host| self.with(host, || self.open(host, lanes)))
    }

    fn open(&self, own: usize, lanes: Lanes) -> Endpoint {
        let other = 1 - own;
        let rail = |cable: usize| {
            let (local, remote) = (link_address(cable, own), link_address(cable, other));
            let nic = nic(cable);
            serde_json::json!({ "rail": cable, "nic": nic, "local": local, "remote": remote, "mtu": MTU })
        };
        let rails: Vec<_> = (0..self.count).map(rail).collect();
        let peers = serde_json::json!({ identity(other).to_string(): { "rails": rails } });
        let rails = serde_json::json!({ "version": 1, "identity": identity(own), "peers": peers });
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), rails.to_string()).expect("a file");
        let rails = Some(file.path().to_owned());
        let options = Options { rails, lanes, shm: false, stats: false, ..Options::default() };
        Endpoint::open(&options).expect("an endpoint")
    }
}

fn namespace() -> File {
    let maker = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
        File::open("/proc/thread-self/ns/net").expect("its file")
    });
    maker.join().expect("the thread")
}
