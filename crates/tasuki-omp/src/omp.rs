//! The functions of `omp.h`, and of Fortran's `omp_lib` under the names that gfortran gives them.

use std::ffi::{c_double, c_int};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::lock::{self, Nested};
use crate::plan::Settings;
use crate::world::World;
use crate::{loops, thread};

/// Functions without arguments that return a number, for C and Fortran.
macro_rules! numbers {
    ($($name:ident $fortran:ident $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> c_int {
            $value
        }

        #[unsafe(no_mangle)]
        extern "C" fn $fortran() -> c_int {
            $value
        }
    )*};
}

fn all() -> c_int {
    World::get().map_or(1, |world| world.threads()) as c_int
}

fn limit() -> c_int {
    World::get().map_or(1, |world| world.limit_now()) as c_int
}

/// Teams of leagues, and threads of their regions at most, if they do not say; 0: it is not set.
fn of_teams() -> (u32, u32) {
    World::get().map_or((0, 0), |world| world.of_teams().get())
}

fn most() -> c_int {
    World::get().map_or(1, |world| world.team(0)) as c_int
}

numbers! {
    omp_get_thread_num omp_get_thread_num_ thread::member().id as c_int;
    omp_get_num_threads omp_get_num_threads_ thread::member().threads as c_int;
    omp_get_max_threads omp_get_max_threads_ most();
    omp_get_num_procs omp_get_num_procs_ all();
    omp_get_thread_limit omp_get_thread_limit_ limit();
    omp_in_parallel omp_in_parallel_ c_int::from(thread::member().is_in_parallel());
    omp_get_level omp_get_level_ thread::member().level as c_int;
    omp_get_active_level omp_get_active_level_ c_int::from(thread::member().is_in_parallel());
    omp_get_dynamic omp_get_dynamic_ 0;
    omp_get_nested omp_get_nested_ 0;
    omp_get_max_active_levels omp_get_max_active_levels_ 1;
    omp_get_cancellation omp_get_cancellation_ 0;
    omp_in_final omp_in_final_ c_int::from(thread::member().in_task);
    omp_in_explicit_task omp_in_explicit_task_ c_int::from(thread::member().in_task);
    omp_get_num_devices omp_get_num_devices_ 0;
    omp_get_default_device omp_get_default_device_ 0;
    omp_is_initial_device omp_is_initial_device_ 1;
    omp_get_num_teams omp_get_num_teams_ thread::settings().team.1 as c_int;
    omp_get_team_num omp_get_team_num_ thread::settings().team.0 as c_int;
    omp_get_proc_bind omp_get_proc_bind_ 0;
    omp_get_max_task_priority omp_get_max_task_priority_ 0;
    omp_get_supported_active_levels omp_get_supported_active_levels_ 1;
    omp_get_initial_device omp_get_initial_device_ 0;
    omp_get_device_num omp_get_device_num_ 0;
    omp_get_max_teams omp_get_max_teams_ of_teams().0 as c_int;
    omp_get_teams_thread_limit omp_get_teams_thread_limit_ of_teams().1 as c_int;
    omp_get_num_places omp_get_num_places_ 0;
    omp_get_place_num omp_get_place_num_ -1;
    omp_get_partition_num_places omp_get_partition_num_places_ 0;
}

#[unsafe(no_mangle)]
extern "C" fn omp_set_num_threads(threads: c_int) {
    thread::set_settings(Settings { wanted: threads.max(1) as u32, ..thread::settings() });
}

/// Calls that change nothing here.
macro_rules! ignored {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(_: usize) {}
    )*};
}

ignored! {
    omp_set_dynamic omp_set_dynamic_ omp_set_nested omp_set_nested_ omp_set_max_active_levels
    omp_set_max_active_levels_ omp_set_default_device omp_set_default_device_ omp_destroy_lock
    omp_destroy_lock_ omp_destroy_nest_lock omp_destroy_nest_lock_ omp_set_dynamic_8_ omp_set_nested_8_
    omp_set_max_active_levels_8_ omp_set_default_device_8_
}

#[unsafe(no_mangle)]
extern "C" fn omp_set_num_teams(teams: c_int) {
    if let (Some(world), Ok(teams)) = (World::get(), u32::try_from(teams)) {
        world.of_teams().teams.store(teams, Ordering::Relaxed);
    }
}

