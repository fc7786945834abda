//! Closing sockets without waiting for the kernel.

use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::thread;

use tasuki_sys::fork::Uninherited;

use crate::net::lanes::Sockets;
use crate::threads::without_signals;

/// Further references to the sockets of raw lanes, to be dropped when nothing else refers to them.
///
/// To close the last reference to a packet socket takes some 30 ms, in which the kernel waits until no
/// processor can hold a frame for it. Dropping this leaves the wait to the kernel or to threads, while the
/// program goes on.
pub(crate) struct DeferredClose(Sockets);

impl DeferredClose {
    pub fn new(sockets: Sockets) -> DeferredClose {
        DeferredClose(sockets)
    }

    /// Leaves the sockets as they are: in a child after fork they are the parent's.
    pub fn forget(&mut self) {
        std::mem::forget(std::mem::take(&mut self.0));
    }
}

impl Drop for DeferredClose {
    fn drop(&mut self) {
        let sockets = Arc::into_inner(std::mem::take(&mut self.0)).and_then(OnceLock::into_inner);
        close_later(sockets.into_iter().flatten().map(Uninherited::into_inner).collect());
    }
}

/// Closes sockets without waiting.
pub(crate) fn close_later(sockets: Vec<OwnedFd>) {
    if sockets.is_empty() {
        return;
    }
    let Err((sockets, _)) = tasuki_sys::leave::leave(sockets) else { return };
    for socket in sockets {
        let closing = thread::Builder::new().name("tasuki-close".to_owned()).stack_size(64 << 10);
        // Without a thread (a limit of the process) the closure, and the socket with it, is dropped here.
        let _ = closing.spawn(move || without_signals(|| drop(socket)));
    }
}
