//! Two stacks for each thread of the program: a shared one for its code, a private one for this library.

use std::ffi::c_void;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tasuki_shared::{PAGE, Shared};

use crate::thread;

/// Bytes of a private stack.
const PRIVATE: usize = 256 << 10;
/// Bytes of a shared stack at least.
pub const SHARED_MIN: usize = 8 << 20;
/// Bytes of all shared stacks at most.
const SHARED_ALL_MAX: usize = 64 << 30;

/// Bytes that code needs at least.
const LEAST: usize = 64 << 10;

/// The shared stacks of all threads, in the order of their numbers.
#[derive(Clone, Copy)]
pub struct Stacks {
    /// The first address.
    pub first: usize,
    /// Bytes of each.
    pub bytes: usize,
    pub count: usize,
}

impl Stacks {
    /// Bytes of each of so many stacks, if so many are wanted.
    pub fn bytes_of_each(count: usize, wanted: usize) -> usize {
        let most = (SHARED_ALL_MAX / count).max(SHARED_MIN);
        wanted.clamp(SHARED_MIN, most).next_multiple_of(PAGE)
    }

    /// That of a thread.
    pub fn of(&self, number: usize) -> Range<usize> {
        let start = self.first + number * self.bytes;
        start..start + self.bytes
    }

    /// The one in which an address lies.
    pub fn around(&self, address: usize) -> Option<Range<usize>> {
        let number = address.checked_sub(self.first)? / self.bytes;
        (number < self.count).then(|| self.of(number))
    }

    /// Makes the last page of this process's stacks, which have these numbers, one that must not be touched:
    /// code that needs more is ended by the kernel, as it would be elsewhere, and does not write to another
    /// thread's stack. Nobody asks for the last page of any stack because of what lies beside it.
    pub fn guard(&self, numbers: Range<usize>, shared: &Shared) -> std::io::Result<()> {
        (0..self.count).for_each(|number| shared.leave_out(self.of(number).start));
        for number in numbers {
            let page = self.of(number).start as *mut c_void;
            // SAFETY: nothing has used the stack yet, and the page is the last that code comes to.
            if unsafe { libc::mprotect(page, PAGE, libc::PROT_NONE) } != 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

/// Memory for a private stack, with a page below it that must not be touched. It is never given back.
pub fn new_private() -> (usize, usize) {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
    // SAFETY: the mapping is new.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), PRIVATE, rights, flags, -1, 0) };
    assert!(base != libc::MAP_FAILED, "no memory for a stack");
    // SAFETY: the page is the first of the mapping.
    unsafe { libc::mprotect(base, PAGE, libc::PROT_NONE) };
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
pub unsafe fn on_shared<R>(stack: Range<usize>, does: impl FnOnce() -> R) -> R {
    let was = thread::private_stack().is_none();
    thread::on_private_stack(false);
    // SAFETY: as the caller promises.
    let result = unsafe { switch(stack.start, stack.len(), does) };
    thread::on_private_stack(was);
    result
}

/// Runs the program's code further down on the shared stack on which the thread is, beginning with a page of
/// its own: what lies above is used by other processes meanwhile, and would come back for every call.
///
/// # Safety
/// The stack is the one on which the thread is.
pub unsafe fn on_own_page<R>(stack: Range<usize>, does: impl FnOnce() -> R) -> R {
    let top = psm::stack_pointer() as usize / PAGE * PAGE;
    match top.checked_sub(stack.start) {
        // SAFETY: what lies below the thread's place on its stack is free, and nothing unwinds.
        Some(size) if (LEAST..stack.len()).contains(&size) => unsafe { switch(stack.start, size, does) },
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
