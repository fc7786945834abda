//! The table of striped streams.

use super::{Row, StripeReport, Use};
use crate::{
    ending,
    figure::significant,
    stats::Summary,
    table::{plain, with_spread},
};
use comfy_table::{Cell, CellAlignment};
use std::fmt::Write;

impl StripeReport {
    /// The results as a table for a terminal.
    pub fn table(&self) -> String {
        let machine = &self.machine;
        let mut text =
            format!("{} x {}, {}, as {}\n", machine.cores, machine.cpu, machine.kernel, machine.user);
        let several = self.records.iter().any(|record| record.case.streams > 1);
        let mut table = plain();
        let mut header =
            vec!["network", "way", "NICs", "bytes", "CPU", "MB/s (p10 to p90)", "of line", "of one NIC"];
        header.extend(["sender CPU", "receiver CPU", "out of order", "resent"]);
        header.extend(several.then_some("Jain"));
        header.push("published");
        table.set_header(header);
        for record in &self.records {
            table.add_row(cells(&self.row(record), several));
        }
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{table}");
        text += LEGEND;
        text.extend(self.notes.iter().map(|note| format!("warning: {note}\n")));
        text + &ending(&self.failures, self.interrupted)
    }
}

/// Explanations below the table.
const LEGEND: &str = "MB are 10^6 bytes, of payload; of line: of what TCP's segments can carry. CPU: the \
    side's process / its processor with everything on it, in % of one processor.\nof one NIC: ratios of the \
    same repetitions. Published: NIC distribution paper, 100 Mbit/s, its MB of 2^20 bytes converted.\n";

fn cells(row: &Row<'_>, several: bool) -> Vec<Cell> {
    let case = &row.record.case;
    let word = |text: String| Cell::new(text);
    let figure =
        |text: Option<String>| Cell::new(text.unwrap_or("-".into())).set_alignment(CellAlignment::Right);
    let percent = |value: f64| format!("{value:.0} %");
    let spent = |spent: Use| match spent.core {
        Some(core) => format!("{:.0} / {core:.0} %", spent.process),
        None => percent(spent.process),
    };
    let range = |it: Summary| with_spread(&it);
    let share = |it: Summary| format!("{} %", significant(it.median));
    let mut cells = vec![
        word(case.cabling.to_string()),
        word(case.spreading.to_string()),
        figure(Some(case.nics.to_string())),
        figure(Some(case.bytes.to_string())),
        word(case.quota_percent.map_or("fast".into(), |quota| format!("slow, {quota:.1} %"))),
        figure(row.mb_per_s.map(range)),
        figure(row.of_line.map(|share| percent(100.0 * share))),
        word(row.against_one_nic.map_or("-".into(), |ratio| ratio.to_string())),
        figure(row.sender_percent.map(spent)),
        figure(row.receiver_percent.map(spent)),
        figure(row.out_of_order_percent.map(share)),
        figure(row.resent_percent.map(share)),
    ];
    if several {
        cells.push(figure(row.fairness.map(|it| format!("{:.2}", it.median))));
    }
    cells.push(word(row.published.map_or(String::new(), |it| match it.bytes_per_second {
        Some(rate) => format!("{:.1} MB/s: {}", rate / 1e6, it.says),
        None => it.says.into(),
    })));
    cells
}
