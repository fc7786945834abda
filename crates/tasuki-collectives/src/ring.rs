//! Pieces of an array around a ring of all processes.

use crate::{Element, Incoming, Mesh, Op, Outgoing};
use std::ops::Range;

/// Most bytes of a message of a piece: while one is reduced, the next is under way.
const MESSAGE: usize = 1 << 20;

/// How an array is divided among the processes of a ring.
#[derive(Clone, Copy)]
pub(crate) struct Pieces {
    /// Elements of the array.
    count: usize,
    /// Bytes of an element.
    element: usize,
    /// How many pieces there are.
    of: usize,
}

impl Pieces {
    pub fn new(bytes: usize, element: usize, of: usize) -> Pieces {
        Pieces { count: bytes / element, element, of }
    }

    /// The bytes of a piece; pieces are counted around the ring.
    pub fn range(self, piece: usize) -> Range<usize> {
        let piece = piece % self.of;
        // The product of a count of elements and one of processes fits: both are of this machine.
        let at =
            |index: usize| (self.count as u128 * index as u128 / self.of as u128) as usize * self.element;
        at(piece)..at(piece + 1)
    }
}

/// Two parts of an array that do not overlap: the first to read, the second to write.
fn apart(data: &mut [u8], read: Range<usize>, write: Range<usize>) -> (&[u8], &mut [u8]) {
    if read.start < write.start {
        let (low, high) = data.split_at_mut(write.start);
        (&low[read], &mut high[..write.end - write.start])
    } else {
        let (low, high) = data.split_at_mut(read.start);
        (&high[..read.end - read.start], &mut low[write])
    }
}

fn outgoing(to: usize, bytes: &[u8]) -> Vec<Outgoing<'_>> {
    bytes.chunks(MESSAGE).map(|bytes| Outgoing { to, bytes }).collect()
}

fn incoming(from: usize, bytes: &mut [u8]) -> Vec<Incoming<'_>> {
    bytes.chunks_mut(MESSAGE).map(|bytes| Incoming { from, bytes }).collect()
}

/// The neighbours in the ring: to whom, and from whom.
fn neighbours<M: Mesh>(mesh: &M) -> (usize, usize) {
    let (rank, size) = (mesh.rank(), mesh.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}

/// Sends bytes to the next process, receives as many of the one before as `target` has, and reduces them into
/// it. `scratch` is as long, rounded up to whole messages.
fn reduce_step<M: Mesh>(
    mesh: &mut M,
    (element, op): (Element, Op),
    send: &[u8],
    target: &mut [u8],
    scratch: &mut [u8],
) -> Result<(), M::Error> {
    let (next, before) = neighbours(mesh);
    let mut messages = incoming(before, &mut scratch[..target.len()]);
    let mut targets: Vec<_> = target.chunks_mut(MESSAGE).collect();
    mesh.exchange(&outgoing(next, send), &mut messages, &mut |index, bytes| {
        element.reduce(op, targets[index], bytes);
    })
}

/// Reduces an array of all processes; each is left with the whole result of one piece, the next after its
/// rank, and with parts of sums in the others.
pub(crate) fn reduce_scatter<M: Mesh>(
    mesh: &mut M,
    data: &mut [u8],
    pieces: Pieces,
    (element, op): (Element, Op),
) -> Result<(), M::Error> {
    let (rank, size) = (mesh.rank(), mesh.size());
    let most = (0..size).map(|piece| pieces.range(piece).len()).max().unwrap_or(0);
    let mut scratch = vec![0; most];
    for step in 0..size - 1 {
        let (own, target) =
            apart(data, pieces.range(rank + size - step), pieces.range(rank + 2 * size - step - 1));
        reduce_step(mesh, (element, op), own, target, &mut scratch)?;
    }
    Ok(())
}

/// As `reduce_scatter`, with input that is left alone, in pieces of equal length; `output` gets the piece of
/// this process's rank.
pub(crate) fn reduce_scatter_apart<M: Mesh>(
    mesh: &mut M,
    input: &[u8],
    output: &mut [u8],
    (element, op): (Element, Op),
) -> Result<(), M::Error> {
    let (rank, size, len) = (mesh.rank(), mesh.size(), output.len());
    let prepared = |into: &mut [u8], index: usize| {
        into.copy_from_slice(&input[index % size * len..][..len]);
        element.prepare(op, into, size);
    };
    let (mut scratch, mut partial) = (vec![0; len], vec![0; len]);
    prepared(&mut partial, rank + size - 1);
    for step in 0..size - 1 {
        prepared(output, rank + 2 * size - step - 2);
        reduce_step(mesh, (element, op), &partial, output, &mut scratch)?;
        partial.copy_from_slice(output);
    }
    output.copy_from_slice(&partial);
    Ok(())
}

/// Every process has one piece of the array, that of its rank and `first` more; afterwards all have all.
pub(crate) fn all_gather<M: Mesh>(
    mesh: &mut M,
    data: &mut [u8],
    pieces: Pieces,
    first: usize,
) -> Result<(), M::Error> {
    let (rank, size) = (mesh.rank(), mesh.size());
    let (next, before) = neighbours(mesh);
    for step in 0..size - 1 {
        let at = rank + first + 2 * size - step;
        let (own, target) = apart(data, pieces.range(at), pieces.range(at - 1));
        mesh.exchange(&outgoing(next, own), &mut incoming(before, target), &mut |_, _| ())?;
    }
    Ok(())
}
