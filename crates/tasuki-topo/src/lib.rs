//! Topologies: what a cabling gives, routes through it, and a proof that packets arrive.
//!
//! - [`Network`]: switches, hosts and cables as a graph; built by [`shapes`], by hand with
//!   [`NetworkBuilder`], or from a cluster file with [`Network::from_cluster`].
//! - [`search`]: graphs with short paths for a given number of vertices and ports, and bounds that none can
//!   beat.
//! - [`mod@grow`]: adds hosts to an existing cabling, with few cables moved.
//! - [`measure`]: diameter, average distance, bisection, single points of failure.
//! - [`route()`]: routing engines that emit destination-indexed [`Tables`].
//! - [`verify()`]: an independent check of any [`Tables`]; it shares no code with the engines.
//! - [`bounds`]: the rates of a traffic pattern over given routes, and what no routing could exceed.
//!
//! Everything is deterministic: random choices take a seed. Definitions and their sources are in
//! `docs/reference/topologies.md`.
#![forbid(unsafe_code)]

pub mod bounds;
mod builder;
mod cluster;
mod cooling;
mod error;
pub mod grow;
pub mod measure;
mod network;
mod random;
mod route;
pub mod search;
pub mod shapes;
mod tables;
mod verify;
mod within;

pub use builder::NetworkBuilder;
pub use error::{NetworkError, RouteError};
pub use network::{ChannelId, Direction, Grid, HostId, Kind, Link, LinkId, Network, Node, NodeId, Port};
pub use random::SplitMix64;
pub use route::{Engine, Limits, PathRule, route};
pub use tables::{PathError, Start, Tables, TurnRule};
pub use verify::{Claims, Fault, FaultKind, Refutation, Report, prove, verify};
