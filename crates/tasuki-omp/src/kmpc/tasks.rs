//! Tasks, which run where they are made, at once, as the standard allows (`kmp_tasking.cpp` of LLVM 14).
//!
//! The compiler splits a task that is `untied` into parts, which other threads might go on with: each but the
//! last one notes which comes next, asks for the task to be run again, and returns.

use std::ffi::{c_int, c_void};

use super::Place;
use crate::plan::Settings;
use crate::thread::AroundTask;
use crate::{alloc, thread};

/// Flags of a task (`kmp_tasking_flags_t`): its variables have destructors.
const HAS_DESTRUCTORS: c_int = 8;

/// A task as the compiler knows it (`kmp_task_t`); what it keeps of its own follows.
#[repr(C)]
struct Task {
    /// The variables that it shares with the function around it.
    shared: *mut c_void,
    run: Entry,
    part: c_int,
    /// What destroys its variables, where it has any.
    destroy: Option<Entry>,
    priority: c_int,
}

type Entry = unsafe extern "C" fn(c_int, *mut Task) -> c_int;

/// What is kept of a task before it.
#[repr(C, align(16))]
struct Head {
    flags: c_int,
    /// A thread runs a part of it.
    runs: bool,
    /// That part has asked for the next one.
    again: bool,
    /// What the thread had when the program began to run the task itself.
    around: AroundTask,
    /// Bytes of the task, and of all with the variables that it shares.
    bytes: [usize; 2],
}

/// Where a task's part of a loop begins and ends, by their places in the task.
struct Range {
    first: *mut u64,
    last: *mut u64,
}

/// Memory for a task, of so many bytes before what it shares, of all bytes.
fn new(flags: c_int, bytes: [usize; 2]) -> *mut Task {
    let all = size_of::<Head>() + bytes[1];
    // Other threads may see it, so that it lies where the program's memory does.
    // SAFETY: the function takes any numbers.
    let memory = unsafe { alloc::memalign(align_of::<Head>(), all) }.cast::<Head>();
    if memory.is_null() {
        eprintln!("tasuki omp: no memory for {all} bytes of a task");
        std::process::abort();
    }
    // SAFETY: the memory is as large as both.
    unsafe {
        memory.write(Head { flags, runs: false, again: false, around: (Settings::NONE, false), bytes });
        memory.add(1).cast()
    }
}

/// # Safety
/// The task was made by [`new`].
unsafe fn head(task: *mut Task) -> *mut Head {
    // SAFETY: it lies before the task.
    unsafe { task.cast::<Head>().sub(1) }
}

