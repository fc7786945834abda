//! Loops: those whose iterations are decided beforehand, of which a thread is told its part, and those that
//! hand out iterations (`kmp_sched.cpp`, `kmp_dispatch.cpp` of LLVM 14). Bounds include the last value.

use std::ffi::c_int;

use super::Place;
use crate::loops;
use crate::plan::{Kind, Plan};
use crate::thread;

/// Numbers of schedules (`enum sched_type` of `kmp.h`), without the bits for `monotonic` and its opposite.
const STATIC_CHUNKED: c_int = 33;
const STATIC: c_int = 34;
const DYNAMIC: c_int = 35;
const GUIDED: c_int = 36;
const RUNTIME: c_int = 37;
const BALANCED_CHUNKED: c_int = 45;
const GUIDED_SIMD: c_int = 46;
const RUNTIME_SIMD: c_int = 47;
/// What ordered loops add to the numbers, which begin with 33 as well.
const ORDERED: c_int = 32;
const ORDERED_FIRST: c_int = 64;
const ORDERED_CHUNKED: c_int = STATIC_CHUNKED + ORDERED;
const ORDERED_LAST: c_int = 72;
/// `distribute`: shared out among teams.
const DISTRIBUTE_CHUNKED: c_int = 91;
const DISTRIBUTE: c_int = 92;
const MODIFIERS: c_int = 3 << 29;

/// A number by which loops count.
trait Value: Copy {
    fn wide(self) -> i128;
    fn narrow(wide: i128) -> Self;
}

macro_rules! values {
    ($($type:ty)*) => {$(
        impl Value for $type {
            fn wide(self) -> i128 {
                self.into()
            }

            fn narrow(wide: i128) -> Self {
                wide as Self
            }
        }
    )*};
}

values! { i32 u32 i64 u64 }

/// Iterations of a loop.
pub fn total(first: i128, last: i128, step: i128) -> u64 {
    let way = last - first;
    if step == 0 || (way != 0 && (way > 0) != (step > 0)) { 0 } else { (way / step + 1) as u64 }
}

/// The part of one of `threads` threads.
struct Part {
    first: i128,
    last: i128,
    stride: i128,
    has_last: bool,
}

impl Part {
    /// Chunk by chunk in turn: the first one, and the way to the next.
    fn chunked(first: i128, step: i128, total: u64, chunk: u64, id: u64, threads: u64) -> Part {
        let from = u128::from(id) * u128::from(chunk);
        let (span, stride) = (i128::from(chunk) * step, i128::from(chunk) * step * i128::from(threads));
        let has_last = (total - 1) / chunk % threads == id;
        if from >= u128::from(total) {
            return Part { stride, ..Part::empty(step) };
        }
        let first = first + from as i128 * step;
        Part { first, last: first + span - step, stride, has_last }
    }

    /// As many at a time as there are, divided by the threads.
    fn whole(first: i128, step: i128, total: u64, id: u64, threads: u64) -> Part {
        let (each, more) = (total / threads, total % threads);
        let from = id * each + id.min(more);
        let count = each + u64::from(id < more);
        if count == 0 {
            return Part { stride: i128::from(total) * step, ..Part::empty(step) };
        }
        let first = first + i128::from(from) * step;
        let last = first + i128::from(count - 1) * step;
        Part { first, last, stride: i128::from(total) * step, has_last: from + count == total }
    }

    /// No iteration, in bounds that every type has.
    fn empty(step: i128) -> Part {
        let (first, last) = if step > 0 { (1, 0) } else { (0, 1) };
        Part { first, last, stride: 0, has_last: false }
    }
}

/// Where a loop's bounds are, which become those of the thread's part.
struct Bounds<T> {
    has_last: *mut c_int,
    first: *mut T,
    last: *mut T,
}

/// # Safety
/// The program gives places to read and to write to.
unsafe fn static_init<T: Value, S: Value>(
    schedule: c_int,
    bounds: Bounds<T>,
    stride: *mut S,
    step: S,
    chunk: S,
) {
    let schedule = schedule & !MODIFIERS;
    let member = thread::member();
    let (id, threads) = match schedule {
        DISTRIBUTE | DISTRIBUTE_CHUNKED => thread::settings().team,
        _ => (member.id, member.threads),
    };
    let (id, threads) = (u64::from(id), u64::from(threads));
    // SAFETY: as the caller promises.
    unsafe {
        let (first, last, step) = ((*bounds.first).wide(), (*bounds.last).wide(), step.wide());
        let total = total(first, last, step);
        if total == 0 {
            // The bounds say so already.
            *stride = S::narrow(step);
            bounds.has_last.as_mut().into_iter().for_each(|has_last| *has_last = 0);
            return;
        }
        let part = match schedule {
            STATIC_CHUNKED | BALANCED_CHUNKED | DISTRIBUTE_CHUNKED | ORDERED_CHUNKED => {
                Part::chunked(first, step, total, chunk.wide().max(1) as u64, id, threads)
            }
            _ => Part::whole(first, step, total, id, threads),
        };
        (*bounds.first, *bounds.last) = (T::narrow(part.first), T::narrow(part.last));
        *stride = S::narrow(part.stride);
        bounds.has_last.as_mut().into_iter().for_each(|has_last| *has_last = part.has_last.into());
    }
}

