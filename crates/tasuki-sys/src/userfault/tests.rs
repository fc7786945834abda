use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// Functions of a few instructions, one of which touches the word.
#[inline(never)]
unsafe extern "C" fn load(word: *const u64) -> u64 {
    // SAFETY: the caller gives a word that it may read.
    unsafe { word.read_volatile() }
}

#[inline(never)]
unsafe extern "C" fn store(word: *mut u64, value: u64) {
    // SAFETY: the caller gives a word that it may write.
    unsafe { word.write_volatile(value) }
}

/// userfaultfd(2) and `ioctl_userfaultfd(2)`: a thread that touches a page which is not there sleeps until
/// the page is put in place, one that writes to a protected page until it may.
#[test]
fn faults_are_told_and_answered() {
    const PAGE: usize = 4096;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the mapping is new.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), 2 * PAGE, rights, flags, -1, 0) } as usize;
    let Ok(faults) = UserFault::open() else { return eprintln!("skipped: no userfaultfd here") };
    // SAFETY: nobody has a reference to the memory.
    unsafe { faults.register(memory, 2 * PAGE) }.expect("registers");
    let telling = Arc::new(AtomicU32::new(0));
    let next = |offset: usize, writes: bool| {
        let mut told = Vec::new();
        while told.is_empty() {
            faults.read(|fault| told.push(fault)).expect("reads");
        }
        let [fault] = told[..] else { panic!("{told:?}") };
        assert_eq!(fault.writes, writes);
        // Kernels before Linux 5.18 tell the page alone, and no thread.
        if fault.thread == 0 {
            assert_eq!(fault.address, memory + offset / PAGE * PAGE);
        } else {
            assert_eq!((fault.address, fault.thread), (memory + offset, telling.load(Ordering::Acquire)));
            let at = fault.instruction().expect("the thread waits");
            let function = if writes { store as *const () } else { load as *const () } as u64;
            assert!((function..function + 64).contains(&at), "{at:#x} in a function at {function:#x}");
        }
    };
    let tells = Arc::clone(&telling);
    // A thread of its own, not of a scope: if this one panics, nobody answers the other's faults any more.
    // SAFETY: the memory is mapped, and only this thread uses it in words.
    let thread = std::thread::spawn(move || unsafe {
        tells.store(libc::gettid() as u32, Ordering::Release);
        let word = (memory as *mut u64).byte_add(16);
        let first = load(word);
        store(word, first + 1);
        store(word.byte_add(PAGE), 5);
        (load(word), load(word.byte_add(PAGE + 8)))
    });
    next(16, false);
    // SAFETY: the pages are registered.
    unsafe { faults.install(memory, &[1; PAGE], false) }.expect("installs");
    next(16, true);
    // SAFETY: as above.
    unsafe { faults.protect(memory, PAGE, false) }.expect("unprotects");
    next(PAGE + 16, true);
    // SAFETY: as above.
    unsafe { faults.install_zeros(memory + PAGE, PAGE) }.expect("installs");
    assert_eq!(thread.join().expect("no panic"), (0x0101_0101_0101_0102, 0));
    // SAFETY: no thread uses the memory any more.
    unsafe { libc::munmap(memory as *mut _, 2 * PAGE) };
}
