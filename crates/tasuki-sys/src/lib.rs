//! Raw kernel calls that the other crates share: rtnetlink, ethtool, network namespaces, packet sockets.

pub mod clock;
pub mod ethtool;
pub mod netlink;
pub mod netns;
pub mod packet;
pub mod priority;
