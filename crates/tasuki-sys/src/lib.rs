//! Raw kernel calls that the other crates share: rtnetlink, ethtool, network namespaces, packet sockets,
//! TCP's counters, ticks of processors, closing descriptors without waiting, descriptors that children do not
//! keep, memory barriers in all threads, page faults, signals of threads, waiting for words of memory.

pub mod clock;
mod conversation;
pub mod ethtool;
pub mod fork;
pub mod futex;
mod generic;
pub mod leave;
pub mod membarrier;
pub mod napi;
pub mod netlink;
pub mod netns;
pub mod packet;
pub mod priority;
pub mod signals;
mod speed;
pub mod tcp;
pub mod ticks;
pub mod userfault;

pub use speed::negotiated_mbits;
