//! Reductions of tasks (`kmp_tasking.cpp` of LLVM 14). Tasks run where they are made, one after the other.

use std::ffi::{c_int, c_void};

use super::Place;

/// A group's reductions: all tasks of the group run in this thread, one after the other, straight into the
/// variable. The older name is that of clang before LLVM 10.
macro_rules! reductions {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(_thread: c_int, _count: c_int, data: *mut c_void) -> *mut c_void {
            data
        }
    )*};
}

reductions! {
    __kmpc_taskred_init __kmpc_task_reduction_init
}

/// As above, into the thread's own variable of a region or a loop whose reduction is of tasks, too.
macro_rules! reductions_around {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            _place: Place, _thread: c_int, _is_loop: c_int, _count: c_int, data: *mut c_void,
        ) -> *mut c_void {
            data
        }
    )*};
}

reductions_around! {
    __kmpc_taskred_modifier_init __kmpc_task_reduction_modifier_init
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_task_reduction_get_th_data(
    _thread: c_int,
    _group: *mut c_void,
    variable: *mut c_void,
) -> *mut c_void {
    variable
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_task_reduction_modifier_fini(_place: Place, _thread: c_int, _is_loop: c_int) {}
