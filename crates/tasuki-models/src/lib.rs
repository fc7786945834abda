//! Models of the hand-made lock-free protocols, which a model checker ([loom](https://docs.rs/loom)) goes
//! through: all interleavings of their threads, up to a number of preemptions, and all values that the C++
//! memory model lets a load give.
//!
//! What is modelled is the source itself: the files of `tasuki-ring` and `tasuki-engine` that order memory
//! are compiled here once more, with another [`sync`] and, for shared memory, another [`map`] and [`file`].
//! Each [`Scenario`] is a small program over them that panics if it sees what must not be; the checker itself
//! panics at a data race and at a deadlock.
//!
//! A [`Protocol`] is checked as it is, and must pass. Then each of its [sites](Site) is made wrong, one at a
//! time: an ordering one step weaker, a fence left out, a store late. Some scenario must find it. Sites that
//! none finds are listed with the reason.
//!
//! What a model does not cover: more preemptions than its scenarios say, longer runs, forks, and faulty
//! peers; and what loom leaves out of the C++ memory model: a load never sees a store that is executed later,
//! and the read-modify-writes of a thread are executed in the order of the program. Compilers and processors
//! that reorder less than C++ allows are covered, as what they do is among what it allows.
#![cfg(all(feature = "loom", not(test)))]

mod atomic;
mod check;
mod engine;
mod file;
mod map;
mod plain;
mod plan;
pub mod protocols;
mod scenarios;
mod sync;

pub use check::{Excuse, Protocol, Scenario, check, check_excuses};
pub use plan::{Defect, Kind, Site};

/// The files that are modelled, where they look for each other: in the crate's root.
macro_rules! sources {
    ($($path:literal $name:ident;)*) => {
        $(
            #[allow(dead_code, unused_imports, reason = "a scenario needs a part of what the file has")]
            #[allow(clippy::all, unfulfilled_lint_expectations, reason = "the file's own crate checks it")]
            #[path = $path]
            mod $name;
        )*
    };
}

sources! {
    "../../tasuki-engine/src/biased_lock.rs" biased_lock;
    "../../tasuki-engine/src/coalesce_watch.rs" coalesce_watch;
    "../../tasuki-engine/src/helper/watchdog.rs" watchdog;
    "../../tasuki-ring/src/create.rs" create;
    "../../tasuki-ring/src/dual_copy/mod.rs" dual_copy;
    "../../tasuki-ring/src/error.rs" error;
    "../../tasuki-ring/src/lane.rs" lane;
    "../../tasuki-ring/src/layout.rs" layout;
    "../../tasuki-ring/src/outbox/mod.rs" outbox;
    "../../tasuki-ring/src/record.rs" record;
    "../../tasuki-ring/src/segment.rs" segment;
    "../../tasuki-ring/src/senders.rs" senders;
    "../../tasuki-ring/src/stats_page/mod.rs" stats_page;
    "../../tasuki-ring/src/token.rs" token;
    "../../tasuki-ring/src/types.rs" types;
}

use error::{OpenError, RingError};
use outbox::Outbox;
use segment::Segment;
use token::Token;
use types::{Departure, SegmentOptions, SegmentStats, Slot, Verdict};

#[allow(unused_imports, reason = "documentation of the sources links to it")]
use dual_copy::DualCopy;
