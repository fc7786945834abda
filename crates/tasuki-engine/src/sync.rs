//! What the biased lock and the coalescing watchdog are made of: atomics, a mutex, threads, and a barrier in
//! all threads.
//!
//! Both files take these from here and from nowhere else, because `tasuki-models` compiles the same files
//! with a `sync` of its own, in which a model checker watches every access.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};
pub(crate) use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
pub(crate) use std::thread::{Thread, current};

pub(crate) use tasuki_sys::membarrier;
