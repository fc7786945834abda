//! Lines of the program, and what they wait for.

use std::collections::HashMap;

use serde::Serialize;

use crate::arrays::Arrays;
use crate::names::{Code, Names};
use crate::record::Record;

/// A line of the program whose threads wait for pages of an array.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// File and line, or the function where lines are not known.
    pub place: String,
    /// Threads wrote there; otherwise they read.
    pub writes: bool,
    /// What they wanted.
    pub array: String,
    /// Pages for which they waited.
    pub faults: u64,
    /// How long they waited, s.
    pub seconds: f64,
}

/// Places of code by address, each looked up once.
pub(crate) struct Places<'a> {
    names: &'a dyn Names,
    known: HashMap<u64, Code>,
}

impl<'a> Places<'a> {
    pub fn new(names: &'a dyn Names) -> Places<'a> {
        Places { names, known: HashMap::new() }
    }

    pub fn code(&mut self, address: u64) -> &Code {
        self.known.entry(address).or_insert_with(|| self.names.code(address))
    }

    /// Where threads were at a fault in a region: of a library's code, the region is told too.
    fn of_fault(&mut self, at: u64, region: u64) -> String {
        let own = (region != 0).then(|| self.code(region).clone());
        let code = self.code(at);
        match own {
            Some(own) if !code.file.is_empty() && code.file != own.file => {
                format!("{} in {}", code.place(), own.place())
            }
            Some(own) if code.file.is_empty() => own.place(),
            None if code.file.is_empty() => "between regions".to_owned(),
            _ => code.place(),
        }
    }
}

/// All lines, the most waited for first.
pub(crate) fn lines(records: &[Record], arrays: &Arrays, places: &mut Places) -> Vec<Line> {
    let mut lines: HashMap<(String, bool, &str), (u64, u64)> = HashMap::new();
    for fault in records.iter().flat_map(|record| &record.faults) {
        let Some(array) = arrays.of_page(fault.page) else { continue };
        let place = places.of_fault(fault.at, fault.region);
        let sum = lines.entry((place, fault.writes, &array.name)).or_default();
        *sum = (sum.0 + fault.count, sum.1 + fault.ns);
    }
    let line = |((place, writes, array), (faults, ns)): ((String, bool, &str), (u64, u64))| Line {
        place,
        writes,
        array: array.to_owned(),
        faults,
        seconds: ns as f64 / 1e9,
    };
    let mut lines: Vec<Line> = lines.into_iter().map(line).collect();
    lines.sort_by(|one, other| {
        let key = |line: &Line| (line.place.clone(), line.writes, line.array.clone());
        other.seconds.total_cmp(&one.seconds).then_with(|| key(one).cmp(&key(other)))
    });
    lines
}
