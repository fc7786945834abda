//! `crate::engine` of the engine, as far as the helper that watches held messages needs it.

use std::rc::Rc;

use loom::cell::UnsafeCell;
use tasuki_proto::Time;

use crate::coalesce_watch::CoalesceWatch;

/// Messages of the program, by what has become of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Messages {
    pub(crate) held: u32,
    pub(crate) sent: u32,
}

/// What is behind the endpoint's lock.
pub(crate) struct Engine {
    /// loom watches it, and so finds a thread that comes in without the lock.
    messages: UnsafeCell<Messages>,
    pub(crate) held: Rc<CoalesceWatch>,
}

impl Engine {
    pub(crate) fn new(held: Rc<CoalesceWatch>) -> Engine {
        Engine { messages: UnsafeCell::new(Messages::default()), held }
    }

    pub(crate) fn change<T>(&mut self, work: impl FnOnce(&mut Messages) -> T) -> T {
        // SAFETY: `self` is borrowed alone, as far as the lock keeps its promise, which loom checks.
        self.messages.with_mut(|messages| work(unsafe { &mut *messages }))
    }

    /// Takes a message that waits for others.
    pub(crate) fn hold(&mut self, now: Time) {
        let held = self.change(|messages| {
            messages.held += 1;
            messages.held
        });
        if held == 1 {
            self.held.begin(now);
        }
    }

    /// Sends what is held, as the program does at its next call.
    pub(crate) fn send_held(&mut self) {
        let held = self.change(|messages| {
            messages.sent += messages.held;
            std::mem::take(&mut messages.held)
        });
        if held > 0 {
            self.held.end();
        }
    }

    /// Sends what the program has left behind, as the helper does.
    pub(crate) fn send_abandoned(&mut self) {
        self.send_held();
    }
}
