//! All-gather.

use crate::{
    Mesh,
    direct::swap_all,
    ring::{self, Pieces},
};

/// Up to so many bytes of each process are sent to all others at once.
const DIRECT_MAX: usize = 16 << 10;

/// Puts the arrays of all processes behind each other in `output`, in the order of their ranks. It is as many
/// times as long as `input` as there are processes.
pub fn all_gather<M: Mesh>(mesh: &mut M, input: &[u8], output: &mut [u8]) -> Result<(), M::Error> {
    let (rank, size, len) = (mesh.rank(), mesh.size(), input.len());
    output[rank * len..][..len].copy_from_slice(input);
    if len <= DIRECT_MAX {
        swap_all(mesh, |_| input, output, len)
    } else {
        ring::all_gather(mesh, output, Pieces::new(output.len(), 1, size), 0)
    }
}
