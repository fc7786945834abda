//! The table `[queue]` of a cluster file.

use super::{fields::Fields, report::Findings};
use crate::{QueueRules, queue_rules::LongTime};
use serde_spanned::Spanned;
use std::ops::RangeInclusive;

/// Jobs and slots of one user.
const COUNTS: RangeInclusive<u32> = 1..=1_000_000;

/// Reads what the jobs of each user may take.
pub(super) fn read_queue(root: &Fields<'_, '_>, findings: &Findings) -> QueueRules {
    let known = ["jobs_per_user", "slots_per_user", "waiting_per_user", "time_max"];
    let fields = root.get("queue").and_then(|value| Fields::of(value, "queue", &known, findings));
    let Some(fields) = fields else { return QueueRules::default() };
    let count = |key: &str| fields.count(key, COUNTS).map(Spanned::into_inner);
    let time = fields.parsed::<LongTime>("time_max", "a time, as \"24h\"");
    QueueRules {
        jobs_per_user: count("jobs_per_user"),
        slots_per_user: count("slots_per_user"),
        waiting_per_user: count("waiting_per_user"),
        time_max: time.map(|time| time.into_inner().0),
    }
}
