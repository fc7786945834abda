//! Functions of libgomp for tasks.
//!
//! Tasks run where they are made, at once, which the standard allows. There is no cancellation, which it
//! allows too, and no device.

use std::ffi::{c_int, c_long, c_uint, c_ulong, c_ulonglong, c_void};

use crate::call::Function;
use crate::gomp::reductions;
use crate::missing::missing;
use crate::thread;

/// A function that copies a task's arguments.
type CopyFunction = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// The flag of a loop of tasks that goes up (`GOMP_TASK_FLAG_UP` of `gomp-constants.h`).
const TASK_UP: c_uint = 1 << 8;

/// Flags of a loop of tasks: it reduces (`GOMP_TASK_FLAG_REDUCTION`); it is no group of its own
/// (`GOMP_TASK_FLAG_NOGROUP`), and its reductions are those of the group around it.
const TASK_REDUCES: c_uint = 1 << 12;
const TASK_NO_GROUP: c_uint = 1 << 11;

/// The flag of a task that ends by an event (`GOMP_TASK_FLAG_DETACH`).
const TASK_DETACHED: c_uint = 1 << 13;

/// A task, run at once. Its arguments are copied as a task that waits would need them.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_task(
    function: Function,
    data: *mut c_void,
    copy: Option<CopyFunction>,
    size: c_long,
    align: c_long,
    _if_clause: bool,
    flags: c_uint,
    _depend: *mut *mut c_void,
    _priority: c_int,
    _detach: *mut c_void,
) {
    if flags & TASK_DETACHED != 0 {
        missing("GOMP_task for a task with `detach`");
    }
    // SAFETY: the program gives the task's function, and the size and alignment of its arguments.
    unsafe { run_task(function, data, copy, size as usize, align as usize, None) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_taskloop(
    function: Function,
    data: *mut c_void,
    copy: Option<CopyFunction>,
    size: c_long,
    align: c_long,
    flags: c_uint,
    _tasks: c_ulong,
    _priority: c_int,
    start: c_long,
    end: c_long,
    step: c_long,
) {
    let has_any = (step > 0 && start < end) || (step < 0 && start > end);
    // SAFETY: the program gives what the loop's tasks use.
    unsafe { begin_reductions(flags, data, has_any) };
    if has_any {
        // SAFETY: as above; the first two words of the arguments are the task's part of the loop.
        unsafe { run_task(function, data, copy, size as usize, align as usize, Some([start, end])) };
    }
}

/// A loop of unsigned numbers, which goes up, or down by a step below zero in the same bits.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_taskloop_ull(
    function: Function,
    data: *mut c_void,
    copy: Option<CopyFunction>,
    size: c_long,
    align: c_long,
    flags: c_uint,
    _tasks: c_ulong,
    _priority: c_int,
    start: c_ulonglong,
    end: c_ulonglong,
    step: c_ulonglong,
) {
    let goes_up = flags & TASK_UP != 0;
    let has_any = (goes_up && start < end) || (!goes_up && start > end && step != 0);
    // SAFETY: as above.
    unsafe { begin_reductions(flags, data, has_any) };
    if has_any {
        let part = [start as c_long, end as c_long];
        // SAFETY: as above.
        unsafe { run_task(function, data, copy, size as usize, align as usize, Some(part)) };
    }
}

/// A loop of tasks begins that may reduce: without iterations there are no copies, which the program is told.
///
/// # Safety
/// Behind the task's part of the loop is the place of the reductions, if there are any.
unsafe fn begin_reductions(flags: c_uint, data: *mut c_void, has_any: bool) {
    if flags & (TASK_REDUCES | TASK_NO_GROUP) != TASK_REDUCES {
        return;
    }
    // SAFETY: as the caller promises.
    unsafe {
        let lists = *data.cast::<*mut usize>().add(2);
        if has_any {
            reductions::register(lists, thread::member().threads);
        } else {
            *lists.add(2) = 0;
        }
    }
}

/// # Safety
/// As [`GOMP_task`] is called by gcc: `data` has `size` bytes of arguments.
unsafe fn run_task(
    function: Function,
    data: *mut c_void,
    copy: Option<CopyFunction>,
    size: usize,
    align: usize,
    part: Option<[c_long; 2]>,
) {
    // The copy may be seen by other threads, so that it lies where the program's memory does.
    // SAFETY: the function takes any numbers.
    let memory = unsafe { crate::alloc::memalign(align.max(16), size.max(16)) };
    if memory.is_null() {
        eprintln!("tasuki omp: no memory for {size} bytes of a task's arguments");
        std::process::abort();
    }
    // SAFETY: both have so many bytes; a function of the program copies if it has to.
    unsafe {
        match copy {
            Some(copy) => copy(memory, data),
            None => memory.cast::<u8>().copy_from_nonoverlapping(data.cast(), size),
        }
        if let Some(part) = part {
            memory.cast::<[c_long; 2]>().write(part);
        }
        thread::in_task(|| function(memory));
        crate::alloc::free(memory);
    }
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_taskwait() {}

#[unsafe(no_mangle)]
extern "C" fn GOMP_taskwait_depend(_depend: *mut *mut c_void) {}

#[unsafe(no_mangle)]
extern "C" fn GOMP_taskwait_depend_nowait(_depend: *mut *mut c_void) {}

#[unsafe(no_mangle)]
extern "C" fn GOMP_taskyield() {}

#[unsafe(no_mangle)]
extern "C" fn GOMP_taskgroup_start() {}

#[unsafe(no_mangle)]
extern "C" fn GOMP_taskgroup_end() {}

#[unsafe(no_mangle)]
extern "C" fn GOMP_cancel(_which: c_int, _do_cancel: bool) -> bool {
    false
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_cancellation_point(_which: c_int) -> bool {
    false
}
