//! Which call of the program asked for memory.

use std::ffi::c_void;

/// Frames that are looked through: this library's on the private stack, those of C++ or Fortran, and then the
/// program's.
const FRAMES: usize = 32;

/// Loads what finds callers, before the program begins: at its first use it allocates memory.
pub fn prepare() {
    frames();
}

/// An address in the instruction of the program that called; 0 if it is not known. On the private stack: the
/// loader's and libc's locks are taken here.
pub fn caller() -> u64 {
    let frames = frames();
    let own = object(caller as fn() -> u64 as usize);
    let others = || frames.iter().copied().filter(|&frame| object(frame) != own && object(frame) != 0);
    let program = program();
    let found = others().find(|&frame| object(frame) == program).or_else(|| others().next());
    // Frames hold the address to which a call returns, which may be of the next line.
    found.map_or(0, |frame| frame as u64 - 1)
}

fn frames() -> Vec<usize> {
    let mut frames = [std::ptr::null_mut::<c_void>(); FRAMES];
    // SAFETY: the call writes so many frames at most.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as i32) };
    frames.iter().take(count.max(0) as usize).map(|&frame| frame as usize).collect()
}

/// The first address of the file in which an address lies; 0: of none.
fn object(address: usize) -> usize {
    // SAFETY: the structure is plain data, for which zeros are valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the call looks the address up, and writes the structure.
    let found = unsafe { libc::dladdr(address as *const c_void, &mut info) };
    if found == 0 { 0 } else { info.dli_fbase as usize }
}

/// The first address of the program.
fn program() -> usize {
    // SAFETY: the call takes a number, and the program has an entry.
    object(unsafe { libc::getauxval(libc::AT_ENTRY) } as usize)
}
