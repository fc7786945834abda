//! The functions of libgomp that gcc puts calls of into programs: `libgomp_g.h` of gcc 12.
//! Loops are in [`loops`], those whose iterations wait for others in [`doacross`], tasks in [`crate::tasks`],
//! what tasks reduce in [`reductions`].

mod doacross;
mod loops;
pub mod reductions;

use std::ffi::{c_uint, c_void};

use crate::call::{Call, Function};
use crate::lock;
use crate::missing::missing;
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
    GOMP_barrier_cancel => barrier_at;
    GOMP_loop_end_cancel => loop_end_at;
    GOMP_sections_end_cancel => loop_end_at;
}

/// Returns whether the region was cancelled, to those who ask: never.
extern "C" fn barrier_at(place: usize) -> bool {
    work::barrier(Some(place));
    false
}

extern "C" fn loop_end_at(place: usize) -> bool {
    crate::loops::end();
    barrier_at(place)
}

/// A league of teams.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_teams_reg(
    function: Function,
    data: *mut c_void,
    teams: c_uint,
    limit: c_uint,
    _flags: c_uint,
) {
    // SAFETY: the compiler made the function for this argument.
    team::league(teams, limit, || unsafe { function(data) });
}

/// A league in what would be a device's code: whether there is another team to be.
#[unsafe(no_mangle)]
extern "C" fn GOMP_teams4(least: c_uint, _most: c_uint, limit: c_uint, first: bool) -> bool {
    team::next_of_league(least, limit, first)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_teams(_teams: c_uint, _threads: c_uint) {}

/// A `scope` begins, whose reductions are not those of tasks.
#[unsafe(no_mangle)]
extern "C" fn GOMP_scope_start(reductions: *mut c_void) {
    if !reductions.is_null() {
        missing("GOMP_scope_start with reductions of tasks");
    }
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
    crate::loops::wait_for_turn();
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_ordered_end() {}

#[unsafe(no_mangle)]
extern "C" fn GOMP_loop_end_nowait() {
    crate::loops::end();
}

/// Sections are a loop over their numbers, from 1 on, one at a time.
fn sections(count: c_uint) -> Plan {
    Plan::signed(1, i64::from(count) + 1, 1).schedule(Kind::Dynamic, 1)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_start(count: c_uint) -> c_uint {
    crate::loops::begin(sections(count));
    GOMP_sections_next()
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_next() -> c_uint {
    crate::loops::next_one().map_or(0, |section| section as c_uint)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_end_nowait() {
    crate::loops::end();
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
