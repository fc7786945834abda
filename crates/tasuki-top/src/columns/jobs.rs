//! Columns of jobs.

use super::{Cell, Column};
use tasuki_load::JobLoad;

pub(crate) const JOBS: &[Column<JobLoad>] = &[
    Column::new("job", 0, |job| Cell::or_unknown(job.job.clone(), Cell::Text)),
    Column::new("program", 0, |job| Cell::text(&*job.program)),
    Column::new("ranks", 0, |job| Cell::count(job.ranks as u64)),
    Column::new("hosts", 0, |job| Cell::count(job.hosts as u64)),
    Column::new("processors", 1, |job| Cell::Number(job.busy, format!("{:.2}", job.busy))),
    Column::new("memory", 2, |job| Cell::bytes(job.memory_bytes as f64)),
    Column::new("messages/s", 1, |job| Cell::rate(job.messages_sent)),
    Column::new("sent/s", 0, |job| Cell::bytes(job.sent)),
    Column::new("receiving", 2, |job| {
        Cell::Number(job.receiving as f64, format!("{} of {}", job.receiving, job.ranks))
    }),
    Column::new("unexpected", 3, |job| Cell::count(job.unexpected)),
];
