//! The packets that were sent on a path and what they carried, kept until it is known whether each arrived.

use std::collections::VecDeque;

use tasuki_tuning::loss;

use crate::time::Time;

/// A piece of the connection's stream of positions that a packet carries: positions `pos..pos + len`, which
/// belong to chunk `chunk` of the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub chunk: u64,
    pub pos: u64,
    pub len: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Under way: neither acknowledged nor declared lost.
    Flight,
    /// Acknowledged.
    Acked,
    /// Declared lost; its entries have been queued to be sent again.
    Lost,
    /// The loss of the packet has no consequence, so it is not tracked: packets of acknowledgements alone,
    /// probes.
    Untracked,
}

/// Frames without a position that the packet carries and that are repeated until the peer is known to have
/// them.
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
    /// Count, since the beginning, of received packets with new content up to which this packet acknowledges
    /// all of them; 0: it acknowledges none.
    pub acknowledges: u64,
    /// Number of the first entry, counted since the beginning.
    pub at: u64,
}

/// The sent packets of one path, with the numbers `first..next`.
#[derive(Default)]
pub(crate) struct SentQueue {
    packets: VecDeque<Sent>,
    entries: VecDeque<Entry>,
    first: u64,
    first_entry: u64,
    /// No packet with a lower number is in flight: the search for lost packets begins here.
    pub oldest: u64,
}

impl SentQueue {
    pub fn next_number(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    pub fn first_number(&self) -> u64 {
        self.first
    }

    /// Forgets all packets, but not how many there were.
    pub fn forget(&mut self) {
        *self = SentQueue { first: self.next_number(), ..SentQueue::default() };
    }

    /// Adds an entry to the packet that `push` will add next.
    pub fn add(&mut self, entry: Entry) {
        self.entries.push_back(entry);
    }

    /// Number of entries added since the last packet was pushed.
    pub fn added(&self) -> u32 {
        let known = self.packets.back().map_or(self.first_entry, |sent| sent.at + u64::from(sent.entries));
        (self.first_entry + self.entries.len() as u64 - known) as u32
    }

    /// Adds a packet, with all entries that were added since the packet before it.
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

    /// Forgets packets at the front whose fate is settled. Lost ones are kept until so many packets after
    /// them are settled, too, because an acknowledgement of one may be on its way.
    pub fn settle(&mut self) {
        let oldest = self.oldest_in_flight().unwrap_or(self.next_number());
        while let Some(front) = self.packets.front() {
            let done = match front.fate {
                Fate::Flight => false,
                Fate::Acked | Fate::Untracked => true,
                Fate::Lost => oldest - self.first > loss::KEPT_LOST,
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
