//! Memory that several hosts share, page by page: the protocol, without memory, sockets or a clock.
//!
//! A [`Node`] is one process of a program whose memory is shared. It is told what happens (a thread touched
//! a page that it may not touch, a message came, a moment has come) and says by [`Action`]s what is to be
//! done with pages and which messages are to be sent. Bytes of pages never pass through it.
//!
//! * **Pages** have one writer or many readers, never both, so that programs see memory as threads of one
//!   host do, atomic operations and spinning on a flag included (sequential consistency). Each page has a
//!   *home* that knows who holds copies and takes one request at a time; the bytes come from the *owner*,
//!   the node that wrote last. K. Li and P. Hudak, "Memory coherence in shared virtual memory systems"
//!   (1989), call this a fixed distributed manager; SCore's SCASH kept homes too, but merged several writers
//!   at barriers, which programs with inlined atomic operations do not survive.
//! * **Locks** stay with the node that used them last until another one asks.
//! * **Barriers** disseminate: as many rounds as the number of nodes has bits, all nodes alike.
//!
//! Messages between two nodes may overtake each other; none may be lost or doubled. Every message of a
//! request has arrived before its page's home begins the next, so that no message needs a number.
#![forbid(unsafe_code)]

mod action;
mod barrier;
mod defect;
mod directory;
mod error;
mod id;
mod lock;
mod message;
mod node;
mod pages;

pub use action::{Action, Counters};
pub use defect::Defect;
pub use error::{Malformed, Violation};
pub use id::{Access, Lock, NODES_MAX, NodeId, Page};
pub use message::Message;
pub use node::{Config, Node};
