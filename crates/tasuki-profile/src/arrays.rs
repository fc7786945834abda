//! Arrays and other variables: which pages of each move between processes, and why.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde::Serialize;

use crate::names::{Area, Kind, Names};
use crate::record::{Block, PageSum, Record};
use crate::sharing::Sharing;
use crate::words::Words;

/// Parts of an array in its map.
const PARTS: usize = 96;
/// Names of variables of one page that are told.
const NAMES_MAX: usize = 3;

/// A variable, a block of memory or several that lie in the same pages.
#[derive(Clone, Debug, Serialize)]
pub struct Array {
    /// Its name; of allocated memory, where that was done.
    pub name: String,
    /// Bytes; of several blocks that were allocated at the same place, of all.
    pub bytes: u64,
    /// Faults of threads that read.
    pub reads: u64,
    /// Faults of threads that wrote.
    pub writes: u64,
    /// Time for which threads waited for its pages, s.
    pub seconds: f64,
    /// Pages by the reason for which they moved, the most waited for first.
    pub pages: Vec<Pages>,
    /// Seconds of waiting by process, and by part of the array from its first byte to its last.
    pub map: Vec<Vec<f64>>,
    /// What it is.
    #[serde(skip)]
    pub kind: Kind,
    /// Where its parts lie: where each one begins, and where it ends.
    #[serde(skip)]
    parts: BTreeMap<u64, u64>,
}

/// Pages of an array that moved for the same reason.
#[derive(Clone, Debug, Serialize)]
pub struct Pages {
    /// Why they moved.
    pub why: Sharing,
    /// How many pages.
    pub pages: u64,
    /// How often threads waited for them.
    pub faults: u64,
    /// How often they came before a thread waited.
    pub early: u64,
    /// Time for which threads waited for them, s.
    pub seconds: f64,
    /// Of this, for pages that were filled outside of parallel regions before other processes used them, s.
    pub filled_alone: f64,
    /// Of this, by the thread that runs outside of parallel regions, s.
    pub used_alone: f64,
}

/// All arrays, and to which one a page counts.
pub(crate) struct Arrays {
    all: Vec<Array>,
    by_page: HashMap<u64, usize>,
}

/// Something that has a name.
#[derive(Clone, PartialEq)]
struct Thing {
    name: String,
    kind: Kind,
    range: Range<u64>,
}

/// A page as all processes have seen it.
#[derive(Default)]
struct Page<'a> {
    seen: Vec<&'a PageSum>,
    reads: u64,
    writes: u64,
    /// Nanoseconds of waiting by process.
    ns: Vec<u64>,
    /// Of these, outside of parallel regions.
    alone: u64,
}

/// What is known of addresses.
pub(crate) struct Things<'a> {
    names: &'a dyn Names,
    areas: &'a [Area],
    blocks: BTreeMap<u64, Block>,
}

impl<'a> Things<'a> {
    /// The areas are looked at in their order.
    pub fn new(records: &[Record], names: &'a dyn Names, areas: &'a [Area]) -> Things<'a> {
        let blocks = records.iter().flat_map(|record| &record.blocks);
        Things { names, areas, blocks: blocks.map(|block| (block.start, *block)).collect() }
    }

    fn at(&self, address: u64) -> Thing {
        let area = self.areas.iter().find(|area| area.range.contains(&address));
        let of_area =
            |area: &Area| Thing { name: area.name.clone(), kind: area.kind, range: area.range.clone() };
        if let Some(area) = area.filter(|area| area.kind != Kind::Small) {
            return of_area(area);
        }
        let block = self.blocks.range(..=address).next_back().map(|(_, block)| *block);
        if let Some(block) = block.filter(|block| address - block.start < block.bytes) {
            let name = match block.from {
                0 => "allocated memory".to_owned(),
                from => format!("memory of {}", self.names.code(from).place()),
            };
            return Thing { name, kind: Kind::Block, range: block.start..block.start + block.bytes };
        }
        if let Some(area) = area {
            return of_area(area);
        }
        match self.names.data(address) {
            Some(data) => Thing { name: data.name, kind: Kind::Variable, range: data.range },
            None => {
                let name = "data without a name".to_owned();
                Thing { name, kind: Kind::Other, range: address..address + 1 }
            }
        }
    }

    /// Everything in a page that was used.
    fn in_page(&self, start: u64, page: &Page) -> Vec<Thing> {
        let mut used = Words::default();
        page.seen.iter().map(|seen| seen.used()).for_each(|words| {
            used.add(&words.read);
            used.add(&words.written);
        });
        let mut things: Vec<Thing> = Vec::new();
        for address in used.offsets().map(|offset| start + offset) {
            // Most words belong to the same thing as the one before.
            if things.last().is_none_or(|last| !last.range.contains(&address)) {
                let thing = self.at(address);
                if !things.iter().any(|known| known.name == thing.name && known.kind != Kind::Block) {
                    things.push(thing);
                }
            }
        }
        // What has no name is told if there is nothing else.
        if things.iter().any(|thing| thing.kind != Kind::Other) {
            things.retain(|thing| thing.kind != Kind::Other);
        }
        if things.is_empty() { vec![self.at(start)] } else { things }
    }
}