/// The end of a task, whose memory is given back.
///
/// # Safety
/// The task was made by [`new`], and nobody uses it.
unsafe fn finish(task: *mut Task) {
    // SAFETY: as the caller promises; the compiler made what destroys the variables.
    unsafe {
        let head = head(task);
        if (*head).flags & HAS_DESTRUCTORS != 0
            && let Some(destroy) = (*task).destroy
        {
            destroy(0, task);
        }
        alloc::free(head.cast());
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_omp_task_alloc(
    _place: Place,
    _thread: c_int,
    flags: c_int,
    bytes: usize,
    shared: usize,
    run: Entry,
) -> *mut Task {
    let at = bytes.next_multiple_of(align_of::<Head>());
    let task = new(flags, [at, at + shared]);
    // SAFETY: the task is new, and as large as the compiler says, which is more than a `Task`'s beginning.
    unsafe {
        (*task).shared = if shared > 0 { task.byte_add(at).cast() } else { std::ptr::null_mut() };
        (*task).run = run;
        (*task).part = 0;
    }
    task
}

/// A task for a device, which is the host here.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_omp_target_task_alloc(
    place: Place,
    thread: c_int,
    flags: c_int,
    bytes: usize,
    shared: usize,
    run: Entry,
    _device: i64,
) -> *mut Task {
    // SAFETY: as above.
    unsafe { __kmpc_omp_task_alloc(place, thread, flags, bytes, shared, run) }
}

/// Runs a task, all parts of it, and gives its memory back.
///
/// # Safety
/// The task was made by [`new`], the compiler made what it runs, and nobody else uses it.
unsafe fn run(thread: c_int, task: *mut Task) {
    // SAFETY: as the caller promises.
    unsafe {
        (*head(task)).runs = true;
        thread::in_task(|| ((*task).run)(thread, task));
        run_rest(thread, task);
    }
}

/// Runs the parts of a task that follow the first one, and gives its memory back.
///
/// # Safety
/// As for [`run`]; the first part has run.
unsafe fn run_rest(thread: c_int, task: *mut Task) {
    // SAFETY: as the caller promises.
    unsafe {
        let head = head(task);
        while std::mem::take(&mut (*head).again) {
            thread::in_task(|| ((*task).run)(thread, task));
        }
        finish(task);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_omp_task(_place: Place, thread: c_int, task: *mut Task) -> c_int {
    // SAFETY: the program made the task by the function above, and gives it away, or is in a part of it.
    unsafe {
        if (*head(task)).runs {
            (*head(task)).again = true;
        } else {
            run(thread, task);
        }
    }
    0
}

/// Tasks that it depends on are over: they ran where they were made.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_omp_task_with_deps(place: Place, thread: c_int, task: *mut Task) -> c_int {
    // SAFETY: as above.
    unsafe { __kmpc_omp_task(place, thread, task) }
}

/// The program runs a task itself, or its first part.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_omp_task_begin_if0(_place: Place, _thread: c_int, task: *mut Task) {
    // SAFETY: the program made the task.
    unsafe {
        (*head(task)).runs = true;
        (*head(task)).around = thread::begin_task();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_omp_task_complete_if0(_place: Place, thread: c_int, task: *mut Task) {
    // SAFETY: the program has run the task, or its first part.
    unsafe {
        // What the task has changed of these was its own.
        thread::end_task((*head(task)).around);
        run_rest(thread, task);
    }
}

/// A loop as a task: all of it, with a copy of the variables, as the others would have.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_taskloop(
    _place: Place,
    thread: c_int,
    task: *mut Task,
    _condition: c_int,
    first: *mut u64,
    last: *mut u64,
    step: i64,
    _no_group: c_int,
    _schedule: c_int,
    _grain: u64,
    copy: Option<unsafe extern "C" fn(*mut Task, *mut Task, c_int)>,
) {
    // SAFETY: the program made the task, whose bounds lie in it.
    unsafe {
        if is_empty(&Range { first, last }, step) {
            return finish(task);
        }
        let Head { flags, bytes, .. } = head(task).read();
        let own = new(flags, bytes);
        own.cast::<u8>().copy_from_nonoverlapping(task.cast(), bytes[1]);
        if !(*task).shared.is_null() {
            (*own).shared = own.byte_add(bytes[0]).cast();
        }
        if let Some(copy) = copy {
            // It has the last iteration.
            copy(own, task, 1);
        }
        run(thread, own);
        finish(task);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_taskloop_5(
    place: Place,
    thread: c_int,
    task: *mut Task,
    condition: c_int,
    first: *mut u64,
    last: *mut u64,
    step: i64,
    no_group: c_int,
    schedule: c_int,
    grain: u64,
    _modifier: c_int,
    copy: Option<unsafe extern "C" fn(*mut Task, *mut Task, c_int)>,
) {
    // SAFETY: as above.
    unsafe {
        __kmpc_taskloop(place, thread, task, condition, first, last, step, no_group, schedule, grain, copy);
    }
}

/// # Safety
/// The bounds are there.
unsafe fn is_empty(range: &Range, step: i64) -> bool {
    // SAFETY: as the caller promises.
    let (first, last) = unsafe { (*range.first as i64, *range.last as i64) };
    if step < 0 { first < last } else { first > last }
}

/// Functions that have nothing to do, where tasks run at once; those that return a number return 0.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> c_int {
            0
        }
    )*};
}

nothing! {
    __kmpc_omp_taskwait __kmpc_omp_taskwait_deps_51 __kmpc_omp_taskyield
    __kmpc_omp_wait_deps __kmpc_taskgroup __kmpc_end_taskgroup __kmpc_omp_reg_task_with_affinity
}
