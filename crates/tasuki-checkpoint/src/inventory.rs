//! Which images lie in whose folder.

use std::collections::BTreeSet;

use crate::error::Error;
use crate::folder::{Folder, Line, Stamp};
use crate::group::{self, Group, GroupError};

/// An image of a process, in the folder of one that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    holder: usize,
    stamp: Stamp,
    rank: usize,
    size: u32,
    bytes: u64,
}

const WORDS: usize = 4;

/// What all processes have found.
#[derive(Debug)]
pub struct Inventory {
    size: usize,
    entries: Vec<Entry>,
    /// Epochs of which some process knows that they were finished.
    finished: Vec<Stamp>,
    /// What is wrong with images that do not count.
    pub complaints: Vec<String>,
}

impl Inventory {
    /// Asks all processes what is in their folders.
    ///
    /// # Errors
    /// A folder cannot be read, the program's functions fail, or the newest epoch is of a program with
    /// another number of processes.
    pub fn gather(group: &mut impl Group, folder: &Folder, host: &str) -> Result<Inventory, Error> {
        let looked = folder.find().and_then(|found| Ok((found, folder.marked()?)));
        let ((heads, complaints), marked) = group::agree(group, host, looked)?;
        let words: Vec<u64> = heads
            .iter()
            .flat_map(|head| {
                let ranks = u64::from(head.rank) << 32 | u64::from(head.size);
                [head.stamp.epoch, head.stamp.drawn, ranks, head.image_bytes()]
            })
            .collect();
        let marks: Vec<u64> = marked.iter().flat_map(|stamp| [stamp.epoch, stamp.drawn]).collect();
        let told = group::bytes(group, &group::to_bytes(&words))?;
        let marks = group::bytes(group, &group::to_bytes(&marks))?.concat();
        let texts = group::bytes(group, complaints.join("\n").as_bytes())?;
        let mut inventory = Inventory {
            size: group.size(),
            entries: Vec::new(),
            finished: group::to_words(&marks).chunks_exact(2).map(stamp).collect(),
            complaints: texts.iter().flat_map(|text| lines(text)).collect(),
        };
        for (holder, words) in told.iter().enumerate() {
            inventory.add(holder, &group::to_words(words));
        }
        inventory.leave_out(group, folder)?;
        let newest = inventory.newest();
        let newest = inventory.entries.iter().find(|entry| Some(entry.stamp) == newest);
        match newest.filter(|entry| entry.size as usize != inventory.size) {
            Some(other) => {
                Err(Error::Size { path: folder.path().to_owned(), theirs: other.size, ours: inventory.size })
            }
            None => Ok(inventory),
        }
    }

    fn add(&mut self, holder: usize, words: &[u64]) {
        for words in words.chunks_exact(WORDS) {
            let (rank, size) = ((words[2] >> 32) as usize, words[2] as u32);
            self.entries.push(Entry { holder, stamp: stamp(words), rank, size, bytes: words[3] });
        }
    }

    /// Forgets and removes epochs of lines that some process knows to be over: they lie on hosts that were
    /// away when the program reached its end. What is removed here is from now on known here, too.
    fn leave_out(&mut self, group: &mut impl Group, folder: &Folder) -> Result<(), GroupError> {
        let stamps = self.entries.iter().map(|entry| entry.stamp).chain(self.finished.iter().copied());
        let seen: BTreeSet<Line> = stamps.map(|stamp| stamp.line()).collect();
        let known: Vec<u64> =
            folder.over().into_iter().filter(|line| seen.contains(line)).map(u64::from).collect();
        let told = group::bytes(group, &group::to_bytes(&known))?.concat();
        let over: BTreeSet<Line> = group::to_words(&told).into_iter().map(|line| line as Line).collect();
        self.entries.retain(|entry| !over.contains(&entry.stamp.line()));
        self.finished.retain(|stamp| !over.contains(&stamp.line()));
        // Where it cannot be noted, some other process knows it.
        let _ = folder.end(&over);
        folder.remove(&over);
        Ok(())
    }

    /// The newest epoch of which there is an image. Of two tries of one epoch it is the one that is marked,
    /// because the program was told that this one is saved.
    pub fn newest(&self) -> Option<Stamp> {
        let stamps = self.entries.iter().map(|entry| entry.stamp);
        stamps.max_by_key(|stamp| (stamp.epoch, self.finished.contains(stamp), stamp.drawn))
    }

    /// Whether any epoch is known to have been finished once.
    pub fn was_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// For each process, by rank, one that has its image of an epoch: itself, if it can be.
    ///
    /// # Errors
    /// The processes whose image nobody has.
    pub fn holders(&self, stamp: Stamp) -> Result<Vec<usize>, Vec<usize>> {
        let of = |rank: usize| {
            let mut have =
                self.entries.iter().filter(move |entry| entry.stamp == stamp && entry.rank == rank);
            let own = have.clone().find(|entry| entry.holder == rank);
            own.or_else(|| have.next()).map(|entry| entry.holder)
        };
        let holders: Vec<Option<usize>> = (0..self.size).map(of).collect();
        let missing: Vec<usize> = (0..self.size).filter(|rank| holders[*rank].is_none()).collect();
        if missing.is_empty() { Ok(holders.into_iter().flatten().collect()) } else { Err(missing) }
    }

    /// Bytes of a process's image.
    pub fn bytes(&self, stamp: Stamp, rank: usize) -> u64 {
        let mut of = self.entries.iter().filter(|entry| entry.stamp == stamp && entry.rank == rank);
        of.next().map_or(0, |entry| entry.bytes)
    }

    /// Forgets an image that has proved to be damaged.
    pub fn strike(&mut self, stamp: Stamp, rank: usize, holder: usize) {
        self.entries.retain(|entry| (entry.stamp, entry.rank, entry.holder) != (stamp, rank, holder));
    }

    /// Forgets an epoch that cannot be used.
    pub fn forget(&mut self, stamp: Stamp) {
        self.entries.retain(|entry| entry.stamp != stamp);
    }
}

fn stamp(words: &[u64]) -> Stamp {
    Stamp { epoch: words[0], drawn: words[1] }
}

/// The lines of a text that another process has sent.
pub fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}
