//! Columns of NICs.

use super::{Cell, Column, Mark};
use tasuki_load::NicLoad;

pub(crate) const NICS: &[Column<NicLoad>] = &[
    Column::<NicLoad>::new("host", 0, |nic| Cell::text(&*nic.host)),
    Column::<NicLoad>::new("NIC", 0, |nic| Cell::text(&*nic.nic)),
    Column::<NicLoad>::new("to", 4, |nic| Cell::or_unknown(nic.to.clone(), Cell::Text)),
    Column::<NicLoad>::new("state", 0, |nic| Cell::text(if nic.up { "up" } else { "DOWN" }))
        .marked(|nic| Mark::bad_if(!nic.up)),
    Column::<NicLoad>::new("line", 5, |nic| Cell::or_unknown(nic.bits_per_second, line)),
    Column::<NicLoad>::new("of line", 1, |nic| Cell::or_unknown(nic.of_line(), Cell::Share)),
    Column::<NicLoad>::new("sent/s", 0, |nic| Cell::bytes(nic.sent)),
    Column::<NicLoad>::new("received/s", 0, |nic| Cell::bytes(nic.received)),
    Column::<NicLoad>::new("frames/s", 6, |nic| Cell::rate(nic.sent_frames + nic.received_frames)),
    Column::<NicLoad>::new("errors", 2, |nic| Cell::count(nic.errors_total)).marked(|nic| {
        let (now, ever) = (nic.errors > 0.0, nic.errors_total > 0);
        if now { Mark::Bad } else { Mark::doubtful_if(ever) }
    }),
    Column::<NicLoad>::new("dropped", 3, |nic| Cell::count(nic.dropped_total))
        .marked(|nic| Mark::doubtful_if(nic.dropped > 0.0)),
    Column::<NicLoad>::new("lost/s", 2, |nic| Cell::rate(nic.lost))
        .marked(|nic| Mark::doubtful_if(nic.lost > 0.0)),
    Column::<NicLoad>::new("resent/s", 3, |nic| Cell::bytes(nic.resent)),
];

fn line(bits_per_second: u64) -> Cell {
    let text = match bits_per_second {
        rate if rate >= 1_000_000_000 => format!("{} G", rate as f64 / 1e9),
        rate => format!("{} M", rate as f64 / 1e6),
    };
    Cell::Number(bits_per_second as f64, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_named_as_people_name_them() {
        let named =
            [100_000_000, 1_000_000_000, 2_500_000_000, 25_000_000_000].map(|rate| line(rate).plain());
        assert_eq!(named, ["100 M", "1 G", "2.5 G", "25 G"]);
    }
}
