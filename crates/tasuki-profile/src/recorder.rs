//! What happens in one process, as sums.

use std::collections::{BTreeMap, HashMap};

use crate::record::{Block, FaultSum, PageSum, PageWords, Record, RegionSum};
use crate::words::{PAGE, Words};

/// Places (an instruction and a page) that are told apart: some 100 MB.
const PLACES_MAX: usize = 1 << 20;
/// Copies of pages that are kept to find what a process changes in them: 64 MB.
const TWINS_MAX: usize = 1 << 14;
/// Blocks of allocated memory that are known by name.
const BLOCKS_MAX: usize = 1 << 16;

/// A thread has touched a page that it may not use so, and waits.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What it touched.
    pub address: u64,
    /// It writes.
    pub writes: bool,
    /// The instruction; 0: unknown.
    pub at: u64,
}

/// What a thread waits for, beside pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Other threads of the team.
    Barrier,
    /// A lock or a critical section.
    Lock,
}

/// Counts what happens in one process. Moments are in nanoseconds from any beginning.
pub struct Recorder {
    rank: u32,
    threads: u32,
    began: u64,
    /// Regions, and the index of each by its function.
    regions: Vec<RegionSum>,
    by_function: HashMap<u64, usize>,
    /// The region in which the process is, and since when.
    now_in: (usize, u64),
    places: HashMap<Place, Sum>,
    pages: HashMap<u64, Page>,
    twins: usize,
    blocks: BTreeMap<u64, Block>,
    untold: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    at: u64,
    region: u64,
    page: u64,
    writes: bool,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    ns: u64,
}

/// A page in this process.
#[derive(Default)]
struct Page {
    /// Threads that wait for it: region, fault, since when.
    waiting: Vec<(usize, Fault, u64)>,
    first_in: Option<u64>,
    /// The first fault, whose word is noted once there is a second one: most pages come once.
    first: Option<Fault>,
    faults: u64,
    early: u64,
    /// It was here and has gone, or may not be written any more.
    has_left: bool,
    words: Option<Box<PageWords>>,
    /// The page as it was when it could be written for the first time since it came.
    twin: Option<Box<[u8]>>,
}

impl Recorder {
    /// The recorder of a process whose program begins now, outside of parallel regions.
    pub fn new(rank: u32, threads: u32, now: u64) -> Recorder {
        Recorder {
            rank,
            threads,
            began: now,
            regions: vec![RegionSum { times: 1, ..RegionSum::default() }],
            by_function: HashMap::from([(0, 0)]),
            now_in: (0, now),
            places: HashMap::new(),
            pages: HashMap::new(),
            twins: 0,
            blocks: BTreeMap::new(),
            untold: 0,
        }
    }

    /// The process comes to a region, by the address of its function; 0: it has left one.
    pub fn enter(&mut self, function: u64, now: u64) {
        let (index, since) = self.now_in;
        self.regions[index].ns += now.saturating_sub(since);
        let next = self.regions.len();
        let index = *self.by_function.entry(function).or_insert(next);
        if index == next {
            self.regions.push(RegionSum { function, ..RegionSum::default() });
        }
        self.regions[index].times += u64::from(function != 0);
        self.now_in = (index, now);
    }

    /// A thread has waited for so many nanoseconds.
    pub fn waited(&mut self, wait: Wait, ns: u64) {
        let region = &mut self.regions[self.now_in.0];
        match wait {
            Wait::Barrier => region.barrier_ns += ns,
            Wait::Lock => region.lock_ns += ns,
        }
    }

    /// A thread waits for a page from now on.
    pub fn fault(&mut self, fault: Fault, now: u64) {
        let page = self.pages.entry(first_of(fault.address)).or_default();
        page.waiting.push((self.now_in.0, fault, now));
    }

