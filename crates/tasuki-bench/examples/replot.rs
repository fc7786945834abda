//! Draws the plots of records that were written as JSON: `replot RECORDS.json FOLDER`.

use std::{error::Error, path::PathBuf};
use tasuki_bench::{Machine, Record, Report};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let records: Vec<Record> =
        serde_json::from_str(&std::fs::read_to_string(words.next().ok_or("which records?")?)?)?;
    let folder = PathBuf::from(words.next().ok_or("which folder?")?);
    let report = Report { machine: Machine::here(), records, failures: Vec::new(), interrupted: false };
    for test in report.tests() {
        if let Some(plot) = report.svg(test)? {
            std::fs::write(folder.join(format!("{test}.svg")), plot)?;
        }
    }
    print!("{}", report.table());
    Ok(())
}
