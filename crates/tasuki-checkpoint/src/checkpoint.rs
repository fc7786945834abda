//! What a program has: one object for each process.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::folder::{Folder, Line, Stamp};
use crate::group::{self, Group, GroupError};
use crate::image::{Head, REGIONS};
use crate::keepers::keepers;
use crate::restore;
use crate::save;
use crate::schedule::Schedule;

/// Bytes that a disk takes in a second, before the first checkpoint has shown it.
const PRESUMED_RATE: f64 = 200e6;

/// How checkpoints are taken. What is not about the host is that of the first process.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where this host's images are to lie. Every host should have a disk of its own.
    pub folder: PathBuf,
    /// The name of this host.
    pub host: String,
    /// What tells this host from others of the same name. Processes with the same name and this share the
    /// host's fate.
    pub machine: String,
    /// Time between checkpoints; without it, what is best for the cost and the failures.
    pub every: Option<Duration>,
    /// Mean time between failures of all hosts together.
    pub failures: Duration,
    /// Whether another host keeps copies.
    pub copies: bool,
    /// How many epochs are kept, at least 1.
    pub keep: usize,
}

impl Options {
    /// Takes what all must do alike from the first process; hosts may have other variables.
    fn take_first(&mut self, group: &mut impl Group) -> Result<(), GroupError> {
        let nanos = |time: Duration| time.as_nanos() as u64;
        let mine =
            [self.every.map_or(0, nanos), nanos(self.failures), u64::from(self.copies), self.keep as u64];
        let told = group::words(group, &mine)?;
        let first = &told[0];
        self.every = (first[0] > 0).then(|| Duration::from_nanos(first[0]));
        self.failures = Duration::from_nanos(first[1]);
        (self.copies, self.keep) = (first[2] == 1, first[3] as usize);
        Ok(())
    }
}

/// What a call of [`Checkpoint::save`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The epoch.
    pub epoch: u64,
    /// Bytes of this process's image.
    pub bytes: u64,
    /// Bytes of the images of others that this process keeps copies of.
    pub copied: u64,
    /// Time that the program waited.
    pub took: Duration,
}

/// What a call of [`Checkpoint::restore`] has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The epoch that was read; `None`: there is none, and the program begins anew.
    pub epoch: Option<u64>,
    /// What is wrong with newer epochs and with single images, each in a sentence.
    pub notes: Vec<String>,
}

/// A process's part in the checkpoints of its program.
#[derive(Debug)]
pub struct Checkpoint<G> {
    group: G,
    folder: Folder,
    options: Options,
    keepers: Vec<Option<usize>>,
    /// Epochs that are complete and kept, the newest last.
    kept: Vec<Stamp>,
    /// The number of the epoch that was tried last.
    epoch: u64,
    /// That of the epochs of this run; `None`: the next one begins it.
    line: Option<Line>,
    is_restored: bool,
    schedule: Option<Schedule>,
    last: Instant,
}

impl<G: Group> Checkpoint<G> {
    /// Opens the folder. All processes call this, as the other functions unless they say otherwise; one whose
    /// options cannot be gives the reason in their place, which the others are told.
    ///
    /// # Errors
    /// The options or the folder of some process cannot be used, or the program's functions fail.
    pub fn open(mut group: G, options: Result<Options, String>) -> Result<Checkpoint<G>, Error> {
        let mut options = group::agree(&mut group, "its host", options.map_err(Error::Told))?;
        options.take_first(&mut group)?;
        let opened = Folder::open(&options.folder, group.rank());
        let folder = group::agree(&mut group, &options.host, opened)?;
        let hosts = group::bytes(&mut group, format!("{} {}", options.host, options.machine).as_bytes())?;
        let hosts: Vec<String> =
            hosts.iter().map(|host| String::from_utf8_lossy(host).into_owned()).collect();
        let keepers = if options.copies { keepers(&hosts) } else { vec![None; hosts.len()] };
        Ok(Checkpoint {
            group,
            folder,
            options,
            keepers,
            kept: Vec::new(),
            epoch: 0,
            line: None,
            is_restored: false,
            schedule: None,
            last: Instant::now(),
        })
    }

    /// Fills the memory, each piece with its number, from the newest epoch that is complete.
    ///
    /// # Errors
    /// There were epochs but none is complete any more, they are of another program, or files cannot be read
    /// or written.
    pub fn restore(&mut self, mut regions: Vec<(u32, &mut [u8])>) -> Result<Restored, Error> {
        regions.sort_by_key(|(number, _)| *number);
        let numbers = check(regions.iter().map(|(number, _)| *number));
        group::agree(&mut self.group, &self.options.host, numbers)?;
        let (stamp, notes) =
            restore::restore(&mut self.group, &self.folder, &self.options.host, &mut regions)?;
        self.is_restored = true;
        self.kept = stamp.into_iter().collect();
        self.epoch = stamp.map_or(0, |stamp| stamp.epoch);
        self.line = stamp.map(|stamp| stamp.line());
        self.last = Instant::now();
        Ok(Restored { epoch: stamp.map(|stamp| stamp.epoch), notes })
    }