impl Arrays {
    /// Puts pages together to arrays.
    pub fn of(records: &[Record], things: &Things) -> Arrays {
        let mut pages: BTreeMap<u64, Page> = BTreeMap::new();
        for (process, record) in records.iter().enumerate() {
            for sum in &record.pages {
                pages.entry(sum.page).or_default().seen.push(sum);
            }
            for fault in &record.faults {
                let page = pages.entry(fault.page).or_default();
                page.ns.resize(records.len(), 0);
                page.ns[process] += fault.ns;
                page.alone += if fault.region == 0 { fault.ns } else { 0 };
                *(if fault.writes { &mut page.writes } else { &mut page.reads }) += fault.count;
            }
        }
        let mut arrays = Arrays { all: Vec::new(), by_page: HashMap::new() };
        let mut by_name: HashMap<String, usize> = HashMap::new();
        let mut placed: Vec<(usize, Sharing, u64, Page)> = Vec::new();
        for (start, page) in pages {
            let Some(why) = Sharing::of(&page.seen) else { continue };
            let found = things.in_page(start, &page);
            let next = arrays.all.len();
            let index = *by_name.entry(joined(&found)).or_insert(next);
            if index == next {
                arrays.all.push(empty(&found, records.len()));
            }
            let array = &mut arrays.all[index];
            array.widen(&found);
            arrays.by_page.insert(start, index);
            placed.push((index, why, start, page));
        }
        // The maps need all parts of each array.
        placed.iter().for_each(|(index, why, start, page)| arrays.all[*index].take(*why, *start, page));
        arrays
    }

    /// The array to which a page counts.
    pub fn of_page(&self, page: u64) -> Option<&Array> {
        self.by_page.get(&page).map(|&index| &self.all[index])
    }

    /// All of them, the most waited for first.
    pub fn sorted(self) -> Vec<Array> {
        let mut all = self.all;
        all.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        for array in &mut all {
            array.pages.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        }
        all
    }
}

impl Array {
    /// It lies in these parts of the memory, too.
    fn widen(&mut self, things: &[Thing]) {
        for thing in things {
            let known = self.parts.insert(thing.range.start, thing.range.end);
            self.bytes += thing.range.end - known.unwrap_or(thing.range.start);
        }
    }

    /// Bytes of its parts before an address.
    fn before(&self, address: u64) -> u64 {
        let parts = self.parts.range(..=address);
        parts.map(|(start, end)| address.min(*end) - start).sum()
    }

    /// Counts a page.
    fn take(&mut self, why: Sharing, start: u64, page: &Page) {
        let seconds = page.ns.iter().sum::<u64>() as f64 / 1e9;
        self.reads += page.reads;
        self.writes += page.writes;
        self.seconds += seconds;
        let here = self.pages.iter().position(|pages| pages.why == why).unwrap_or_else(|| {
            self.pages.push(Pages {
                why,
                pages: 0,
                faults: 0,
                early: 0,
                seconds: 0.0,
                filled_alone: 0.0,
                used_alone: 0.0,
            });
            self.pages.len() - 1
        });
        let pages = &mut self.pages[here];
        (pages.pages, pages.faults) = (pages.pages + 1, pages.faults + page.reads + page.writes);
        pages.early += page.seen.iter().map(|seen| seen.early).sum::<u64>();
        pages.seconds += seconds;
        pages.used_alone += page.alone as f64 / 1e9;
        if why == Sharing::Once && page.seen.iter().any(|seen| seen.first_in == Some(0)) {
            pages.filled_alone += seconds;
        }
        let before = self.before(start);
        let part = (before as usize * PARTS / self.bytes.max(1) as usize).min(PARTS - 1);
        for (row, ns) in self.map.iter_mut().zip(&page.ns) {
            row[part] += *ns as f64 / 1e9;
        }
    }
}

fn empty(things: &[Thing], processes: usize) -> Array {
    Array {
        name: joined(things),
        bytes: 0,
        reads: 0,
        writes: 0,
        seconds: 0.0,
        pages: Vec::new(),
        map: vec![vec![0.0; PARTS]; processes],
        kind: things[0].kind,
        parts: BTreeMap::new(),
    }
}

/// The names of things that share a page.
fn joined(things: &[Thing]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for thing in things {
        if !names.contains(&thing.name.as_str()) {
            names.push(&thing.name);
        }
    }
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let told = names.join(", ");
    if more > 0 { format!("{told} and {more} more") } else { told }
}
