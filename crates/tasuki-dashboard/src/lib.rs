//! `tasuki dashboard`: a page with the cabling, its load, timelines, ranks, jobs and problems of a fleet,
//! live in a browser.
//!
//! [`Dashboard::open`] begins to listen, [`Dashboard::serve`] looks at hosts and answers. The page is one
//! file without anything from elsewhere; its figures come as server-sent events. Data are given to those who
//! have the token only.
#![forbid(unsafe_code)]

mod access;
mod collector;
mod dashboard;
mod error;
mod findings;
mod history;
mod layout;
mod problems;
mod site;
mod subjects;

pub use dashboard::{Dashboard, Options};
pub use error::DashboardError;
