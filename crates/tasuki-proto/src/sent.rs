//! Packets that were sent on a path and what they carried, until their fate is known.

use std::collections::VecDeque;

use crate::time::Time;

/// Lost packets are remembered until the queue holds so many, so that a late acknowledgement is recognised.
const KEPT_LOST: usize = 64;

/// A part of what is to be delivered: positions `pos..pos + len` of chunk `chunk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub chunk: u64,
    pub pos: u64,
    pub len: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Under way.
    Flight,
    /// Arrived.
    Acked,
    /// Declared lost; its entries were queued again.
    Lost,
    /// Asks for no acknowledgement, or nobody minds: acknowledgements alone, probes.
    Untracked,
}

/// Frames that are said until they are heard, besides entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Says {
    pub welcome: bool,
    pub rails: bool,
    pub ping: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub time: Time,
    pub bytes: u32,
    pub entries: u32,
    pub fate: Fate,
    pub says: Says,
    /// Packets with content from the peer that this packet has acknowledged, all of them up to this count; 0: none.
    pub acknowledges: u64,
    /// Absolute place of the first entry.
    pub at: u64,
}

/// The packets of one path, numbers `first..next`.
#[derive(Default)]
pub(crate) struct SentQueue {
    packets: VecDeque<Sent>,
    entries: VecDeque<Entry>,
    first: u64,
    first_entry: u64,
    /// No packet below is in flight: where the search for lost ones begins.
    pub oldest: u64,
}

impl SentQueue {
    pub fn next_number(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    pub fn first_number(&self) -> u64 {
        self.first
    }

    /// Adds an entry to the packet that will be pushed next.
    pub fn add(&mut self, entry: Entry) {
        self.entries.push_back(entry);
    }

    /// Entries added since the last packet.
    pub fn added(&self) -> u32 {
        let known = self.packets.back().map_or(self.first_entry, |sent| sent.at + u64::from(sent.entries));
        (self.first_entry + self.entries.len() as u64 - known) as u32
    }

    /// Notes a packet with all entries that were added.
    pub fn push(&mut self, mut sent: Sent) {
        sent.entries = self.added();
        sent.at = self.first_entry + self.entries.len() as u64 - u64::from(sent.entries);
        self.packets.push_back(sent);
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut Sent> {
        let at = number.checked_sub(self.first)?;
        self.packets.get_mut(usize::try_from(at).ok()?)
    }

    pub fn entry(&self, at: u64) -> Option<Entry> {
        self.entries.get(usize::try_from(at.checked_sub(self.first_entry)?).ok()?).copied()
    }

    /// The number of the oldest packet in flight.
    pub fn oldest_in_flight(&mut self) -> Option<u64> {
        let mut number = self.oldest.max(self.first);
        while self.get_mut(number)?.fate != Fate::Flight {
            number += 1;
            self.oldest = number;
        }
        Some(number)
    }

    /// Forgets packets at the front whose fate is settled.
    pub fn settle(&mut self) {
        while let Some(front) = self.packets.front() {
            let done = match front.fate {
                Fate::Flight => false,
                Fate::Acked | Fate::Untracked => true,
                Fate::Lost => self.packets.len() > KEPT_LOST,
            };
            if !done {
                break;
            }
            for _ in 0..front.entries {
                self.entries.pop_front();
                self.first_entry += 1;
            }
            self.packets.pop_front();
            self.first += 1;
        }
    }
}
