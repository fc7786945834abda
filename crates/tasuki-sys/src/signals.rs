//! Signals of the calling thread: which of them the kernel may deliver there.

use std::marker::PhantomData;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// Signals that a thread brings on itself, by what it does.
const OF_ONESELF: [Signal; 9] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGTRAP,
    Signal::SIGABRT,
    Signal::SIGPIPE,
    Signal::SIGSYS,
    Signal::SIGXFSZ,
];

/// The signals of a thread wait as long as this lives. Threads that are started meanwhile begin like that.
#[derive(Debug)]
pub struct Held {
    before: Option<SigSet>,
    /// The mask is that of one thread.
    _of_thread: PhantomData<*const ()>,
}

impl Held {
    /// Holds back all signals of the calling thread.
    pub fn all() -> Held {
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK).ok();
        Held { before, _of_thread: PhantomData }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = before.thread_set_mask();
        }
    }
}

/// Blocks all signals of the calling thread but those that it brings on itself.
pub fn block_those_of_others() {
    let mut blocked = SigSet::all();
    OF_ONESELF.into_iter().for_each(|signal| blocked.remove(signal));
    let _ = blocked.thread_set_mask();
}

/// Blocks these signals of the calling thread and no others, and returns what it blocked before: bit 0 is the
/// signal of number 1.
pub fn block(signals: u64) -> u64 {
    let empty: libc::sigset_t = *SigSet::empty().as_ref();
    let (mut wanted, mut before) = (empty, empty);
    // SAFETY: sets of glibc and musl begin with a word for the kernel's 64 signals, and are no smaller. The
    // call reads one set and writes the other.
    unsafe {
        (&raw mut wanted).cast::<u64>().write(signals);
        libc::pthread_sigmask(libc::SIG_SETMASK, &wanted, &mut before);
        (&raw const before).cast::<u64>().read()
    }
}

/// The signals that the calling thread blocks, as for [`block`].
pub fn blocked() -> u64 {
    let mut now: libc::sigset_t = *SigSet::empty().as_ref();
    // SAFETY: as above; without a set to read nothing is changed.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &mut now);
        (&raw const now).cast::<u64>().read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask() -> SigSet {
        SigSet::thread_get_mask().unwrap()
    }

    /// The mask is that of this thread alone, and other tests have threads of their own.
    #[test]
    fn signals_wait_as_long_as_they_are_held() {
        assert!(!mask().contains(Signal::SIGUSR1));
        let outer = Held::all();
        drop(Held::all());
        assert!(mask().contains(Signal::SIGUSR1), "the inner one leaves what the outer one holds");
        std::thread::spawn(|| assert!(mask().contains(Signal::SIGTERM))).join().unwrap();
        drop(outer);
        assert!(!mask().contains(Signal::SIGUSR1));
    }

    #[test]
    fn faults_and_broken_pipes_are_still_told() {
        block_those_of_others();
        let blocked = mask();
        assert!([Signal::SIGTERM, Signal::SIGALRM, Signal::SIGPROF].iter().all(|one| blocked.contains(*one)));
        assert!([Signal::SIGSEGV, Signal::SIGPIPE].iter().all(|one| !blocked.contains(*one)));
    }

    #[test]
    fn what_a_thread_blocks_is_told_and_set_as_bits() {
        let before = blocked();
        let wanted = 1 << (libc::SIGUSR1 - 1) | 1 << (libc::SIGRTMAX() - 1);
        assert_eq!((block(wanted), blocked()), (before, wanted));
        assert!(mask().contains(Signal::SIGUSR1) && !mask().contains(Signal::SIGUSR2));
        assert_eq!(block(before), wanted);
    }
}
