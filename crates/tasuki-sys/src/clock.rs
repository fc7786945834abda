//! The clock that the kernel's eBPF programs read, without the conversions of `std::time::Instant`.

/// The time of CLOCK_MONOTONIC, nanoseconds: what `bpf_ktime_get_ns` gives an eBPF program.
#[inline]
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that lives through the call; this clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
