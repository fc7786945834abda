//! Reductions.

use crate::{
    Element, Mesh, Op,
    direct::{gather_pieces, swap_all},
    mesh::swap,
    ring::{self, Pieces},
};

/// Up to so many bytes a reduction takes rounds of all the data, of which there are as many as the number of
/// processes has binary digits; longer ones go around the ring in pieces.
const ROUNDS_MAX: usize = 32 << 10;

/// Reduces the arrays of all processes; all get the result in place.
///
/// `data` has whole elements, of the same number at all processes.
pub fn all_reduce<M: Mesh>(mesh: &mut M, data: &mut [u8], element: Element, op: Op) -> Result<(), M::Error> {
    let size = mesh.size();
    element.prepare(op, data, size);
    if size > 1 && !data.is_empty() {
        if data.len() <= ROUNDS_MAX || data.len() / element.bytes() < size {
            in_rounds(mesh, data, element, op)?;
        } else {
            let pieces = Pieces::new(data.len(), element.bytes(), size);
            ring::reduce_scatter(mesh, data, pieces, (element, op))?;
            let own = pieces.range(mesh.rank() + 1);
            element.finish(op, &mut data[own], size);
            return ring::all_gather(mesh, data, pieces, 1);
        }
    }
    element.finish(op, data, size);
    Ok(())
}

/// Recursive doubling. If the number of processes is no power of two, the first few do it in pairs.
fn in_rounds<M: Mesh>(mesh: &mut M, data: &mut [u8], element: Element, op: Op) -> Result<(), M::Error> {
    let (rank, size) = (mesh.rank(), mesh.size());
    let rounds = size.ilog2();
    let pairs = size - (1 << rounds);
    let is_paired = rank < 2 * pairs;
    if is_paired && rank % 2 == 0 {
        // The partner takes part for both.
        swap(mesh, Some((rank + 1, data)), None)?;
        return swap(mesh, None, Some((rank + 1, data)));
    }
    let mut scratch = vec![0; data.len()];
    if is_paired {
        swap(mesh, None, Some((rank - 1, &mut scratch)))?;
        element.reduce(op, data, &scratch);
    }
    let place = if is_paired { rank / 2 } else { rank - pairs };
    for round in 0..rounds {
        let other = place ^ (1 << round);
        let partner = if other < pairs { 2 * other + 1 } else { other + pairs };
        swap(mesh, Some((partner, data)), Some((partner, &mut scratch)))?;
        element.reduce(op, data, &scratch);
    }
    if is_paired {
        swap(mesh, Some((rank - 1, data)), None)?;
    }
    Ok(())
}

/// Reduces the arrays of all processes; `root` gets the result in place, and the arrays of the others hold
/// parts of it.
pub fn reduce<M: Mesh>(
    mesh: &mut M,
    data: &mut [u8],
    root: usize,
    element: Element,
    op: Op,
) -> Result<(), M::Error> {
    let size = mesh.size();
    if size == 1 || data.len() <= ROUNDS_MAX || data.len() / element.bytes() < size {
        return all_reduce(mesh, data, element, op);
    }
    element.prepare(op, data, size);
    let pieces = Pieces::new(data.len(), element.bytes(), size);
    ring::reduce_scatter(mesh, data, pieces, (element, op))?;
    let own = pieces.range(mesh.rank() + 1);
    element.finish(op, &mut data[own], size);
    gather_pieces(mesh, data, root, |rank| pieces.range(rank + 1))
}

/// Reduces arrays of as many parts as there are processes; each gets the part of its rank. `input` is that
/// many times as long as `output`.
pub fn reduce_scatter<M: Mesh>(
    mesh: &mut M,
    input: &[u8],
    output: &mut [u8],
    element: Element,
    op: Op,
) -> Result<(), M::Error> {
    let (rank, size, len) = (mesh.rank(), mesh.size(), output.len());
    if len <= ROUNDS_MAX {
        // Everybody's part of this process, in the order of the ranks.
        let mut parts = vec![0; input.len()];
        swap_all(mesh, |to| &input[to * len..][..len], &mut parts, len)?;
        parts[rank * len..][..len].copy_from_slice(&input[rank * len..][..len]);
        element.prepare(op, &mut parts, size);
        output.copy_from_slice(&parts[..len]);
        (1..size).for_each(|from| element.reduce(op, output, &parts[from * len..][..len]));
    } else {
        ring::reduce_scatter_apart(mesh, input, output, (element, op))?;
    }
    element.finish(op, output, size);
    Ok(())
}
