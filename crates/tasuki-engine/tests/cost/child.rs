//! The traced side: exchanges messages between two marks, and counts its own allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::pair::{Pair, Way};

/// A system call that nothing here needs: it says where counting begins and ends.
pub const MARK: i64 = libc::SYS_getpriority;

/// Messages between the marks.
pub const MESSAGES: usize = 2 * ROUND_TRIPS;
const ROUND_TRIPS: usize = 500;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is the system's allocator's, counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What the variable says: a way and a size.
pub fn run(what: &str) -> ExitCode {
    let (way, bytes) = what.split_once(' ').expect("a way and a size");
    let way = match way {
        "shared" => Way::Shared,
        "udp" => Way::Udp,
        _ => Way::Raw,
    };
    let bytes = bytes.parse().expect("a size");
    let mut pair = Pair::new(way).expect("root, as the parent has seen");
    pair.warm_up(bytes);
    mark();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    pair.round_trips(bytes, ROUND_TRIPS);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    mark();
    if allocations > 0 {
        eprintln!("{what}: {allocations} allocations for {MESSAGES} messages");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn mark() {
    // SAFETY: asks for a number.
    unsafe { libc::syscall(MARK, libc::PRIO_PROCESS, 0) };
}
