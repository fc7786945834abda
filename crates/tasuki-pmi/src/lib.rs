//! The server of PMI-1, by which MPICH and Intel MPI learn of each other when no launcher of theirs runs.
//!
//! A rank has a descriptor (`PMI_FD`) and speaks lines of text over it: `cmd=put kvsname=K key=A
//! value=B`. It puts where it can be reached into a key space, enters a barrier, and reads what the
//! others have put. The ranks of a job are on several hosts: a [`Node`] on each host answers that host's
//! ranks and keeps what they put. When all ranks of a host have entered a barrier, its [`FenceIn`] goes
//! to the one [`Joint`] of the job, and when all hosts' have come, the [`FenceOut`] goes to every host,
//! with all that was put.
//!
//! Nothing here performs IO or reads a clock: bytes and messages go in, [`Action`]s come out, in one
//! order. Ranks may be hostile: lines, keys, values and what a rank may put are bounded ([`Limits`]), and
//! a line that breaks the protocol ends the connection of its rank with a reason ([`Action::Refused`]).
//!
//! The protocol is that of MPICH's `src/pmi/maint/pmi-1.1.txt` and `pmi-1.2.txt` (messages) and of RFC 13
//! of the Flux project (grammar); what MPIs make of it is in `docs/internals/resident-start.md`.
#![forbid(unsafe_code)]

mod fence;
mod group;
mod joint;
mod lines;
mod node;
mod rank;
mod reply;
mod request;
mod shape;
mod space;

pub use fence::{FenceIn, FenceOut};
pub use joint::{JoinError, Joint, Results};
pub use node::{Action, Node};
pub use shape::{JobShape, Limits, ShapeError};
