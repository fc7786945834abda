//! Reading the newest epoch that is complete, wherever its images are.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;

use crate::error::Error;
use crate::folder::{self, Draft, Folder, Stamp};
use crate::group::{self, Group, Side};
use crate::image::{Bad, Head, read_memory};
use crate::inventory::{Inventory, lines};

/// Fills the memory with the newest epoch that is complete. Gives the epoch, if there is one, and what was
/// found wrong with newer ones and with single images.
///
/// # Errors
/// There were epochs but none is complete any more, they are of another program, or files cannot be read. The
/// memory is unchanged unless a file has changed since it was found right a moment before.
pub fn restore(
    group: &mut impl Group,
    folder: &Folder,
    host: &str,
    regions: &mut [(u32, &mut [u8])],
) -> Result<(Option<Stamp>, Vec<String>), Error> {
    let mut inventory = Inventory::gather(group, folder, host)?;
    let mut notes = std::mem::take(&mut inventory.complaints);
    let Some((stamp, holders)) = choose(group, folder, &mut inventory, &mut notes)? else {
        if inventory.was_finished() {
            return Err(Error::Incomplete(notes.join("; ")));
        }
        return Ok((None, notes));
    };
    fetch(group, folder, host, stamp, &holders, |rank| inventory.bytes(stamp, rank))?;
    let path = folder.image(stamp, group.rank());
    let opened = folder::open(&path).map_err(|bad| told(&path, &bad));
    let fits = opened.and_then(|(file, head)| fit(&head, regions).map(|()| (file, head)));
    let (mut file, head) = group::agree(group, host, fits)?;
    let loaded = load(&mut file, &head, regions).map_err(|bad| told(&path, &bad));
    group::agree(group, host, loaded)?;
    Ok((Some(stamp), notes))
}

fn told(path: &std::path::Path, bad: &Bad) -> Error {
    Error::Told(format!("{}: {bad}", path.display()))
}

/// Finds the newest epoch of which there is an intact image of every process, and for each a holder.
fn choose(
    group: &mut impl Group,
    folder: &Folder,
    inventory: &mut Inventory,
    notes: &mut Vec<String>,
) -> Result<Option<(Stamp, Vec<usize>)>, Error> {
    // Every turn takes an image or an epoch from the inventory, or is the last.
    while let Some(stamp) = inventory.newest() {
        match inventory.holders(stamp) {
            Err(missing) => {
                let ranks: Vec<String> = missing.iter().map(usize::to_string).collect();
                let text = format!("epoch {}: no image of process {}", stamp.epoch, ranks.join(", "));
                notes.push(text);
                inventory.forget(stamp);
            }
            Ok(holders) => {
                let damaged = verify(group, folder, stamp, &holders, notes)?;
                if damaged.is_empty() {
                    return Ok(Some((stamp, holders)));
                }
                for rank in damaged {
                    inventory.strike(stamp, rank, holders[rank]);
                }
            }
        }
    }
    Ok(None)
}

/// Reads all images, each by its holder. Gives the ranks of those that are damaged.
fn verify(
    group: &mut impl Group,
    folder: &Folder,
    stamp: Stamp,
    holders: &[usize],
    notes: &mut Vec<String>,
) -> Result<Vec<usize>, Error> {
    let (mut ranks, mut texts) = (Vec::new(), Vec::new());
    for rank in (0..holders.len()).filter(|rank| holders[*rank] == group.rank()) {
        let path = folder.image(stamp, rank);
        let read = folder::open(&path).and_then(|(mut file, head)| read_memory(&mut file, &head, |_| ()));
        if let Err(bad) = read {
            ranks.push(rank as u64);
            texts.push(format!("{}: {bad}", path.display()));
        }
    }
    let ranks = group::bytes(group, &group::to_bytes(&ranks))?.concat();
    let texts = group::bytes(group, texts.join("\n").as_bytes())?;
    notes.extend(texts.iter().flat_map(|text| lines(text)));
    Ok(group::to_words(&ranks).into_iter().map(|rank| rank as usize).collect())
}

