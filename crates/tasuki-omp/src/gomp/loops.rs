//! Loops whose iterations libgomp hands out: `loop.c` and `loop_ull.c` of gcc 12.

use std::ffi::{c_long, c_uint, c_ulonglong, c_void};

use crate::call::{Call, Function};
use crate::loops;
use crate::plan::{Kind, Plan};
use crate::team;

/// Gives the program the next values of its loop.
///
/// # Safety
/// Both are places to write to.
pub unsafe fn give(from: *mut c_long, to: *mut c_long) -> bool {
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

macro_rules! unsigned_runtime_loop_starts {
    ($($name:ident $ordered:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, from: *mut c_ulonglong,
            to: *mut c_ulonglong,
        ) -> bool {
            let plan = loops::runtime(Plan::unsigned(up, start, end, step));
            loops::begin(if $ordered { plan.ordered() } else { plan });
            // SAFETY: the program gives places to write to, which have the same size.
            unsafe { give(from.cast(), to.cast()) }
        }
    )*};
}

unsigned_runtime_loop_starts! {
    GOMP_loop_ull_runtime_start false;
    GOMP_loop_ull_nonmonotonic_runtime_start false;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start false;
    GOMP_loop_ull_ordered_runtime_start true;
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
    GOMP_loop_ull_runtime_next GOMP_loop_ull_nonmonotonic_runtime_next
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next GOMP_loop_ull_ordered_runtime_next
}
