//! Parallel regions: the function and its arguments, and regions of one thread.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::mem::ManuallyDrop;

use super::Place;
use crate::call::{ARGUMENTS_MAX, Call, Microtask};
use crate::stack::on_private;
use crate::team::{self, Outer};
use crate::thread;

/// Arguments of a function with variable arguments that go in registers after three named ones.
#[cfg(target_arch = "x86_64")]
const VARIABLE_IN_REGISTERS: usize = 3;
#[cfg(target_arch = "aarch64")]
const VARIABLE_IN_REGISTERS: usize = 5;

/// Functions with three named arguments, the second of which counts the variable ones: these are found by
/// another one, given the named ones, those in registers and those on the stack.
macro_rules! variadic {
    ($($name:ident => $function:ident;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name(_place: Place, _count: c_int, _function: Microtask) {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "push r9",
                "push r8",
                "push rcx",
                "mov rcx, rsp",
                // Behind these three and the address to which this returns.
                "lea r8, [rsp + 32]",
                "call {function}",
                "add rsp, 24",
                "ret",
                function = sym $function
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-64]!",
                "mov x29, sp",
                "stp x3, x4, [sp, #16]",
                "stp x5, x6, [sp, #32]",
                "str x7, [sp, #48]",
                "add x3, sp, #16",
                "add x4, sp, #64",
                "bl {function}",
                "ldp x29, x30, [sp], #64",
                "ret",
                function = sym $function
            );
        }
    )*};
}

variadic! {
    __kmpc_fork_call => fork_call;
    __kmpc_fork_teams => fork_teams;
}

/// A call with so many arguments, of which the first ones are in `registers`.
///
/// # Safety
/// As many are there.
unsafe fn gathered(count: c_int, function: Microtask, registers: *const usize, stack: *const usize) -> Call {
    let count = count as usize;
    if count > ARGUMENTS_MAX {
        on_private(|| {
            eprintln!(
                "tasuki omp: a parallel region uses {count} variables of the function around it, and \
                 {ARGUMENTS_MAX} is the most that other hosts are told of; put some into a structure"
            );
            // SAFETY: the call takes a number and does not return.
            unsafe { libc::_exit(1) }
        });
    }
    // SAFETY: as the caller promises.
    let argument = |at: usize| unsafe {
        match at.checked_sub(VARIABLE_IN_REGISTERS) {
            None => *registers.add(at),
            Some(at) => *stack.add(at),
        }
    };
    on_private(|| Call::kmpc(function, (0..count).map(argument)))
}

unsafe extern "C" fn fork_call(
    _place: Place,
    count: c_int,
    function: Microtask,
    registers: *const usize,
    stack: *const usize,
) {
    // SAFETY: the compiler gives so many.
    let call = unsafe { gathered(count, function, registers, stack) };
    team::parallel(call, thread::take_pushed(), None);
}

/// A league of teams.
unsafe extern "C" fn fork_teams(
    _place: Place,
    count: c_int,
    function: Microtask,
    registers: *const usize,
    stack: *const usize,
) {
    // SAFETY: the compiler gives so many.
    let call = unsafe { gathered(count, function, registers, stack) };
    let (teams, limit) = PUSHED.take();
    // SAFETY: the function may be called by this thread.
    team::league(teams, limit, || unsafe { call.run(0) });
    on_private(|| drop(call));
}

thread_local! {
    /// Teams of the league that this thread comes to next, and threads that regions of it have at most; 0: it
    /// is not said.
    static PUSHED: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_push_num_teams(_place: Place, _thread: c_int, teams: c_int, limit: c_int) {
    PUSHED.set((teams.max(0) as u32, limit.max(0) as u32));
}

/// As above, with a least number of teams, or the number alone.
#[unsafe(no_mangle)]
extern "C" fn __kmpc_push_num_teams_51(place: Place, thread: c_int, least: c_int, most: c_int, limit: c_int) {
    __kmpc_push_num_teams(place, thread, if least > 0 { least } else { most }, limit);
}

/// A region with a condition and one argument.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_fork_call_if(
    _place: Place,
    count: c_int,
    function: Microtask,
    condition: c_int,
    argument: usize,
) {
    let call = on_private(|| Call::kmpc(function, (0..count.min(1)).map(|_| argument)));
    let wanted = thread::take_pushed();
    team::parallel(call, if condition == 0 { 1 } else { wanted }, None);
}

thread_local! {
    /// What this thread was in before regions of one thread that it has begun, and has not ended yet. Never
    /// dropped: the program's last handlers may have such regions, too.
    static AROUND: RefCell<ManuallyDrop<Vec<Outer>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_serialized_parallel(_place: Place, _thread: c_int) {
    thread::take_pushed();
    let outer = Outer::leave();
    on_private(|| AROUND.with_borrow_mut(|around| around.push(outer)));
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_end_serialized_parallel(_place: Place, _thread: c_int) {
    if let Some(outer) = on_private(|| AROUND.with_borrow_mut(|around| around.pop())) {
        outer.resume();
    }
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_push_num_threads(_place: Place, _thread: c_int, threads: c_int) {
    thread::push_wanted(threads.max(1) as u32);
}
