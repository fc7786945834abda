//! Atomics that loom watches, each of whose uses is a site that a check can weaken.
//!
//! loom treats a `SeqCst` access as an acquire or a release and nothing more. Here such an access has a
//! `SeqCst` fence before or after it, which is how compilers make one for processors that have none, and
//! which loom knows: see [`Machine`].
//!
//! loom remembers of an atomic only the last access, and so overlooks that a store might have come before
//! another thread's load if its own thread has loaded since. Here every access is preceded by a relaxed
//! read-modify-write of another atomic, its turn: between two of these loom overlooks nothing.

use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use loom::sync::atomic::Ordering;

use crate::plain::Plain;
use crate::plan::{self, Kind, Machine};

/// How an access is to be done.
#[derive(Clone, Copy)]
struct How {
    ordering: Ordering,
    fence_after: bool,
}

/// Notes an access, does the fence that it may need before, and says how it is to be done. None: not at all,
/// as the thread is dead.
fn access(kind: Kind, ordering: Ordering, at: &'static Location<'static>) -> Option<How> {
    let ordering = plan::at(kind, ordering, at)?;
    if ordering != Ordering::SeqCst {
        return Some(How { ordering, fence_after: false });
    }
    let before = plan::machine() == Machine::FenceBefore;
    if before {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
    let ordering = match kind {
        Kind::Load => Ordering::Acquire,
        Kind::Store => Ordering::Release,
        _ => Ordering::AcqRel,
    };
    Some(How { ordering, fence_after: !before && kind != Kind::Load })
}

/// Does an access, and what comes after it. One that is not done gives the default.
fn done<T: Default>(how: Option<How>, access: impl FnOnce(Ordering) -> T) -> T {
    let value = how.map(|how| access(how.ordering));
    if how.is_some_and(|how| how.fence_after) {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
    plan::catch_up();
    value.unwrap_or_default()
}

/// An atomic and its turn.
#[derive(Debug)]
struct Watched<T> {
    turn: loom::sync::atomic::AtomicU32,
    atomic: T,
}

impl<T> Watched<T> {
    /// The atomic, for one access.
    fn turn(&self) -> &T {
        self.turn.fetch_add(1, Ordering::Relaxed);
        &self.atomic
    }
}

macro_rules! atomic {
    ($name:ident, $inner:ident, $value:ty) => {
        /// An atomic of loom's whose accesses are sites.
        #[derive(Clone, Debug)]
        pub(crate) struct $name(Arc<Watched<loom::sync::atomic::$inner>>);

        impl Default for $name {
            fn default() -> $name {
                $name::new(Default::default())
            }
        }

        #[allow(dead_code, reason = "not every type is used in every way")]
        impl $name {
            pub(crate) fn new(value: $value) -> $name {
                $name(Arc::new(Watched {
                    turn: loom::sync::atomic::AtomicU32::new(0),
                    atomic: loom::sync::atomic::$inner::new(value),
                }))
            }

            /// Reads as something that is no site of a protocol: the kernel, or the model itself.
            pub(crate) fn peek(&self) -> $value {
                self.0.turn().load(Ordering::Relaxed)
            }

            /// Stores as something that is no site of a protocol.
            pub(crate) fn poke(&self, value: $value) {
                self.0.turn().store(value, Ordering::Relaxed);
            }

            #[track_caller]
            pub(crate) fn load(&self, ordering: Ordering) -> $value {
                let how = access(Kind::Load, ordering, Location::caller());
                done(how, |ordering| self.0.turn().load(ordering))
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                let at = Location::caller();
                let how = access(Kind::Store, ordering, at);
                if plan::is_late(Kind::Store, at) {
                    let late = self.clone();
                    plan::put_off(Box::new(move || late.0.turn().store(value, Ordering::Relaxed)));
                } else {
                    done(how, |ordering| self.0.turn().store(value, ordering));
                }
            }

            #[track_caller]
            pub(crate) fn swap(&self, value: $value, ordering: Ordering) -> $value {
                let how = access(Kind::Exchange, ordering, Location::caller());
                done(how, |ordering| self.0.turn().swap(value, ordering))
            }

            #[track_caller]
            pub(crate) fn fetch_or(&self, bits: $value, ordering: Ordering) -> $value {
                let at = Location::caller();
                let how = access(Kind::Or, ordering, at);
                if plan::is_late(Kind::Or, at) {
                    let late = self.clone();
                    plan::put_off(Box::new(move || _ = late.0.turn().fetch_or(bits, Ordering::Relaxed)));
                    return Default::default();
                }
                done(how, |ordering| self.0.turn().fetch_or(bits, ordering))
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let how = access(Kind::Exchange, success, Location::caller());
                let exchange = |success| Some(self.0.turn().compare_exchange(current, new, success, failure));
                done(how, exchange).unwrap_or(Err(Default::default()))
            }
        }
    };
}

atomic!(AtomicBool, AtomicBool, bool);
atomic!(AtomicU32, AtomicU32, u32);
atomic!(AtomicWord, AtomicU64, u64);

/// 64 bits of memory: a word of a protocol, or payload, which one process writes as plain bytes and another
/// may read as atomics.
#[derive(Debug)]
pub(crate) enum AtomicU64 {
    Word(AtomicWord),
    Payload(Rc<Plain>, usize),
}

impl Default for AtomicU64 {
    fn default() -> AtomicU64 {
        AtomicU64::new(0)
    }
}

impl AtomicU64 {
    pub(crate) fn new(value: u64) -> AtomicU64 {
        AtomicU64::Word(AtomicWord::new(value))
    }

    pub(crate) fn word(&self) -> &AtomicWord {
        match self {
            AtomicU64::Word(word) => word,
            AtomicU64::Payload(..) => panic!("payload is used as a word of the protocol"),
        }
    }

    #[track_caller]
    pub(crate) fn load(&self, ordering: Ordering) -> u64 {
        match self {
            AtomicU64::Word(word) => word.load(ordering),
            AtomicU64::Payload(plain, at) => {
                let mut bytes = [0; 8];
                plain.read(*at, &mut bytes);
                u64::from_ne_bytes(bytes)
            }
        }
    }

    #[track_caller]
    pub(crate) fn store(&self, value: u64, ordering: Ordering) {
        self.word().store(value, ordering);
    }

    #[track_caller]
    pub(crate) fn swap(&self, value: u64, ordering: Ordering) -> u64 {
        self.word().swap(value, ordering)
    }

    #[track_caller]
    pub(crate) fn fetch_or(&self, bits: u64, ordering: Ordering) -> u64 {
        self.word().fetch_or(bits, ordering)
    }

    #[track_caller]
    pub(crate) fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.word().compare_exchange(current, new, success, failure)
    }
}
