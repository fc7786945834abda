//! The functions of libgomp that gcc puts calls of into programs: `libgomp_g.h` of gcc 12.
//! Tasks are in [`crate::tasks`].

use std::ffi::{c_long, c_uint, c_ulonglong, c_void};

use crate::call::{Call, Function};
use crate::lock;
use crate::loops;
use crate::plan::{Kind, Plan};
use crate::team;
use crate::work;

/// Functions each of which hands the address to which it returns to another one in the place of its first
/// argument. By that address the place in the program is known.
macro_rules! told_from {
    ($($name:ident => $function:ident;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("mov rdi, [rsp]", "jmp {function}", function = sym $function);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("mov x0, x30", "b {function}", function = sym $function);
        }
    )*};
}
pub(crate) use told_from;

#[unsafe(no_mangle)]
extern "C" fn GOMP_parallel(function: Function, data: *mut c_void, threads: c_uint, _flags: c_uint) {
    team::parallel(Call::Gomp(function, data), threads, None);
}

told_from! {
    GOMP_barrier => barrier_at;
    GOMP_loop_end => loop_end_at;
    GOMP_sections_end => loop_end_at;
}

extern "C" fn barrier_at(place: usize) {
    work::barrier(Some(place));
}

extern "C" fn loop_end_at(place: usize) {
    loops::end();
    work::barrier(Some(place));
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_critical_start() {
    lock::acquire(lock::UNNAMED);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_critical_end() {
    lock::release(lock::UNNAMED);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_critical_name_start(name: *mut *mut c_void) {
    lock::acquire(lock::of_name(name as usize));
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_critical_name_end(name: *mut *mut c_void) {
    lock::release(lock::of_name(name as usize));
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_atomic_start() {
    lock::acquire(lock::ATOMIC);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_atomic_end() {
    lock::release(lock::ATOMIC);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_single_start() -> bool {
    work::single()
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_single_copy_start() -> *mut c_void {
    work::single_copy().map_or(std::ptr::null_mut(), |copy| copy as *mut c_void)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_single_copy_end(copy: *mut c_void) {
    work::hand_copy(copy as usize);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_ordered_start() {
    loops::wait_for_turn();
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_ordered_end() {}

#[unsafe(no_mangle)]
extern "C" fn GOMP_loop_end_nowait() {
    loops::end();
}

/// Gives the program the next values of its loop.
///
/// # Safety
/// Both are places to write to.
unsafe fn give(from: *mut c_long, to: *mut c_long) -> bool {
    let Some((first, end)) = loops::next() else { return false };
    // SAFETY: as the caller promises.
    unsafe { (*from, *to) = (first, end) };
    true
}

/// A loop begins, with a schedule and a chunk, or with the schedule of the run.
macro_rules! loop_starts {
    ($($name:ident $kind:expr, $ordered:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            start: c_long, end: c_long, step: c_long, chunk: c_long, from: *mut c_long, to: *mut c_long,
        ) -> bool {
            let plan = Plan::signed(start, end, step).schedule($kind, chunk);
            loops::begin(if $ordered { plan.ordered() } else { plan });
            // SAFETY: the program gives places to write to.
            unsafe { give(from, to) }
        }
    )*};
}

loop_starts! {
    GOMP_loop_static_start Kind::Static, false;
    GOMP_loop_dynamic_start Kind::Dynamic, false;
    GOMP_loop_guided_start Kind::Guided, false;
    GOMP_loop_nonmonotonic_dynamic_start Kind::Dynamic, false;
    GOMP_loop_nonmonotonic_guided_start Kind::Guided, false;
    GOMP_loop_ordered_static_start Kind::Static, true;
    GOMP_loop_ordered_dynamic_start Kind::Dynamic, true;
    GOMP_loop_ordered_guided_start Kind::Guided, true;
}

/// A region that begins with a loop.
macro_rules! parallel_loops {
    ($($name:ident $kind:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            function: Function, data: *mut c_void, threads: c_uint, start: c_long, end: c_long,
            step: c_long, chunk: c_long, _flags: c_uint,
        ) {
            let plan = Plan::signed(start, end, step).schedule($kind, chunk);
            team::parallel(Call::Gomp(function, data), threads, Some(plan));
        }
    )*};
}

parallel_loops! {
    GOMP_parallel_loop_static Kind::Static;
    GOMP_parallel_loop_dynamic Kind::Dynamic;
    GOMP_parallel_loop_guided Kind::Guided;
    GOMP_parallel_loop_nonmonotonic_dynamic Kind::Dynamic;
    GOMP_parallel_loop_nonmonotonic_guided Kind::Guided;
}

macro_rules! runtime_loop_starts {
    ($($name:ident $ordered:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            start: c_long, end: c_long, step: c_long, from: *mut c_long, to: *mut c_long,
        ) -> bool {
            let plan = loops::runtime(Plan::signed(start, end, step));
            loops::begin(if $ordered { plan.ordered() } else { plan });
            // SAFETY: the program gives places to write to.
            unsafe { give(from, to) }
        }
    )*};
}

runtime_loop_starts! {
    GOMP_loop_runtime_start false;
    GOMP_loop_nonmonotonic_runtime_start false;
    GOMP_loop_maybe_nonmonotonic_runtime_start false;
    GOMP_loop_ordered_runtime_start true;
}

macro_rules! parallel_runtime_loops {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            function: Function, data: *mut c_void, threads: c_uint, start: c_long, end: c_long,
            step: c_long, _flags: c_uint,
        ) {
            let plan = loops::runtime(Plan::signed(start, end, step));
            team::parallel(Call::Gomp(function, data), threads, Some(plan));
        }
    )*};
}

parallel_runtime_loops! {
    GOMP_parallel_loop_runtime GOMP_parallel_loop_nonmonotonic_runtime
    GOMP_parallel_loop_maybe_nonmonotonic_runtime
}

macro_rules! unsigned_loop_starts {
    ($($name:ident $kind:expr, $ordered:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, chunk: c_ulonglong,
            from: *mut c_ulonglong, to: *mut c_ulonglong,
        ) -> bool {
            let chunk = i64::try_from(chunk).unwrap_or(i64::MAX);
            let plan = Plan::unsigned(up, start, end, step).schedule($kind, chunk);
            loops::begin(if $ordered { plan.ordered() } else { plan });
            // SAFETY: the program gives places to write to, which have the same size.
            unsafe { give(from.cast(), to.cast()) }
        }
    )*};
}

unsigned_loop_starts! {
    GOMP_loop_ull_static_start Kind::Static, false;
    GOMP_loop_ull_dynamic_start Kind::Dynamic, false;
    GOMP_loop_ull_guided_start Kind::Guided, false;
    GOMP_loop_ull_nonmonotonic_dynamic_start Kind::Dynamic, false;
    GOMP_loop_ull_nonmonotonic_guided_start Kind::Guided, false;
    GOMP_loop_ull_ordered_static_start Kind::Static, true;
    GOMP_loop_ull_ordered_dynamic_start Kind::Dynamic, true;
    GOMP_loop_ull_ordered_guided_start Kind::Guided, true;
}

macro_rules! loop_nexts {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(from: *mut c_long, to: *mut c_long) -> bool {
            // SAFETY: the program gives places to write to.
            unsafe { give(from, to) }
        }
    )*};
}

loop_nexts! {
    GOMP_loop_static_next GOMP_loop_dynamic_next GOMP_loop_guided_next GOMP_loop_runtime_next
    GOMP_loop_nonmonotonic_dynamic_next GOMP_loop_nonmonotonic_guided_next
    GOMP_loop_nonmonotonic_runtime_next GOMP_loop_maybe_nonmonotonic_runtime_next
    GOMP_loop_ordered_static_next GOMP_loop_ordered_dynamic_next GOMP_loop_ordered_guided_next
    GOMP_loop_ordered_runtime_next
    GOMP_loop_ull_static_next GOMP_loop_ull_dynamic_next GOMP_loop_ull_guided_next
    GOMP_loop_ull_nonmonotonic_dynamic_next GOMP_loop_ull_nonmonotonic_guided_next
    GOMP_loop_ull_ordered_static_next GOMP_loop_ull_ordered_dynamic_next GOMP_loop_ull_ordered_guided_next
}

/// Sections are a loop over their numbers, from 1 on, one at a time.
fn sections(count: c_uint) -> Plan {
    Plan::signed(1, i64::from(count) + 1, 1).schedule(Kind::Dynamic, 1)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_start(count: c_uint) -> c_uint {
    loops::begin(sections(count));
    GOMP_sections_next()
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_next() -> c_uint {
    loops::next_one().map_or(0, |section| section as c_uint)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_end_nowait() {
    loops::end();
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_parallel_sections(
    function: Function,
    data: *mut c_void,
    threads: c_uint,
    count: c_uint,
    _flags: c_uint,
) {
    team::parallel(Call::Gomp(function, data), threads, Some(sections(count)));
}
