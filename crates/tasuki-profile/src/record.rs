//! What one process has counted, as it tells rank 0.

use serde::{Deserialize, Serialize};

use crate::words::Words;

/// What one process has counted. Times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its rank.
    pub rank: u32,
    /// Threads that ran the program in it.
    pub threads: u32,
    /// Time from the program's start to its end.
    pub ns: u64,
    /// Regions in the order of their first time; the first one is what lies between parallel regions.
    pub regions: Vec<RegionSum>,
    /// Faults, by place in the program and page.
    pub faults: Vec<FaultSum>,
    /// Pages that came or were asked for.
    pub pages: Vec<PageSum>,
    /// Blocks of a page or more that the process has allocated.
    pub blocks: Vec<Block>,
    /// Faults that are in [`Record::regions`] alone, because there were too many places.
    pub untold: u64,
}

/// A parallel region, or what lies between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionSum {
    /// The address of its function; 0: outside of parallel regions.
    pub function: u64,
    /// How often it was entered.
    pub times: u64,
    /// Time in it, of the process's first thread.
    pub ns: u64,
    /// Of this, time at barriers.
    pub barrier_ns: u64,
    /// Time for which threads waited for locks.
    pub lock_ns: u64,
    /// Time for which threads waited for pages.
    pub page_ns: u64,
    /// Pages for which threads waited.
    pub faults: u64,
}

/// Faults at one place of the program, in one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultSum {
    /// The instruction; 0: unknown.
    pub at: u64,
    /// The region's function; 0: outside of parallel regions.
    pub region: u64,
    /// The page's first address.
    pub page: u64,
    /// The threads wrote.
    pub writes: bool,
    /// How many.
    pub count: u64,
    /// Time for which threads waited.
    pub ns: u64,
}

/// A page as one process saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSum {
    /// Its first address.
    pub page: u64,
    /// The process was the first one to touch it, in this region: a function's address, or 0.
    pub first_in: Option<u64>,
    /// The first address for which a thread waited, and whether it wrote.
    pub touched: Option<(u64, bool)>,
    /// How often a thread waited for the page.
    pub faults: u64,
    /// How often it came before a thread waited.
    pub early: u64,
    /// What the process did with it; `None` if it came once at most.
    pub words: Option<PageWords>,
}

/// Words that a process has used of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageWords {
    /// Words that it has read while the page was not here.
    pub read: Words,
    /// Words that it has written or changed.
    pub written: Words,
}

impl PageWords {
    /// One word.
    pub fn of(address: u64, writes: bool) -> PageWords {
        let mut words = PageWords::default();
        words.add(address, writes);
        words
    }

    /// Adds the word of an address.
    pub fn add(&mut self, address: u64, writes: bool) {
        let set = if writes { &mut self.written } else { &mut self.read };
        set.insert(address);
    }
}

impl PageSum {
    /// How often the page came.
    pub fn moves(&self) -> u64 {
        self.faults + self.early
    }

    /// What the process did with the page, as far as it is known.
    pub fn used(&self) -> PageWords {
        let first =
            || self.touched.map_or(PageWords::default(), |(address, writes)| PageWords::of(address, writes));
        self.words.unwrap_or_else(first)
    }
}

/// Memory that the program has allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its first address.
    pub start: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The call that allocated it: an address in the call's instruction; 0: unknown.
    pub from: u64,
}

impl Record {
    /// The record in bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        // The types have lengths that are known and no maps with other keys, so that nothing can fail.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// A record of bytes; `None` if it is none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Record> {
        postcard::from_bytes(bytes).ok()
    }
}
