//! Sockets that are closed aside.

use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::thread;

use crate::lanes::Sockets;
use crate::state::State;

/// Further references to the sockets of raw lanes. Whoever closes the last one of a socket waits in the kernel, some 30 ms, until no
/// processor can hold a frame for it: dropping this leaves that to the kernel, or else to threads, while the program goes on. It is for
/// last: what else refers to the sockets must be gone.
pub(crate) struct Aside(Sockets);

impl Aside {
    pub fn new(state: &State) -> Aside {
        Aside(state.raw_sockets.clone())
    }

    /// Leaves them as they are: in a child after fork they are the parent's.
    pub fn forget(&mut self) {
        std::mem::forget(std::mem::take(&mut self.0));
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let sockets = Arc::into_inner(std::mem::take(&mut self.0)).and_then(OnceLock::into_inner);
        close_aside(sockets.unwrap_or_default());
    }
}

/// Closes sockets without waiting.
pub(crate) fn close_aside(sockets: Vec<OwnedFd>) {
    if sockets.is_empty() {
        return;
    }
    let Err((sockets, _)) = tasuki_sys::leave::leave(sockets) else { return };
    for socket in sockets {
        let closing = thread::Builder::new().name("tasuki-close".to_owned()).stack_size(64 << 10);
        // Where there is no thread to be had, the closure, and the socket with it, is dropped here.
        let _ = closing.spawn(move || crate::helper::without_signals(|| drop(socket)));
    }
}
