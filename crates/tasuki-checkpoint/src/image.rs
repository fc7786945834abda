//! What one process has saved in one epoch, as bytes of a file or of messages.
//!
//! All numbers are little-endian. A head says what the image is of: the word `TSKcheck`, the version of this
//! format and the number of regions (32 bits each), epoch and its drawn number (64 bits), rank and number of
//! processes (32 bits), for each region its number and its bytes (64 bits
//! each), and the checksum of all this. The regions follow, one after the other, cut into blocks of [`BLOCK`]
//! bytes; each block has a checksum behind it, which also covers the epoch's drawn number and the block's
//! place, so that a block of another image is no more right than a damaged one. Checksums are CRC-64/NVME.

use std::io::{self, Read};

use crc_fast::{CrcAlgorithm, Digest};

use crate::folder::Stamp;

/// Bytes of memory that have one checksum; the last block has fewer.
pub const BLOCK: usize = 1 << 20;
/// Most regions of an image.
pub const REGIONS: usize = 1 << 16;
const MAGIC: [u8; 8] = *b"TSKcheck";
const VERSION: u32 = 1;
const FIXED: usize = 40;
const CHECKSUM: usize = 8;

/// What an image says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The epoch that it belongs to.
    pub stamp: Stamp,
    /// The process that it is of.
    pub rank: u32,
    /// The number of processes.
    pub size: u32,
    /// Number and bytes of each region.
    pub regions: Vec<(u32, u64)>,
}

/// Why bytes are no image.
#[derive(Debug, thiserror::Error)]
pub enum Bad {
    /// They cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// They are something else, or of another version.
    #[error("no image that this version of Tasuki can read")]
    Strange,
    /// They were changed, or are too few or too many.
    #[error("damaged: {0}")]
    Damaged(String),
}

impl Head {
    /// Bytes of the whole image.
    pub fn image_bytes(&self) -> u64 {
        let payload: u64 = self.regions.iter().map(|(_, bytes)| bytes).sum();
        let head = FIXED + 16 * self.regions.len() + CHECKSUM;
        head as u64 + payload + payload.div_ceil(BLOCK as u64) * CHECKSUM as u64
    }

    /// The head as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.regions.len() as u32).to_le_bytes());
        bytes.extend(self.stamp.epoch.to_le_bytes());
        bytes.extend(self.stamp.drawn.to_le_bytes());
        bytes.extend(self.rank.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        for (number, length) in &self.regions {
            bytes.extend(u64::from(*number).to_le_bytes());
            bytes.extend(length.to_le_bytes());
        }
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes
    }

    /// Reads a head.
    ///
    /// # Errors
    /// The bytes cannot be read, are none of an image, or were changed.
    pub fn read(from: &mut impl Read) -> Result<Head, Bad> {
        let mut bytes = vec![0; FIXED];
        fill(from, &mut bytes)?;
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        let long = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
        let count = word(&bytes, 12) as usize;
        if bytes[..8] != MAGIC || word(&bytes, 8) != VERSION || count > REGIONS {
            return Err(Bad::Strange);
        }
        bytes.resize(FIXED + 16 * count + CHECKSUM, 0);
        fill(from, &mut bytes[FIXED..])?;
        let end = bytes.len() - CHECKSUM;
        if checksum(&bytes[..end]) != long(&bytes, end) {
            return Err(Bad::Damaged("the checksum of its head is wrong".into()));
        }
        let region = |at: usize| (long(&bytes, at) as u32, long(&bytes, at + 8));
        Ok(Head {
            stamp: Stamp { epoch: long(&bytes, 16), drawn: long(&bytes, 24) },
            rank: word(&bytes, 32),
            size: word(&bytes, 36),
            regions: (0..count).map(|i| region(FIXED + 16 * i)).collect(),
        })
    }
}

/// Writes an image, in pieces of any length.
pub struct Encoder<'a> {
    /// Head or checksum, of which `taken` bytes are out already.
    ready: Vec<u8>,
    taken: usize,
    regions: Vec<&'a [u8]>,
    drawn: u64,
    block: Block,
}