    /// A page is here, and may be written if `writes`. `fresh`: no process had touched it before. `bytes`:
    /// what it holds.
    pub fn arrived(&mut self, address: u64, writes: bool, fresh: bool, bytes: &[u8], now: u64) {
        let start = first_of(address);
        let region = self.regions[self.now_in.0].function;
        let page = self.pages.entry(start).or_default();
        page.early += u64::from(page.waiting.is_empty());
        for (index, fault, since) in page.waiting.drain(..) {
            page.faults += 1;
            note_words(page.first, &mut page.words, &fault);
            page.first.get_or_insert(fault);
            let ns = now.saturating_sub(since);
            let region = &mut self.regions[index];
            (region.faults, region.page_ns) = (region.faults + 1, region.page_ns + ns);
            let place = Place { at: fault.at, region: region.function, page: start, writes: fault.writes };
            if self.places.len() >= PLACES_MAX && !self.places.contains_key(&place) {
                self.untold += 1;
                continue;
            }
            let sum = self.places.entry(place).or_default();
            (sum.count, sum.ns) = (sum.count + 1, sum.ns + ns);
        }
        if fresh {
            page.first_in = Some(region);
        }
        if writes && page.has_left && page.twin.is_none() && self.twins < TWINS_MAX {
            page.twin = Some(bytes.into());
            self.twins += 1;
        }
    }

    /// Threads that wait for a page need not wait: it is here.
    pub fn was_here(&mut self, address: u64) {
        if let Some(page) = self.pages.get_mut(&first_of(address)) {
            page.waiting.clear();
        }
    }

    /// A page may not be written any more, with these bytes in it.
    pub fn leaves(&mut self, address: u64, bytes: &[u8]) {
        let page = self.pages.entry(first_of(address)).or_default();
        page.has_left = true;
        if let Some(twin) = page.twin.take() {
            self.twins -= 1;
            let first =
                page.first.map_or(PageWords::default(), |first| PageWords::of(first.address, first.writes));
            let words = page.words.get_or_insert_with(|| Box::new(first));
            words.written.add(&Words::changed(&twin, bytes));
        }
    }

    /// A copy of a page that could only be read is gone.
    pub fn is_gone(&mut self, address: u64) {
        self.pages.entry(first_of(address)).or_default().has_left = true;
    }

    /// The program has allocated memory by the call at this address.
    pub fn allocated(&mut self, start: u64, bytes: u64, from: u64) {
        if self.blocks.len() < BLOCKS_MAX {
            self.blocks.insert(start, Block { start, bytes, from });
        }
    }

    /// What was counted up to now.
    pub fn finish(&mut self, now: u64) -> Record {
        let function = self.regions[self.now_in.0].function;
        self.enter(function, now);
        let fault = |(place, sum): (&Place, &Sum)| FaultSum {
            at: place.at,
            region: place.region,
            page: place.page,
            writes: place.writes,
            count: sum.count,
            ns: sum.ns,
        };
        let page = |(start, page): (&u64, &Page)| PageSum {
            page: *start,
            first_in: page.first_in,
            touched: page.first.map(|fault| (fault.address, fault.writes)),
            faults: page.faults,
            early: page.early,
            words: page.words.as_deref().copied(),
        };
        let mut faults: Vec<FaultSum> = self.places.iter().map(fault).collect();
        faults.sort_by_key(|fault| (fault.page, fault.at, fault.region, fault.writes));
        let mut pages: Vec<PageSum> = self.pages.iter().map(page).collect();
        pages.sort_by_key(|page| page.page);
        Record {
            rank: self.rank,
            threads: self.threads,
            ns: now.saturating_sub(self.began),
            regions: self.regions.clone(),
            faults,
            pages,
            blocks: self.blocks.values().copied().collect(),
            untold: self.untold,
        }
    }
}

/// Notes which word a fault was for, and that of the first fault before it.
fn note_words(first: Option<Fault>, words: &mut Option<Box<PageWords>>, fault: &Fault) {
    let Some(first) = first else { return };
    let words = words.get_or_insert_with(|| Box::new(PageWords::of(first.address, first.writes)));
    words.add(fault.address, fault.writes);
}

fn first_of(address: u64) -> u64 {
    address / PAGE as u64 * PAGE as u64
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