    /// Writes an epoch. If that fails the older ones are as they were, and the program may go on.
    ///
    /// # Errors
    /// [`Checkpoint::restore`] was not called, some process could not write, or the program's functions fail.
    pub fn save(&mut self, mut regions: Vec<(u32, &[u8])>) -> Result<Saved, Error> {
        let begun = Instant::now();
        regions.sort_by_key(|(number, _)| *number);
        let ready = self.ready().and_then(|()| check(regions.iter().map(|(number, _)| *number)));
        group::agree(&mut self.group, &self.options.host, ready)?;
        // A number is used once, also if its epoch fails.
        self.epoch += 1;
        let stamp = save::draw(&mut self.group, &self.options.host, self.epoch, self.line)?;
        self.line = Some(stamp.line());
        let head = Head {
            stamp,
            rank: self.group.rank() as u32,
            size: self.group.size() as u32,
            regions: regions.iter().map(|(number, memory)| (*number, memory.len() as u64)).collect(),
        };
        let host = &self.options.host;
        let saved = save::save(&mut self.group, &self.folder, host, &self.keepers, &head, &regions);
        match &saved {
            Ok(_) => {
                self.folder.mark(stamp);
                self.kept.push(stamp);
                let older = self.kept.len().saturating_sub(self.options.keep.max(1));
                self.kept.drain(..older);
                self.folder.keep_only(&self.kept);
            }
            // Others may know already that this epoch is complete, and have removed the one before.
            Err(Error::Group(_)) => {}
            // All know that it is not. What was written of it is removed.
            Err(_) => self.folder.keep_only(&self.kept),
        }
        let took = begun.elapsed();
        if let Some(schedule) = &mut self.schedule {
            schedule.saved(took);
        }
        self.last = Instant::now();
        saved.map(|(bytes, copied)| Saved { epoch: stamp.epoch, bytes, copied, took })
    }

    /// Counts a step of the program, and tells whether it should save now. `bytes` gives those that it would
    /// write, and is asked once. Most calls exchange no messages and cost nothing.
    ///
    /// # Errors
    /// The program's functions fail.
    pub fn is_due(&mut self, bytes: impl FnOnce() -> u64) -> Result<bool, Error> {
        let schedule = match &mut self.schedule {
            Some(schedule) => schedule,
            None => {
                let all = group::words(&mut self.group, &[bytes()])?;
                let most = all.iter().map(|bytes| bytes[0]).max().unwrap_or(0);
                let cost = Duration::from_secs_f64(0.01 + most as f64 / PRESUMED_RATE);
                self.schedule.insert(Schedule::new(self.options.every, self.options.failures, cost))
            }
        };
        if !schedule.step() {
            return Ok(false);
        }
        // What all must decide alike: the time of the first, and its costs.
        let mine = [self.last.elapsed().as_micros() as u64, schedule.cost().as_micros() as u64];
        let told = group::words(&mut self.group, &mine)?;
        schedule.set_cost(Duration::from_micros(told[0][1]));
        Ok(schedule.decide(Duration::from_micros(told[0][0])))
    }

    /// Removes all epochs: the program has reached its end, and its next run begins anew. What lies on hosts
    /// that are away now is left out and removed when they take part again.
    ///
    /// # Errors
    /// [`Checkpoint::restore`] was not called, some process could not note the end for that, or the program's
    /// functions fail.
    pub fn finish(&mut self) -> Result<(), Error> {
        let ready = self.ready();
        group::agree(&mut self.group, &self.options.host, ready)?;
        // What is left if this is broken off is no loss that the next run would have to be told of.
        let over: BTreeSet<Line> = self.line.into_iter().collect();
        let noted = self.folder.end(&over);
        self.folder.unmark();
        let noted = group::agree(&mut self.group, &self.options.host, noted);
        if matches!(noted, Err(Error::Group(_))) {
            return noted;
        }
        // Epochs after this end are of another line.
        self.line = None;
        self.kept.clear();
        self.folder.keep_only(&[]);
        noted
    }

    /// The time between checkpoints that is aimed at; zero before [`Checkpoint::is_due`] was called.
    pub fn aim(&self) -> Duration {
        self.schedule.as_ref().map_or(Duration::ZERO, Schedule::interval)
    }

    /// Where this process's images are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn ready(&self) -> Result<(), Error> {
        if self.is_restored {
            return Ok(());
        }
        Err(Error::Order(
            "restore first: it tells whether there is an epoch to go on from, which would be written over",
        ))
    }
}

/// Demands that numbers differ and are not too many.
fn check(numbers: impl Iterator<Item = u32>) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for number in numbers {
        if !seen.insert(number) {
            return Err(Error::Twice(number));
        }
    }
    if seen.len() > REGIONS {
        return Err(Error::Order("more than 65,536 pieces of memory are registered"));
    }
    Ok(())
}
