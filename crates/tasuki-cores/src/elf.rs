//! Just as much of the format of core files as tells whose they are: elf(5), and `struct elf_prstatus` and
//! `struct elf_prpsinfo` of Linux on 64-bit machines (include/linux/elfcore.h, include/uapi/linux/elfcore.h).

use std::{fs::File, io, os::unix::fs::FileExt};

/// The length of the header of a file.
const HEADER: usize = 64;
/// The length of the header of a segment.
const SEGMENT: usize = 56;
/// The most bytes of notes that are read. They hold some 2 KiB for every thread, and the names of files.
const MOST_NOTES: u64 = 64 << 20;
/// The type of a core file (ET_CORE).
const CORE: u16 = 4;
/// The type of a segment that holds memory (PT_LOAD).
const LOAD: u32 = 1;
/// The type of a segment that holds notes (PT_NOTE).
const NOTE: u32 = 4;

/// A part of a file that says what lay at some address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    kind: u32,
    /// Where it begins in the file, in bytes.
    offset: u64,
    /// Its first address in memory.
    pub address: u64,
    /// How many bytes of it the file holds.
    pub length: u64,
}

impl Segment {
    /// The offset in the file at which it ends.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// The segments of a core file; `None`: it is none, or none of this kind of machine.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn segments(file: &File) -> io::Result<Option<Vec<Segment>>> {
    let mut head = [0; HEADER];
    if let Err(error) = file.read_exact_at(&mut head, 0) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
    }
    // 64 bits, the lowest byte first.
    let is_core = head.starts_with(b"\x7fELF\x02\x01") && number16(&head, 16) == Some(CORE);
    if !is_core || number16(&head, 54) != Some(SEGMENT as u16) {
        return Ok(None);
    }
    let at = number64(&head, 32).unwrap_or_default();
    let count = usize::from(number16(&head, 56).unwrap_or_default());
    let mut table = vec![0; count * SEGMENT];
    match file.read_exact_at(&mut table, at) {
        Ok(()) => Ok(Some(table.chunks_exact(SEGMENT).filter_map(segment).collect())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(Vec::new())),
        Err(error) => Err(error),
    }
}

fn segment(bytes: &[u8]) -> Option<Segment> {
    Some(Segment {
        kind: number32(bytes, 0)?,
        offset: number64(bytes, 8)?,
        address: number64(bytes, 16)?,
        length: number64(bytes, 32)?,
    })
}

/// A note of a core file: type and contents.
pub(crate) type Note = (u32, Vec<u8>);

/// The notes of a core file in their order. Those that a cut off file lacks are missing.
pub(crate) fn notes(file: &File, segments: &[Segment]) -> Vec<Note> {
    let mut all = Vec::new();
    for segment in segments.iter().filter(|segment| segment.kind == NOTE) {
        let mut rest = &read(file, segment.offset, segment.length.min(MOST_NOTES))[..];
        while let Some((note, after)) = note(rest) {
            all.push(note);
            rest = after;
        }
    }
    all
}

/// The first note of these bytes, and what follows it.
fn note(bytes: &[u8]) -> Option<(Note, &[u8])> {
    let length = |at| usize::try_from(number32(bytes, at)?).ok();
    let begin = 12 + length(0)?.next_multiple_of(4);
    let contents = bytes.get(begin..)?.get(..length(4)?)?;
    let after = bytes.get(begin + contents.len().next_multiple_of(4)..).unwrap_or_default();
    Some(((number32(bytes, 8)?, contents.to_vec()), after))
}

/// What lay in memory around an address: the address of the first byte, and up to `most` bytes on each side
/// of it, no further than its segment. `None`: the file does not hold it.
pub(crate) fn around(file: &File, segments: &[Segment], address: u64, most: u64) -> Option<(u64, Vec<u8>)> {
    let holds = |it: &&Segment| {
        it.kind == LOAD && (it.address..it.address.saturating_add(it.length)).contains(&address)
    };
    let segment = segments.iter().find(holds)?;
    let before = (address - segment.address).min(most);
    let after = segment.address.saturating_add(segment.length).saturating_sub(address).min(most);
    let begin = address - before;
    let bytes = read(file, segment.offset.checked_add(begin - segment.address)?, before + after);
    (bytes.len() as u64 > before).then_some((begin, bytes))
}

/// Bytes of a file; fewer where it ends or cannot be read.
fn read(file: &File, offset: u64, length: u64) -> Vec<u8> {
    let held = file.metadata().map_or(0, |facts| facts.len().saturating_sub(offset));
    let mut bytes = vec![0; usize::try_from(length.min(held)).unwrap_or_default()];
    match file.read_exact_at(&mut bytes, offset) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A number of 4 bytes.
pub(crate) fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A number of 8 bytes.
pub(crate) fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
