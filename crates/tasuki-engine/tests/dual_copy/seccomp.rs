//! A kernel that does not let this process write to others (seccomp(2)).

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO,
    SECCOMP_RET_TRAP, sock_filter,
};

/// From now on this thread, and those that it starts, may not.
pub fn refuse_writes() {
    filter(SECCOMP_RET_ERRNO | libc::EPERM as u32);
}

/// From now on this thread, when it wants to, says so and then does nothing any more.
pub fn hold_writes() {
    // SAFETY: the handler calls nothing but write(2) and pause(2), which a handler may.
    unsafe { libc::signal(libc::SIGSYS, stay as *const () as libc::sighandler_t) };
    filter(SECCOMP_RET_TRAP);
}

extern "C" fn stay(_: libc::c_int) {
    let text = b"\nSAYS held\n";
    // SAFETY: the text lives through the call; nothing else is passed.
    unsafe {
        libc::write(1, text.as_ptr().cast(), text.len());
        loop {
            libc::pause();
        }
    }
}

fn filter(verdict: u32) {
    let text = |code: u32, k: u32, jt: u8, jf: u8| sock_filter { code: code as u16, jt, jf, k };
    let mut lines = [
        // The number of the call is the first word.
        text(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
        text(BPF_JMP | BPF_JEQ | BPF_K, libc::SYS_process_vm_writev as u32, 0, 1),
        text(BPF_RET | BPF_K, verdict, 0, 0),
        text(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog { len: lines.len() as u16, filter: lines.as_mut_ptr() };
    // SAFETY: the program lives through the calls, which read it.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    assert!(set, "seccomp: {}", std::io::Error::last_os_error());
}
