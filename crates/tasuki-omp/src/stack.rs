//! Two stacks for each thread of the program: a shared one for its code, a private one for this library.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::thread;

/// Bytes of a private stack.
const PRIVATE: usize = 256 << 10;
/// Bytes of a shared stack.
pub const SHARED: usize = 8 << 20;

/// Bytes that code needs at least.
const LEAST: usize = 64 << 10;

/// Memory for a private stack, with a page below it that must not be touched. It is never given back.
pub fn new_private() -> (usize, usize) {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
    // SAFETY: the mapping is new.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), PRIVATE, rights, flags, -1, 0) };
    assert!(base != libc::MAP_FAILED, "no memory for a stack");
    // SAFETY: the page is the first of the mapping.
    unsafe { libc::mprotect(base, tasuki_shared::PAGE, libc::PROT_NONE) };
    (base as usize, PRIVATE)
}

/// Runs code of this library on the thread's private stack. Locks of shared memory are taken there alone.
pub fn on_private<R>(does: impl FnOnce() -> R) -> R {
    let Some((base, size)) = thread::private_stack() else { return does() };
    thread::on_private_stack(true);
    // SAFETY: the stack is this thread's, and nothing else is on it now.
    let result = unsafe { switch(base, size, does) };
    thread::on_private_stack(false);
    result
}

/// Runs the program's code on a shared stack.
///
/// # Safety
/// The stack is used by nothing else meanwhile.
pub unsafe fn on_shared<R>(base: usize, does: impl FnOnce() -> R) -> R {
    let was = thread::private_stack().is_none();
    thread::on_private_stack(false);
    // SAFETY: as the caller promises.
    let result = unsafe { switch(base, SHARED, does) };
    thread::on_private_stack(was);
    result
}

/// Runs the program's code further down on the shared stack on which the thread is, beginning with a page of
/// its own: what lies above is used by other processes meanwhile, and would come back for every call.
///
/// # Safety
/// The stack at `base` is the one on which the thread is.
pub unsafe fn on_own_page<R>(base: usize, does: impl FnOnce() -> R) -> R {
    let top = psm::stack_pointer() as usize / tasuki_shared::PAGE * tasuki_shared::PAGE;
    match top.checked_sub(base) {
        // SAFETY: what lies below the thread's place on its stack is free, and nothing unwinds.
        Some(size) if (LEAST..SHARED).contains(&size) => unsafe { switch(base, size, does) },
        _ => does(),
    }
}

/// # Safety
/// The stack is used by nothing else meanwhile.
unsafe fn switch<R>(base: usize, size: usize, does: impl FnOnce() -> R) -> R {
    let does = move || {
        // Nothing unwinds over the border between two stacks.
        let result = catch_unwind(AssertUnwindSafe(does));
        result.unwrap_or_else(|_| std::process::abort())
    };
    // SAFETY: as the caller promises; both stacks are of whole pages, and nothing unwinds.
    unsafe { psm::on_stack(base as *mut u8, size, does) }
}