/// The images that are sent: pairs of holder and rank, in rounds in each of which a process sends to one
/// other and receives from one at most.
fn rounds(holders: &[usize]) -> Vec<Vec<(usize, usize)>> {
    let mut left: Vec<(usize, usize)> =
        holders.iter().enumerate().filter(|(rank, holder)| rank != *holder).map(|(r, h)| (*h, r)).collect();
    let mut rounds = Vec::new();
    while !left.is_empty() {
        let mut busy = HashSet::new();
        // A rank receives its own image only, so that holders alone can be wanted twice.
        let (now, later) = left.into_iter().partition(|(holder, _)| busy.insert(*holder));
        rounds.push(now);
        left = later;
    }
    rounds
}

/// Brings every process's image into its own folder.
fn fetch(
    group: &mut impl Group,
    folder: &Folder,
    host: &str,
    stamp: Stamp,
    holders: &[usize],
    bytes: impl Fn(usize) -> u64,
) -> Result<(), Error> {
    let me = group.rank();
    let mut fetched = Ok(());
    for round in rounds(holders) {
        let to = round.iter().find(|(holder, _)| *holder == me).map(|(_, rank)| *rank);
        let from = round.iter().find(|(_, rank)| *rank == me).map(|(holder, _)| *holder);
        let mut source = to.map(|rank| Source::new(folder, stamp, rank));
        let mut draft = from.map(|_| folder.draft(stamp, me));
        let read = |piece: &mut [u8]| source.iter_mut().for_each(|source| source.read(piece));
        let keep = |piece: &[u8]| draft.iter_mut().for_each(|draft| draft.write(piece));
        let out = Side { peer: to, bytes: to.map_or(0, &bytes), piece: read };
        let into = Side { peer: from, bytes: from.map_or(0, |_| bytes(me)), piece: keep };
        group::transfer(group, out, into)?;
        let sent = source.map_or(Ok(()), |source| source.failed);
        fetched = fetched.and(sent).and(draft.map_or(Ok(()), Draft::keep));
    }
    group::agree(group, host, fetched)
}

/// An image that is sent; what cannot be read is sent as zeros, and told afterwards.
struct Source {
    file: Option<File>,
    failed: Result<(), Error>,
}

impl Source {
    fn new(folder: &Folder, stamp: Stamp, rank: usize) -> Source {
        let path = folder.image(stamp, rank);
        match File::open(&path).map_err(Error::file("read", &path)) {
            Ok(file) => Source { file: Some(file), failed: Ok(()) },
            Err(error) => Source { file: None, failed: Err(error) },
        }
    }

    fn read(&mut self, into: &mut [u8]) {
        let Some(file) = &mut self.file else { return into.fill(0) };
        if let Err(error) = file.read_exact(into) {
            self.failed = Err(Error::Told(format!("cannot read an image that was there before: {error}")));
            self.file = None;
        }
    }
}

/// Demands that an image is of the memory that the program has registered.
fn fit(head: &Head, regions: &[(u32, &mut [u8])]) -> Result<(), Error> {
    let ours = regions.iter().map(|(number, memory)| (*number, memory.len() as u64));
    if ours.clone().eq(head.regions.iter().copied()) {
        return Ok(());
    }
    let list = |regions: &mut dyn Iterator<Item = (u32, u64)>| {
        let texts: Vec<String> = regions.map(|(number, bytes)| format!("{number}: {bytes} bytes")).collect();
        if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
    };
    let (theirs, ours) = (list(&mut head.regions.iter().copied()), list(&mut ours.clone()));
    Err(Error::Told(format!(
        "the checkpoint has other memory than the program has registered: {theirs}; registered is {ours}"
    )))
}

/// Fills the memory from an image.
fn load(file: &mut File, head: &Head, regions: &mut [(u32, &mut [u8])]) -> Result<(), Bad> {
    let mut places = regions.iter_mut();
    let mut place: &mut [u8] = &mut [];
    read_memory(file, head, |mut block| {
        while !block.is_empty() {
            while place.is_empty() {
                // The lengths of all regions together are those of the image.
                place = places.next().map_or(&mut [], |(_, memory)| memory);
            }
            let piece = block.len().min(place.len());
            let (now, rest) = std::mem::take(&mut place).split_at_mut(piece);
            now.copy_from_slice(&block[..piece]);
            place = rest;
            block = &block[piece..];
        }
    })
}
