//! Loops whose iterations wait for others (`kmp_csupport.cpp` of LLVM 14). Bounds include the last value.

use std::ffi::c_int;

use super::Place;
use super::loops::total;
use crate::doacross::{self, Counted};

/// A loop as the compiler gives it (`kmp_dim`).
#[repr(C)]
struct Dimension {
    first: i64,
    last: i64,
    step: i64,
}

/// Loops begin, of which iterations wait for others.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_doacross_init(
    _place: Place,
    _thread: c_int,
    count: c_int,
    loops: *const Dimension,
) {
    // SAFETY: the program gives so many.
    let loops = unsafe { std::slice::from_raw_parts(loops, count as usize) };
    doacross::begin(loops.iter().map(|one| {
        let total = total(one.first.into(), one.last.into(), one.step.into());
        Counted { first: one.first, step: one.step, total }
    }));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_doacross_post(_place: Place, _thread: c_int, numbers: *const i64) {
    // SAFETY: the program gives a number for each loop.
    doacross::post(|at| unsafe { *numbers.add(at) });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_doacross_wait(_place: Place, _thread: c_int, numbers: *const i64) {
    // SAFETY: as above.
    doacross::wait(|at| unsafe { *numbers.add(at) });
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_doacross_fini(_place: Place, _thread: c_int) {
    doacross::end();
}
