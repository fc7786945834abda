//! Functions of libgomp for tasks.
//!
//! Tasks run where they are made, at once, which the standard allows. There is no cancellation, which it
//! allows too, and no device.

use std::ffi::{c_int, c_long, c_uint, c_void};

use crate::call::Function;

/// A function that copies a task's arguments.
type CopyFunction = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// A task, run at once. Its arguments are copied as a task that waits would need them.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_task(
    function: Function,
    data: *mut c_void,
    copy: Option<CopyFunction>,
    size: c_long,
    align: c_long,
    _if_clause: bool,
    _flags: c_uint,
    _depend: *mut *mut c_void,
    _priority: c_int,
    _detach: *mut c_void,
) {
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
    _flags: c_uint,
    _tasks: std::ffi::c_ulong,
    _priority: c_int,
    start: c_long,
    end: c_long,
    step: c_long,
) {
    if (step > 0 && start < end) || (step < 0 && start > end) {
        // SAFETY: as above; the first two words of the arguments are the task's part of the loop.
        unsafe { run_task(function, data, copy, size as usize, align as usize, Some([start, end])) };
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
        function(memory);
        crate::alloc::free(memory);
    }
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_taskwait() {}

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
