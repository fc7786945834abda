//! Operations in which every process sends straight to those that want its data.

use crate::{Incoming, Mesh, Outgoing, mesh::swap};
use std::ops::Range;

/// Sends every other process what `to` gives for its rank, and receives `len` bytes of each at the place of
/// its rank in `into`; that of this process is left alone.
pub(crate) fn swap_all<'a, M: Mesh>(
    mesh: &mut M,
    to: impl Fn(usize) -> &'a [u8],
    into: &mut [u8],
    len: usize,
) -> Result<(), M::Error> {
    if len == 0 {
        return Ok(());
    }
    let (rank, size) = (mesh.rank(), mesh.size());
    // Each begins with the process after it, so that not all send to one at once.
    let outgoing: Vec<_> = (1..size)
        .map(|distance| (rank + distance) % size)
        .map(|to_rank| Outgoing { to: to_rank, bytes: to(to_rank) })
        .collect();
    let places = into.chunks_mut(len).enumerate().take(size);
    let mut incoming: Vec<_> =
        places.filter(|(from, _)| *from != rank).map(|(from, bytes)| Incoming { from, bytes }).collect();
    mesh.exchange(&outgoing, &mut incoming, &mut |_, _| ())
}

/// Sends the part of each rank to that rank: `input` and `output` have parts of equal length, in the order of
/// ranks.
pub fn all_to_all<M: Mesh>(mesh: &mut M, input: &[u8], output: &mut [u8]) -> Result<(), M::Error> {
    let (rank, len) = (mesh.rank(), input.len() / mesh.size());
    output[rank * len..][..len].copy_from_slice(&input[rank * len..][..len]);
    swap_all(mesh, |to| &input[to * len..][..len], output, len)
}

/// Puts the arrays of all processes behind each other in `output` at `root`; it is empty elsewhere.
pub fn gather<M: Mesh>(mesh: &mut M, input: &[u8], output: &mut [u8], root: usize) -> Result<(), M::Error> {
    let (rank, len) = (mesh.rank(), input.len());
    if rank != root {
        return if len == 0 { Ok(()) } else { swap(mesh, Some((root, input)), None) };
    }
    output[rank * len..][..len].copy_from_slice(input);
    gather_pieces(mesh, output, root, |from| from * len..(from + 1) * len)
}

/// Brings to `root` the bytes of `data` that each process has, at the same place.
pub(crate) fn gather_pieces<M: Mesh>(
    mesh: &mut M,
    data: &mut [u8],
    root: usize,
    piece: impl Fn(usize) -> Range<usize>,
) -> Result<(), M::Error> {
    let rank = mesh.rank();
    if rank != root {
        let own = &data[piece(rank)];
        return if own.is_empty() { Ok(()) } else { swap(mesh, Some((root, own)), None) };
    }
    let mut incoming = others(data, rank, mesh.size(), piece);
    mesh.exchange(&[], &mut incoming, &mut |_, _| ())
}

/// Memory for the pieces of all other processes that are not empty.
fn others(
    data: &mut [u8],
    rank: usize,
    size: usize,
    piece: impl Fn(usize) -> Range<usize>,
) -> Vec<Incoming<'_>> {
    let mut wanted: Vec<_> = (0..size).map(|from| (piece(from), from)).collect();
    wanted.sort_by_key(|(range, _)| range.start);
    let (mut rest, mut at, mut found) = (data, 0, Vec::new());
    for (range, from) in wanted.into_iter().filter(|(range, _)| !range.is_empty()) {
        let (_, from_here) = rest.split_at_mut(range.start - at);
        let (bytes, after) = from_here.split_at_mut(range.len());
        (rest, at) = (after, range.end);
        if from != rank {
            found.push(Incoming { from, bytes });
        }
    }
    found
}

/// Gives each process the part of its rank of the array that `root` has; `input` is empty elsewhere.
pub fn scatter<M: Mesh>(mesh: &mut M, input: &[u8], output: &mut [u8], root: usize) -> Result<(), M::Error> {
    let (rank, size, len) = (mesh.rank(), mesh.size(), output.len());
    if len == 0 {
        return Ok(());
    }
    if rank != root {
        return swap(mesh, None, Some((root, output)));
    }
    output.copy_from_slice(&input[rank * len..][..len]);
    let parts = (1..size).map(|distance| (rank + distance) % size);
    let outgoing: Vec<_> = parts.map(|to| Outgoing { to, bytes: &input[to * len..][..len] }).collect();
    mesh.exchange(&outgoing, &mut [], &mut |_, _| ())
}

/// Returns when all processes have called it: in each round every process hears of twice as many others
/// (dissemination; Hensgen, Finkel and Manber 1988).
pub fn barrier<M: Mesh>(mesh: &mut M) -> Result<(), M::Error> {
    let (rank, size) = (mesh.rank(), mesh.size());
    let mut distance = 1;
    while distance < size {
        let (mut heard, to, from) = ([0], (rank + distance) % size, (rank + size - distance) % size);
        swap(mesh, Some((to, &[1])), Some((from, &mut heard)))?;
        distance *= 2;
    }
    Ok(())
}
