//! Plots of striped streams over the number of NICs.

use super::{Cabling, Spreading, StripeRecord, StripeReport};
use crate::{
    plot::{Panel, PlotError, lines},
    raw::Streamed,
};

impl StripeReport {
    /// Names and SVG texts of the plots: bandwidth and the load of the receiver's processor over the number
    /// of NICs, with one file for each length of messages and speed of the processor.
    pub fn charts(&self) -> Result<Vec<(String, String)>, PlotError> {
        let mut keys: Vec<(u32, bool)> = Vec::new();
        for case in self.records.iter().map(|record| &record.case) {
            let key = (case.bytes, case.quota_percent.is_some());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let chart = |(bytes, slow): (u32, bool)| {
            let name = format!("stripe-{bytes}-{}.svg", if slow { "slow" } else { "fast" });
            Ok((name, lines(&self.panels(bytes, slow))?))
        };
        keys.into_iter().map(chart).collect()
    }

    fn panels(&self, bytes: u32, slow: bool) -> Vec<Panel> {
        let mut panels = Vec::new();
        for cabling in Cabling::ALL {
            let here = |record: &&StripeRecord| {
                let case = &record.case;
                (case.bytes, case.quota_percent.is_some(), case.cabling) == (bytes, slow, cabling)
            };
            let records: Vec<_> = self.records.iter().filter(here).collect();
            if records.is_empty() {
                continue;
            }
            let title = |what: &str| {
                format!("{cabling}, {bytes} bytes{}: {what}", if slow { ", slow CPU" } else { "" })
            };
            let panel = |what: &str, y: &str, figure: &dyn Fn(&StripeRecord) -> Option<f64>| Panel {
                title: title(what),
                x: "NICs".into(),
                y: y.into(),
                curves: curves(&records, figure),
            };
            panels.push(panel("bandwidth", "MB/s", &|record| {
                Some(record.summary(Streamed::bytes_per_second)?.median / 1e6)
            }));
            panels.push(panel("receiver's processor", "%", &|record| {
                let spent = record.of_side(|sample| &sample.receiver)?;
                Some(spent.core.unwrap_or(spent.process))
            }));
        }
        panels
    }
}

/// A curve for each spreading, which begins at one NIC.
fn curves(
    records: &[&StripeRecord],
    figure: &dyn Fn(&StripeRecord) -> Option<f64>,
) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut spreadings: Vec<Spreading> = Vec::new();
    for spreading in
        records.iter().map(|record| record.case.spreading).filter(|spreading| *spreading != Spreading::One)
    {
        if !spreadings.contains(&spreading) {
            spreadings.push(spreading);
        }
    }
    let point = |record: &&&StripeRecord| Some((f64::from(record.case.nics), figure(record)?));
    let of = |spreading: Spreading| {
        let of_spreading =
            records.iter().filter(|record| [spreading, Spreading::One].contains(&record.case.spreading));
        let mut points: Vec<_> = of_spreading.filter_map(|record| point(&record)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (spreading.to_string(), points)
    };
    if spreadings.is_empty() {
        spreadings.push(Spreading::One);
    }
    spreadings.into_iter().map(of).collect()
}
