//! Loops whose iterations wait for others: `loop.c` and `ordered.c` of gcc 12. Iterations are counted from 0
//! in each of the loops around one another, of which the outermost is shared out.

use std::ffi::{c_long, c_uint};

use super::loops::give;
use crate::doacross::{self, Counted};
use crate::loops;
use crate::plan::{Kind, Plan};

/// Words of a function with variable arguments that go in registers.
#[cfg(target_arch = "x86_64")]
const IN_REGISTERS: usize = 6;
#[cfg(target_arch = "aarch64")]
const IN_REGISTERS: usize = 8;

/// The loops begin, of so many iterations each.
///
/// # Safety
/// As many counts are there; `from` and `to` are places to write to.
unsafe fn start(
    loops: c_uint,
    counts: *const c_long,
    schedule: impl FnOnce(Plan) -> Plan,
    from: *mut c_long,
    to: *mut c_long,
) -> bool {
    // SAFETY: as the caller promises.
    let counts = unsafe { std::slice::from_raw_parts(counts, loops as usize) };
    doacross::begin(counts.iter().map(|count| Counted { first: 0, step: 1, total: *count as u64 }));
    loops::begin(schedule(Plan::counted(0, 1, counts.first().map_or(0, |count| *count as u64))));
    // SAFETY: as the caller promises.
    unsafe { give(from, to) }
}

/// With a schedule and a chunk; unsigned numbers have the same size.
macro_rules! starts {
    ($($name:ident $kind:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            loops: c_uint, counts: *const c_long, chunk: c_long, from: *mut c_long, to: *mut c_long,
        ) -> bool {
            // SAFETY: the program gives as many counts, and places to write to.
            unsafe { start(loops, counts, |plan| plan.schedule($kind, chunk), from, to) }
        }
    )*};
}

starts! {
    GOMP_loop_doacross_static_start Kind::Static;
    GOMP_loop_doacross_dynamic_start Kind::Dynamic;
    GOMP_loop_doacross_guided_start Kind::Guided;
    GOMP_loop_ull_doacross_static_start Kind::Static;
    GOMP_loop_ull_doacross_dynamic_start Kind::Dynamic;
    GOMP_loop_ull_doacross_guided_start Kind::Guided;
}

macro_rules! runtime_starts {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            loops: c_uint, counts: *const c_long, from: *mut c_long, to: *mut c_long,
        ) -> bool {
            // SAFETY: the program gives as many counts, and places to write to.
            unsafe { start(loops, counts, loops::runtime, from, to) }
        }
    )*};
}

runtime_starts! {
    GOMP_loop_doacross_runtime_start GOMP_loop_ull_doacross_runtime_start
}

macro_rules! posts {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(numbers: *const c_long) {
            // SAFETY: the program gives a number for each loop.
            doacross::post(|at| unsafe { *numbers.add(at) });
        }
    )*};
}

posts! {
    GOMP_doacross_post GOMP_doacross_ull_post
}

/// Functions with a number for each loop, which are found in registers and on the stack.
macro_rules! waits {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name(_first: c_long) {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "mov rdi, rsp",
                // Behind these six and the address to which this returns.
                "lea rsi, [rsp + 56]",
                "sub rsp, 8",
                "call {function}",
                "add rsp, 56",
                "ret",
                function = sym wait
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "mov x29, sp",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "add x0, sp, #16",
                "add x1, sp, #80",
                "bl {function}",
                "ldp x29, x30, [sp], #80",
                "ret",
                function = sym wait
            );
        }
    )*};
}

waits! {
    GOMP_doacross_wait GOMP_doacross_ull_wait
}

unsafe extern "C" fn wait(registers: *const c_long, stack: *const c_long) {
    // SAFETY: the program gives a number for each loop.
    doacross::wait(|at| unsafe {
        match at.checked_sub(IN_REGISTERS) {
            None => *registers.add(at),
            Some(at) => *stack.add(at),
        }
    });
}