#[unsafe(no_mangle)]
extern "C" fn omp_set_teams_thread_limit(limit: c_int) {
    if let (Some(world), Ok(limit)) = (World::get(), u32::try_from(limit)) {
        world.of_teams().limit.store(limit, Ordering::Relaxed);
    }
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_wtime() -> c_double {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the place that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_wtime_() -> c_double {
    omp_get_wtime()
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_wtick() -> c_double {
    1e-9
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_wtick_() -> c_double {
    1e-9
}

#[unsafe(no_mangle)]
extern "C" fn omp_set_schedule(kind: c_int, chunk: c_int) {
    // The highest bit says "monotonic".
    let schedule = Some((kind as u32 & 0x7fff_ffff, chunk.into()));
    thread::set_settings(Settings { schedule, ..thread::settings() });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_set_schedule_(kind: *const c_int, chunk: *const c_int) {
    // SAFETY: Fortran gives the places of numbers.
    unsafe { omp_set_schedule(*kind, *chunk) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_schedule(kind: *mut c_int, chunk: *mut c_int) {
    let (what, many) = loops::schedule_of_run();
    // SAFETY: the program gives places to write to.
    unsafe { (*kind, *chunk) = (what as c_int, many as c_int) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_schedule_(kind: *mut c_int, chunk: *mut c_int) {
    // SAFETY: as above.
    unsafe { omp_get_schedule(kind, chunk) };
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_ancestor_thread_num(level: c_int) -> c_int {
    around(level).map_or(-1, |(id, _)| id as c_int)
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_team_size(level: c_int) -> c_int {
    around(level).map_or(-1, |(_, threads)| threads as c_int)
}

/// What this thread is in the region of this level around this place, and the threads of that region.
fn around(level: c_int) -> Option<(u32, u32)> {
    let member = thread::member();
    match u32::try_from(level).ok()? {
        1 if member.level > 0 => Some(member.outermost),
        // The program as a whole, and regions inside of others, have one thread.
        level => (level <= member.level).then_some((0, 1)),
    }
}

/// Numbers as Fortran gives them: by their places, of four bytes, or of eight (`-fdefault-integer-8`).
macro_rules! by_place {
    ($($name:ident $long:ident => $function:ident -> $result:ty;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(number: *const c_int) -> $result {
            // SAFETY: Fortran gives the place of a number.
            $function(unsafe { *number })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $long(number: *const i64) -> $result {
            // SAFETY: as above.
            $function(c_int::try_from(unsafe { *number }).unwrap_or(c_int::MAX))
        }
    )*};
}

by_place! {
    omp_set_num_threads_ omp_set_num_threads_8_ => omp_set_num_threads -> ();
    omp_set_num_teams_ omp_set_num_teams_8_ => omp_set_num_teams -> ();
    omp_set_teams_thread_limit_ omp_set_teams_thread_limit_8_ => omp_set_teams_thread_limit -> ();
    omp_get_ancestor_thread_num_ omp_get_ancestor_thread_num_8_ => omp_get_ancestor_thread_num -> c_int;
    omp_get_team_size_ omp_get_team_size_8_ => omp_get_team_size -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_set_schedule_8_(kind: *const c_int, chunk: *const i64) {
    // SAFETY: as above; kinds have four bytes always.
    unsafe { omp_set_schedule(*kind, c_int::try_from(*chunk).unwrap_or(c_int::MAX)) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_schedule_8_(kind: *mut c_int, chunk: *mut i64) {
    let mut short = 0;
    // SAFETY: as above.
    unsafe {
        omp_get_schedule(kind, &mut short);
        *chunk = short.into();
    }
}

/// Functions of locks, which C and Fortran both give by their places.
macro_rules! locks {
    ($($name:ident $fortran:ident ($word:ident: $kind:ty) -> $result:ty $value:block)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *const $kind) -> $result {
            // SAFETY: the program gives the place of a lock, which it uses by these functions alone.
            let $word = unsafe { &*lock };
            $value
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $fortran(lock: *const $kind) -> $result {
            // SAFETY: as above.
            let $word = unsafe { &*lock };
            $value
        }
    )*};
}

locks! {
    omp_init_lock omp_init_lock_ (word: AtomicI32) -> () { word.store(0, Ordering::Relaxed) }
    omp_init_lock_with_hint omp_init_lock_with_hint_ (word: AtomicI32) -> () {
        word.store(0, Ordering::Relaxed)
    }
    omp_set_lock omp_set_lock_ (word: AtomicI32) -> () { lock::acquire_word(word) }
    omp_unset_lock omp_unset_lock_ (word: AtomicI32) -> () { lock::release_word(word) }
    omp_test_lock omp_test_lock_ (word: AtomicI32) -> c_int { c_int::from(lock::try_word(word)) }
    omp_init_nest_lock omp_init_nest_lock_ (nested: Nested) -> () { nested.clear() }
    omp_init_nest_lock_with_hint omp_init_nest_lock_with_hint_ (nested: Nested) -> () { nested.clear() }
    omp_set_nest_lock omp_set_nest_lock_ (nested: Nested) -> () { _ = nested.acquire(true) }
    omp_unset_nest_lock omp_unset_nest_lock_ (nested: Nested) -> () { nested.release() }
    omp_test_nest_lock omp_test_nest_lock_ (nested: Nested) -> c_int { nested.acquire(false) }
}