/// A loop that is shared out among teams, and a team's part among its threads.
///
/// # Safety
/// As [`static_init`]; so is `last_of_team`.
unsafe fn distributed_init<T: Value, S: Value>(
    schedule: c_int,
    bounds: Bounds<T>,
    last_of_team: *mut T,
    stride: *mut S,
    step: S,
    chunk: S,
) {
    let (team, teams) = thread::settings().team;
    let has_last = bounds.has_last;
    // SAFETY: as the caller promises.
    unsafe {
        let (first, last) = ((*bounds.first).wide(), (*bounds.last).wide());
        let total = total(first, last, step.wide());
        let mut is_last = true;
        if total > 0 {
            let part = Part::whole(first, step.wide(), total, team.into(), teams.into());
            (*bounds.first, *bounds.last) = (T::narrow(part.first), T::narrow(part.last));
            is_last = part.has_last;
        }
        *last_of_team = *bounds.last;
        static_init(schedule, bounds, stride, step, chunk);
        has_last.as_mut().filter(|_| !is_last).into_iter().for_each(|has_last| *has_last = 0);
    }
}

/// Loops whose iterations are decided beforehand: of threads, and of teams and their threads at once.
macro_rules! static_loops {
    ($($name:ident $distributed:ident $type:ty, $step:ty;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            _place: Place, _thread: c_int, schedule: c_int, has_last: *mut c_int, first: *mut $type,
            last: *mut $type, stride: *mut $step, step: $step, chunk: $step,
        ) {
            // SAFETY: the program gives places to read and to write to.
            unsafe { static_init(schedule, Bounds { has_last, first, last }, stride, step, chunk) };
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $distributed(
            _place: Place, _thread: c_int, schedule: c_int, has_last: *mut c_int, first: *mut $type,
            last: *mut $type, last_of_team: *mut $type, stride: *mut $step, step: $step, chunk: $step,
        ) {
            let bounds = Bounds { has_last, first, last };
            // SAFETY: the program gives places to read and to write to.
            unsafe { distributed_init(schedule, bounds, last_of_team, stride, step, chunk) };
        }
    )*};
}

static_loops! {
    __kmpc_for_static_init_4 __kmpc_dist_for_static_init_4 i32, i32;
    __kmpc_for_static_init_4u __kmpc_dist_for_static_init_4u u32, i32;
    __kmpc_for_static_init_8 __kmpc_dist_for_static_init_8 i64, i64;
    __kmpc_for_static_init_8u __kmpc_dist_for_static_init_8u u64, i64;
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_for_static_fini() {}

/// A loop that hands out iterations begins.
fn dispatch_init(schedule: c_int, first: i128, last: i128, step: i128, chunk: i64) {
    let schedule = schedule & !MODIFIERS;
    let ordered = (ORDERED_FIRST..=ORDERED_LAST).contains(&schedule);
    let plan = Plan::counted(first as i64, step as i64, total(first, last, step));
    let plan = match if ordered { schedule - ORDERED } else { schedule } {
        DYNAMIC => plan.schedule(Kind::Dynamic, chunk),
        GUIDED | GUIDED_SIMD => plan.schedule(Kind::Guided, chunk),
        RUNTIME | RUNTIME_SIMD => loops::runtime(plan),
        STATIC => plan.schedule(Kind::Static, 0),
        STATIC_CHUNKED | BALANCED_CHUNKED => plan.schedule(Kind::Static, chunk.max(1)),
        // `auto`, and what one might think of yet.
        _ => plan.schedule(Kind::Static, 0),
    };
    loops::begin(if ordered { plan.ordered() } else { plan });
}

/// The next part of a loop, with its last value; the loop ends when there is none.
fn dispatch_next() -> Option<(i64, i64, i64, bool)> {
    let Some((from, to)) = loops::next_part() else {
        loops::end();
        return None;
    };
    let plan = thread::current_loop().plan;
    Some((plan.value(from), plan.value(to - 1), plan.step, to == plan.total))
}

macro_rules! dispatched_loops {
    ($($init:ident $next:ident $type:ty, $step:ty;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $init(
            _place: Place, _thread: c_int, schedule: c_int, first: $type, last: $type, step: $step,
            chunk: $step,
        ) {
            dispatch_init(schedule, first.into(), last.into(), step.into(), chunk.into());
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $next(
            _place: Place, _thread: c_int, has_last: *mut c_int, first: *mut $type, last: *mut $type,
            step: *mut $step,
        ) -> c_int {
            let Some((from, to, by, is_end)) = dispatch_next() else { return 0 };
            // SAFETY: the program gives places to write to; those that it does not want are null.
            unsafe {
                (*first, *last) = (from as $type, to as $type);
                step.as_mut().into_iter().for_each(|step| *step = by as $step);
                has_last.as_mut().into_iter().for_each(|has_last| *has_last = is_end.into());
            }
            1
        }
    )*};
}

dispatched_loops! {
    __kmpc_dispatch_init_4 __kmpc_dispatch_next_4 i32, i32;
    __kmpc_dispatch_init_4u __kmpc_dispatch_next_4u u32, i32;
    __kmpc_dispatch_init_8 __kmpc_dispatch_next_8 i64, i64;
    __kmpc_dispatch_init_8u __kmpc_dispatch_next_8u u64, i64;
}

/// An iteration of an ordered loop is over, or the loop is: parts of it are done in order as a whole.
macro_rules! ends {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() {}
    )*};
}

ends! {
    __kmpc_dispatch_fini_4 __kmpc_dispatch_fini_4u __kmpc_dispatch_fini_8 __kmpc_dispatch_fini_8u
    __kmpc_dispatch_deinit
}
