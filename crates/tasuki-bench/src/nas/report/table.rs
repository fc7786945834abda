//! The table of the kernels' figures, and warnings.

use super::{Kernel, NasRecord, NasReport};
use crate::{ending, figure::significant, stats::PairedRatio, table::plain};
use comfy_table::{Cell, CellAlignment, Table};
use std::fmt::Write;

impl NasReport {
    /// A table for a terminal; `baseline` names the stack that a stack is compared with.
    pub fn table(&self, baseline: impl Fn(&str) -> Option<String>) -> String {
        self.text((!self.cases.is_empty()).then(|| self.body(&baseline)), "")
    }

    /// The text for a terminal: the machine, the table, notes, warnings and failures.
    pub(in crate::nas) fn text(&self, body: Option<Table>, notes: &str) -> String {
        let mut text = format!("{}\n", self.machine);
        if let Some(body) = body {
            let _ = write!(text, "{body}\n{notes}");
        }
        for warning in self.warnings() {
            let _ = writeln!(text, "warning: {warning}");
        }
        text + &ending(&self.failures, self.interrupted)
    }

    fn body(&self, baseline: &impl Fn(&str) -> Option<String>) -> Table {
        let mut table = plain();
        let first = self.first_network().unwrap_or_default();
        let networks = self.cases.iter().any(|(case, _)| case.network != first);
        let mut header = vec![
            "kernel",
            "class",
            "ranks",
            "hosts",
            "network",
            "stack",
            "Mop/s",
            "p10",
            "p90",
            "seconds",
            "CPU s",
            "verified",
            "one host = 1",
            "against its own TCP",
        ];
        let against = format!("against {first}");
        if networks {
            header.extend([against.as_str(), "published"]);
        }
        let linpack = self.cases.iter().any(|(case, _)| case.kernel == Kernel::Linpack);
        if linpack {
            header.extend(["of peak", "of DGEMM"]);
        }
        table.set_header(header);
        for (case, outcomes) in &self.cases {
            let Some(record) = self.record(case, outcomes) else { continue };
            let gain = baseline(&case.stack).and_then(|stack| self.against(case, &stack));
            let mut cells = row(&record, gain);
            let shares = [record.of_peak, record.of_dgemm];
            if networks {
                let gain = record.against.as_ref().map(ToString::to_string);
                let published = record.against.and_then(|against| against.published);
                cells.push(Cell::new(gain.unwrap_or("-".into())));
                cells.push(Cell::new(published.map_or("-".into(), |gain| format!("{gain} x"))));
            }
            if linpack {
                let percent =
                    |share: Option<f64>| share.map_or("-".into(), |it| format!("{:.1} %", it * 100.0));
                cells.extend(shares.map(percent).map(Cell::new));
            }
            table.add_row(cells);
        }
        table
    }

    /// Warnings about cases in which several hosts are slower than one.
    pub fn warnings(&self) -> Vec<String> {
        let slower = |record: &NasRecord| record.speedup.is_some_and(|speedup| speedup < 1.0);
        let words = |record: NasRecord| {
            let NasRecord { kernel, class, stack, network, hosts, speedup, break_even_bit_s, .. } = record;
            let share = speedup.unwrap_or(0.0);
            let from = break_even_bit_s.map(|rate| {
                format!(
                    "; with a processor each they beat it from {:.2} Gbit/s per link (computed)",
                    rate / 1e9
                )
            });
            format!(
                "{kernel} {class}: {hosts} hosts on {network} ({stack}) are {share:.2} x as fast as one host \
                 alone{}",
                from.unwrap_or_default()
            )
        };
        self.records().into_iter().filter(slower).map(words).collect()
    }
}

fn row(record: &NasRecord, gain: Option<PairedRatio>) -> Vec<Cell> {
    let figure = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let gain = gain.map_or("-".into(), |gain| gain.to_string());
    vec![
        Cell::new(&record.kernel),
        Cell::new(&record.class),
        figure(record.ranks.to_string()),
        figure(record.hosts.to_string()),
        Cell::new(&record.network),
        Cell::new(&record.stack),
        figure(significant(record.median)),
        figure(significant(record.p10)),
        figure(significant(record.p90)),
        figure(significant(record.seconds)),
        figure(record.cpu_s.map_or("-".into(), significant)),
        Cell::new(if record.verified { "yes" } else { "NO" }),
        figure(record.speedup.map_or("-".into(), |speedup| format!("{speedup:.2} x"))),
        Cell::new(gain),
    ]
}
