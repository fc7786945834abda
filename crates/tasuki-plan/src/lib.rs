//! Planning the cables of a cluster: the cablings that an inventory of hosts, ports and switches allows, the
//! bandwidth, distances and resilience of each, and the lists and labels for plugging the cables in.
//!
//! - [`Inventory`] lists hosts, ports and switches. [`proposals`] returns the cablings that it allows,
//!   [`grown`] those that keep cables of an existing cluster. [`rank`] measures a proposal, [`write_folder`]
//!   writes everything about one.
//! - [`named`] finds a network by the name of a file or of a shape. [`measure()`] and [`compare()`] measure
//!   networks, [`routes()`] and [`verify_tables`] check whether routing tables lead everywhere, [`simulate`]
//!   sends packets.
//! - A [`Program`] is what a program was recorded to send; it says what a cabling gives to this program.
//! - [`picture`] draws a network.
#![forbid(unsafe_code)]

mod advice;
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
mod program;
mod propose;
mod racks;
mod range;
mod rank;
mod routes;
mod show;
pub mod simulate;
mod tables;
mod traffic;
mod verify;

pub use advice::advice;
pub use cabling_list::{ListedEnd, cabling_list, labels, listed_ends};
pub use compare::{COMPARE_STEPS, Compared, compare, compared_engines};
pub use engines::{ENGINES, engine_named};
pub use error::PlanningError;
pub use files::write_file;
pub use folder::{folder_files, write_folder};
pub use grow::{GROW_STEPS, Moves, grown};
pub use inventory::{Inventory, OwnSwitch, PcieSlot, Prices};
pub use measure::{MEASURE_STEPS, Measures, WeakPart, measure, measure_rows};
pub use networks::{Named, named, network, source_help};
pub use program::{
    CableLoad, PROGRAM_COLUMNS, Program, ProgramTime, compare_programs, program_rows, program_why,
};
pub use propose::{Proposal, proposals};
pub use racks::furnish;
pub use range::{Range, digits};
pub use rank::{Best, RANK_STEPS, Ranked, compare_ranked, rank};
pub use routes::{CheckedRoutes, EngineRoutes, RouteOptions, Routes, TableEntry, routes};
pub use show::{PLAN_COLUMNS, plan_rows};
pub use tables::TablesFile;
pub use traffic::{TrafficPattern, TrafficRates};
pub use verify::{TableFault, Verdict, VerifyOptions, verify_tables};

/// A function that is called with the name of each step of a long operation as it begins, to report progress.
pub type Steps<'a> = &'a mut dyn FnMut(&str);