impl<'a> Encoder<'a> {
    /// An image of this memory, which must have the lengths that the head names.
    pub fn new(head: &Head, regions: Vec<&'a [u8]>) -> Encoder<'a> {
        let drawn = head.stamp.drawn;
        Encoder { ready: head.to_bytes(), taken: 0, regions, drawn, block: Block::new(drawn, 0) }
    }

    /// Fills `out` with the next bytes of the image; fewer are filled only at its end. Gives their number.
    pub fn fill(&mut self, out: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < out.len() {
            if self.taken == self.ready.len() && !self.refill() {
                self.take_memory(out, &mut filled);
                if self.regions.is_empty() && self.block.bytes == 0 {
                    break;
                }
                continue;
            }
            let piece = (out.len() - filled).min(self.ready.len() - self.taken);
            out[filled..filled + piece].copy_from_slice(&self.ready[self.taken..self.taken + piece]);
            self.taken += piece;
            filled += piece;
        }
        filled
    }

    /// Makes the checksum of a block that is full, or the last one, ready. False if there is none.
    fn refill(&mut self) -> bool {
        self.regions.retain(|region| !region.is_empty());
        if self.block.bytes == 0 || (self.block.bytes < BLOCK && !self.regions.is_empty()) {
            return false;
        }
        let next = Block::new(self.drawn, self.block.index + 1);
        self.ready = std::mem::replace(&mut self.block, next).checksum().to_le_bytes().to_vec();
        self.taken = 0;
        true
    }

    /// Takes memory of the region that is next, up to the end of the block.
    fn take_memory(&mut self, out: &mut [u8], filled: &mut usize) {
        let Some(region) = self.regions.first_mut() else { return };
        let piece = region.len().min(out.len() - *filled).min(BLOCK - self.block.bytes);
        let (taken, rest) = region.split_at(piece);
        out[*filled..*filled + piece].copy_from_slice(taken);
        self.block.add(taken);
        *region = rest;
        *filled += piece;
    }
}

/// Reads what follows a head, and gives the memory on, block by block, each after its checksum was found
/// right.
///
/// # Errors
/// The bytes cannot be read, were changed, end too early or go on.
pub fn read_memory(from: &mut impl Read, head: &Head, mut take: impl FnMut(&[u8])) -> Result<(), Bad> {
    let mut left: u64 = head.regions.iter().map(|(_, bytes)| bytes).sum();
    let mut buffer = vec![0; BLOCK + CHECKSUM];
    for index in 0.. {
        if left == 0 {
            break;
        }
        let length = left.min(BLOCK as u64) as usize;
        fill(from, &mut buffer[..length + CHECKSUM])?;
        let (bytes, sum) = buffer[..length + CHECKSUM].split_at(length);
        let mut block = Block::new(head.stamp.drawn, index);
        block.add(bytes);
        if block.checksum().to_le_bytes() != sum {
            return Err(Bad::Damaged(format!("the checksum of block {index} is wrong")));
        }
        take(bytes);
        left -= length as u64;
    }
    match from.read(&mut buffer[..1])? {
        0 => Ok(()),
        _ => Err(Bad::Damaged("it goes on after its end".into())),
    }
}

/// A block whose checksum is being computed.
struct Block {
    index: u64,
    bytes: usize,
    digest: Digest,
}

impl Block {
    fn new(drawn: u64, index: u64) -> Block {
        let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
        digest.update(&drawn.to_le_bytes());
        digest.update(&index.to_le_bytes());
        Block { index, bytes: 0, digest }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.bytes += bytes.len();
    }

    fn checksum(self) -> u64 {
        self.digest.finalize()
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    crc_fast::checksum(CrcAlgorithm::Crc64Nvme, bytes)
}

/// Reads as many bytes as there is room for.
fn fill(from: &mut impl Read, into: &mut [u8]) -> Result<(), Bad> {
    from.read_exact(into).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Bad::Damaged("it ends too early".into()),
        _ => Bad::Io(error),
    })
}
