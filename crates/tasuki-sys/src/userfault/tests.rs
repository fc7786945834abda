use super::*;

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
    let next = |page: usize, writes: bool| {
        let mut told = Vec::new();
        while told.is_empty() {
            faults.read(|fault| told.push(fault)).expect("reads");
        }
        assert_eq!(told, [Fault { address: memory + page * PAGE, writes }]);
    };
    // A thread of its own, not of a scope: if this one panics, nobody answers the other's faults any more.
    // SAFETY: the memory is mapped, and only this thread uses it in words.
    let thread = std::thread::spawn(move || unsafe {
        let word = memory as *mut u64;
        // The compiler must not make one instruction of the load and the store.
        let first = std::hint::black_box(word.read_volatile());
        word.write_volatile(first + 1);
        word.byte_add(PAGE).write_volatile(5);
        (word.read_volatile(), word.byte_add(PAGE + 8).read_volatile())
    });
    next(0, false);
    // SAFETY: the pages are registered.
    unsafe { faults.install(memory, &[1; PAGE], false) }.expect("installs");
    next(0, true);
    // SAFETY: as above.
    unsafe { faults.protect(memory, PAGE, false) }.expect("unprotects");
    next(1, true);
    // SAFETY: as above.
    unsafe { faults.install_zeros(memory + PAGE, PAGE) }.expect("installs");
    assert_eq!(thread.join().expect("no panic"), (0x0101_0101_0101_0102, 0));
    // SAFETY: no thread uses the memory any more.
    unsafe { libc::munmap(memory as *mut _, 2 * PAGE) };
}
