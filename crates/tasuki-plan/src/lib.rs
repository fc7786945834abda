//! Planning the cables of a cluster: which cablings so many hosts, ports and switches allow, what each of them
//! gives, and what somebody needs who plugs one in.
//!
//! - [`Inventory`] says what there is; [`proposals`] are the cablings that it allows, [`grown`] those that keep cables
//!   of a cluster that is there. [`rank`] says what a proposal gives, [`write_folder`] writes everything about one.
//! - [`network`] finds a network by the name of a file or of a shape. [`measure()`] and [`compare()`] say what a network
//!   gives, [`routes()`] and [`verify_tables`] whether tables lead everywhere, [`simulate`] what packets meet in it.
//! - [`picture`] draws a network.
#![forbid(unsafe_code)]

mod cabling_list;
mod compare;
mod engines;
mod error;
mod files;
mod folder;
mod grow;
mod inventory;
mod measure;
mod networks;
pub mod picture;
mod planes;
mod propose;
mod racks;
mod range;
mod rank;
mod routes;
pub mod simulate;
mod tables;
mod traffic;
mod verify;

pub use cabling_list::{ListedEnd, cabling_list, labels, listed_ends};
pub use compare::{COMPARE_STEPS, Compared, compare, compared_engines};
pub use engines::{ENGINES, engine_named};
pub use error::PlanningError;
pub use files::write_file;
pub use folder::write_folder;
pub use grow::{GROW_STEPS, Moves, grown};
pub use inventory::{Inventory, OwnSwitch, PcieSlot, Prices};
pub use measure::{MEASURE_STEPS, Measures, WeakPart, measure, measure_rows};
pub use networks::{network, source_help};
pub use propose::{Proposal, proposals};
pub use racks::furnish;
pub use range::{Range, digits};
pub use rank::{Best, RANK_STEPS, Ranked, compare_ranked, rank};
pub use routes::{CheckedRoutes, EngineRoutes, RouteOptions, Routes, TableEntry, routes};
pub use tables::TablesFile;
pub use traffic::{TrafficPattern, TrafficRates};
pub use verify::{TableFault, Verdict, VerifyOptions, verify_tables};

/// What is called when a step of some work begins, with what it is, so that somebody who waits can be told.
pub type Steps<'a> = &'a mut dyn FnMut(&str);
