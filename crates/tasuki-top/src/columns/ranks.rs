//! Columns of processes.

use super::{Cell, Column, Mark};
use tasuki_load::RankLoad;

pub(crate) const RANKS: &[Column<RankLoad>] = &[
    Column::<RankLoad>::new("rank", 0, |rank| {
        Cell::or_unknown(rank.rank, |number| {
            // Ranks are counted from 0 up, so that the first comes first.
            Cell::Text(number.to_string())
        })
    }),
    Column::<RankLoad>::new("host", 0, |rank| Cell::text(&*rank.host)),
    Column::<RankLoad>::new("process", 5, |rank| Cell::Text(rank.pid.to_string())),
    Column::<RankLoad>::new("program", 1, |rank| Cell::text(&*rank.program)),
    Column::<RankLoad>::new("job", 6, |rank| Cell::or_unknown(rank.job.clone(), Cell::Text)),
    Column::<RankLoad>::new("busy", 0, |rank| Cell::or_unknown(rank.busy, Cell::Share)),
    Column::<RankLoad>::new("memory", 3, |rank| {
        Cell::or_unknown(rank.memory_bytes, |count| Cell::bytes(count as f64))
    }),
    Column::<RankLoad>::new("messages/s", 2, |rank| Cell::rate(rank.messages_sent)),
    Column::<RankLoad>::new("sent/s", 0, |rank| Cell::bytes(rank.sent)),
    Column::<RankLoad>::new("received/s", 0, |rank| Cell::bytes(rank.received)),
    Column::<RankLoad>::new("posted", 3, |rank| Cell::count(rank.posted)),
    Column::<RankLoad>::new("unexpected", 4, |rank| Cell::count(rank.unexpected)),
    Column::<RankLoad>::new("sending", 3, |rank| Cell::count(rank.sending)),
    Column::<RankLoad>::new("dead peers", 1, |rank| Cell::count(rank.dead_peers as u64))
        .marked(|rank| Mark::bad_if(rank.dead_peers > 0)),
];
