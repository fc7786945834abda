//! `tasuki top`: hosts, NICs, processes and jobs of a fleet, live on a terminal.
//!
//! [`run`] shows them until the user leaves. What keys do is in the private module `app`, which knows no
//! terminal; what a table shows is in [`View`], which also makes plain tables for output that is no terminal.
#![forbid(unsafe_code)]

mod app;
mod columns;
mod draw;
mod help;
mod keys;
mod live;
mod rows;
mod scope;
mod view;

pub use live::{Options, run};
pub use view::View;
