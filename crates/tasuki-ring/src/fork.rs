//! Noticing that this process is a forked child.
//!
//! A child has copies of all our descriptors and objects, and none of the locks. It must neither use a ring
//! nor remove a file that its parent still uses. Asking for the process id at every push would cost a system
//! call; a handler that runs in the child costs nothing.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// The process that made an object, as the number of forks between the first user of this crate and that
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// The calling process.
    pub(crate) fn current() -> Process {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the handler only adds to an atomic, which is allowed in a forked child. If memory is
            // short the handler is not installed; then a child that uses its parent's endpoints is not
            // noticed, as with any other library.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        });
        Process(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether the calling process is still that process.
    #[inline]
    pub(crate) fn is_current(self) -> bool {
        GENERATION.load(Ordering::Relaxed) == self.0
    }
}
