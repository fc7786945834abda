//! Several nodes in one process.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use tasuki_shared::{Meeting, Options, Shared};

/// A loopback address that no other test of this machine uses at this time.
pub fn own_address() -> Ipv4Addr {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let [_, b, c, d] = (std::process::id() * 64 + count + 1).to_be_bytes();
    Ipv4Addr::new(127, b | 64, c, d.max(1))
}

pub fn meeting(rank: u32, size: u32, at: Ipv4Addr) -> Meeting {
    Meeting { rank, size, at: format!("{at}:29500"), time: Duration::from_secs(60) }
}

pub fn options() -> Options {
    // A node that loses its memory must not end the others, which are threads of this test.
    Options { bytes: 64 << 20, address: None, on_loss: |_| {}, ..Options::default() }
}

pub fn endpoint() -> tasuki_engine::Options {
    let identity = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    tasuki_engine::Options { identity, broker: None, stats: false, ..tasuki_engine::Options::default() }
}

pub fn open(meeting: &Meeting) -> Shared {
    Shared::open(meeting, &options(), &endpoint()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `program` as each of so many nodes, and returns what they return, by rank. All leave together.
pub fn run<T: Send>(size: u32, program: impl Fn(&Shared) -> T + Sync) -> Vec<T> {
    let (at, program) = (own_address(), &program);
    std::thread::scope(|scope| {
        let node = |rank| {
            scope.spawn(move || {
                let shared = open(&meeting(rank, size, at));
                let result = program(&shared);
                shared.close().expect("all leave");
                result
            })
        };
        let nodes: Vec<_> = (0..size).map(node).collect();
        nodes.into_iter().map(|node| node.join().expect("no panic")).collect()
    })
}

/// A word of the memory, counted from its beginning.
pub fn word(shared: &Shared, index: usize) -> &AtomicU64 {
    assert!(index < options().bytes / 8);
    // SAFETY: the word lies in the memory, which lives as long as `shared`; all nodes use it as an atomic.
    unsafe { &*shared.base().cast::<AtomicU64>().add(index) }
}
