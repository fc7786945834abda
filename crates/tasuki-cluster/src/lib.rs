//! The cluster file: one file, `cluster.toml`, describes hosts, NICs, switches and cables, and every command
//! reads it. This crate holds the model, the strict parser, the rails between hosts, the one address plan,
//! and generators of common shapes. It performs no IO besides reading and replacing files.
#![forbid(unsafe_code)]

mod defaults;
mod delay;
mod fabric;
pub mod generate;
mod json;
mod lab_macs;
mod loads;
mod lookup;
mod model;
mod names;
mod parse;
mod plan;
mod queue_rules;
mod rail_table;
mod rails;
mod replace;
mod ssh;
mod switch_agent;
mod text;
mod units;
mod write;

pub use defaults::{
    DEFAULT_IDENTITY, DEFAULT_LINK, DEFAULT_MOST_DELAY_US, DEFAULT_MTU, DEFAULT_RATE, LAB_MANAGEMENT,
    MTU_MAX, MTU_MIN, STRIPE_MAX, STRIPE_PIECE_US,
};
pub use delay::{Delay, DelayWish, ParseDelayError, Tuning};
pub use loads::{Failed, RouteLoads};
pub use model::{
    AddressStyle, Addressing, Cable, CableId, Cluster, End, Host, HostId, Nic, NicId, StripePolicy, Striping,
    Switch, SwitchId,
};
pub use names::{check_interface, check_label};
pub use parse::{ClusterError, ClusterErrors, Place, Problem};
pub use plan::{
    AddressPlan, Around, BarePlan, HostPlan, IDENTITY_INTERFACE, LinkPlan, NeighbourPlan, NextHop, PlanError,
    RoutePlan, StripeNic, StripePeer, StripePlan, StripeSlot, SysctlPlan,
};
pub use queue_rules::QueueRules;
pub use rail_table::{HostRail, RailPeer, RailTable, RailTableError};
pub use rails::{Rail, RailNames};
pub use replace::{replace_file, sync_folder_of};
pub use ssh::{SshAddress, SshJump, SshOptions, SshTarget, SshUser, through};
pub use switch_agent::{AgentAddress, InterfaceNames, SwitchAgent};
pub use text::{TextError, read_text, text_of};
pub use units::{AROUND_FRAME, Ipv4Net, MacAddr, MacError, NetError, Rate, RateError};
