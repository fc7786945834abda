//! The atomics that this crate's protocols are made of.
//!
//! Files whose order of memory accesses matters take them from here and from nowhere else, because
//! `tasuki-models` compiles the same files with a `sync` of its own, in which a model checker watches every
//! access.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
