//! `crate::map` of the ring: shared memory of which loom watches every word, and tells of every race for its
//! payload.

use std::cell::RefCell;
use std::rc::Rc;

use crate::file::Fd;
use crate::layout::*;
use crate::plain::Plain;
use crate::sync::{AtomicU32, AtomicU64};

/// What a receiver finds where it should have found a header word, and payload has been written: no word of a
/// protocol.
const PAYLOAD: u64 = 0xdead_beef_dead_beef;

/// Which words a mapping of a file has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A segment.
    Segment(Geometry),
    /// Words and nothing else.
    Words,
}

thread_local! {
    /// The shape of the next file.
    static SHAPE: RefCell<Shape> = const { RefCell::new(Shape::Words) };
}

/// Says which shape the files have that are made from now on.
pub(crate) fn shape(shape: Shape) {
    SHAPE.replace(shape);
}

/// A mapping.
#[derive(Clone, Debug)]
pub(crate) struct Map(Rc<Memory>);

/// What is mapped.
#[derive(Debug)]
pub(crate) struct Memory {
    words: Box<[AtomicU64]>,
    halves: Box<[Option<AtomicU32>]>,
    plain: Rc<Plain>,
}

impl Memory {
    pub(crate) fn new(len: usize) -> Memory {
        let shape = SHAPE.with_borrow(|shape| *shape);
        let plain = Rc::new(Plain::new(len));
        let word = |offset| {
            if shape.is_word(offset) {
                AtomicU64::new(0)
            } else {
                AtomicU64::Payload(Rc::clone(&plain), offset)
            }
        };
        let half = |offset| shape.is_half(offset).then(|| AtomicU32::new(0));
        Memory {
            words: (0..len).step_by(8).map(word).collect(),
            halves: (0..len).step_by(4).map(half).collect(),
            plain,
        }
    }

    /// Reads as the kernel does: each word at once, in any order.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) {
        for (at, place) in (offset..).step_by(8).zip(into.chunks_mut(8)) {
            let bytes = match &self.words[at / 8] {
                AtomicU64::Word(word) => word.peek().to_ne_bytes(),
                AtomicU64::Payload(plain, _) => {
                    let mut bytes = [0; 8];
                    let halves = [at, at + 4].map(|at| self.halves[at / 4].as_ref());
                    if let [None, None] = halves {
                        plain.read(at, &mut bytes);
                    }
                    for (half, place) in halves.into_iter().zip(bytes.chunks_mut(4)) {
                        place.copy_from_slice(&half.map_or(0, AtomicU32::peek).to_ne_bytes());
                    }
                    bytes
                }
            };
            place.copy_from_slice(&bytes[..place.len()]);
        }
    }
}

impl Shape {
    fn is_word(self, offset: usize) -> bool {
        let Shape::Segment(geometry) = self else { return true };
        let in_slot = |index| offset.wrapping_sub(geometry.slot(index));
        let header = [AT_MAGIC, AT_RING_BYTES, AT_SECRET_ADDRESS, AT_RUNG];
        header.contains(&offset)
            || (0..geometry.bells()).any(|bell| offset == geometry.bell(bell))
            || (0..geometry.peers)
                .any(|index| [SLOT_TAIL, SLOT_CLAIMS, SLOT_WRITTEN].contains(&in_slot(index)))
            || offset >= geometry.head_bytes() && offset.is_multiple_of(LINE)
    }

    fn is_half(self, offset: usize) -> bool {
        let Shape::Segment(geometry) = self else { return false };
        let in_slot = |index| offset.wrapping_sub(geometry.slot(index));
        [AT_VERSION, AT_PEERS, AT_PID, AT_CLOSED].contains(&offset)
            || (0..geometry.peers)
                .any(|index| [SLOT_STATE, SLOT_PID, SLOT_SHUT, SLOT_ARMED].contains(&in_slot(index)))
    }
}

impl Map {
    pub(crate) fn new(fd: &Fd, len: usize, _writable: bool) -> std::io::Result<Map> {
        Ok(Map(fd.memory(len)))
    }

    pub(crate) fn is_here(&self) -> bool {
        true
    }

    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8));
        &self.0.words[offset / 8]
    }

    pub(crate) fn cache_line(&self, offset: usize) -> &[AtomicU64; LINE / 8] {
        assert!(offset.is_multiple_of(LINE));
        self.0.words[offset / 8..].first_chunk().expect("a line")
    }

    #[track_caller]
    pub(crate) fn half(&self, offset: usize) -> &AtomicU32 {
        self.0.halves[offset / 4].as_ref().expect("a half word of the protocol")
    }

    pub(crate) fn prefetch_for_writing(&self, _offset: usize) {}

    pub(crate) fn copy_out(&self, offset: usize, into: &mut [u8]) {
        self.0.plain.read(offset, into);
    }

    pub(crate) fn copy_in(&self, offset: usize, from: &[u8]) {
        self.0.plain.writable(offset, from.len()).copy_from_slice(from);
    }

    /// # Safety
    /// As the ring's own.
    #[expect(clippy::mut_from_ref, reason = "exclusive by the protocol, which the model checks")]
    pub(crate) unsafe fn writable(&self, offset: usize, len: usize) -> &mut [u8] {
        // Header words that were here are payload now.
        for at in (offset..offset + len).filter(|at| at.is_multiple_of(8)) {
            if let AtomicU64::Word(word) = &self.0.words[at / 8] {
                word.poke(PAYLOAD);
            }
        }
        self.0.plain.writable(offset, len)
    }

    /// # Safety
    /// As the ring's own.
    #[expect(clippy::mut_from_ref, reason = "exclusive by the protocol, which the model checks")]
    pub(crate) unsafe fn writable_line(&self, offset: usize) -> &mut [u8; SHORT] {
        self.0.plain.writable(offset, SHORT).first_chunk_mut().expect("a line")
    }
}
