//! Clocks: the one that the kernel's eBPF programs read, without the conversions of `std::time::Instant`, and
//! those of processor time.

use std::time::Duration;

/// The time of CLOCK_MONOTONIC, nanoseconds: what `bpf_ktime_get_ns` gives an eBPF program.
#[inline]
pub fn monotonic_ns() -> u64 {
    let time = read(libc::CLOCK_MONOTONIC);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Processor time of this process so far, of all its threads together, also of those that have ended.
pub fn process_time() -> Duration {
    duration(read(libc::CLOCK_PROCESS_CPUTIME_ID))
}

/// Processor time of the calling thread so far.
pub fn thread_time() -> Duration {
    duration(read(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// The time of a clock that every kernel has.
#[inline]
fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that lives through the call; the callers' clocks are always there.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time
}

fn duration(time: libc::timespec) -> Duration {
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec.cast_unsigned() as u32)
}
