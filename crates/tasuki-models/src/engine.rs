//! `crate::engine` of the engine, as far as the helper that watches coalesced messages needs it.

use std::rc::Rc;

use loom::cell::UnsafeCell;
use tasuki_proto::Time;

use crate::coalesce_watch::CoalesceWatch;

/// Messages of the program, by what has become of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Messages {
    pub(crate) coalesced: u32,
    pub(crate) sent: u32,
}

/// What is behind the endpoint's lock.
pub(crate) struct Engine {
    /// loom watches it, and so finds a thread that comes in without the lock.
    messages: UnsafeCell<Messages>,
    pub(crate) coalesce_watch: Rc<CoalesceWatch>,
}

impl Engine {
    pub(crate) fn new(coalesce_watch: Rc<CoalesceWatch>) -> Engine {
        Engine { messages: UnsafeCell::new(Messages::default()), coalesce_watch }
    }

    pub(crate) fn change<T>(&mut self, work: impl FnOnce(&mut Messages) -> T) -> T {
        // SAFETY: `self` is borrowed alone, as far as the lock keeps its promise, which loom checks.
        self.messages.with_mut(|messages| work(unsafe { &mut *messages }))
    }

    /// Takes a message that waits for others.
    pub(crate) fn coalesce(&mut self, now: Time) {
        let coalesced = self.change(|messages| {
            messages.coalesced += 1;
            messages.coalesced
        });
        if coalesced == 1 {
            self.coalesce_watch.begin(now);
        }
    }

    /// Sends what is coalesced, as the program does at its next call.
    pub(crate) fn send_coalesced(&mut self) {
        let coalesced = self.change(|messages| {
            messages.sent += messages.coalesced;
            std::mem::take(&mut messages.coalesced)
        });
        if coalesced > 0 {
            self.coalesce_watch.end();
        }
    }

    /// Sends what the program has left behind, as the helper does.
    pub(crate) fn send_abandoned(&mut self) {
        self.send_coalesced();
    }
}
