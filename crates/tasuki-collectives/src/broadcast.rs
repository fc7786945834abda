//! Broadcast.

use crate::{
    Incoming, Mesh, Outgoing,
    mesh::swap,
    ring::{self, Pieces},
};

/// Up to so many bytes go down a tree whole; longer arrays in pieces, one to each process, which then pass
/// them around the ring.
const TREE_MAX: usize = 64 << 10;

/// Gives all processes the array of `root`.
pub fn broadcast<M: Mesh>(mesh: &mut M, data: &mut [u8], root: usize) -> Result<(), M::Error> {
    let size = mesh.size();
    if size == 1 || data.is_empty() {
        return Ok(());
    }
    // Places are counted from the root.
    let place = (mesh.rank() + size - root) % size;
    if data.len() <= TREE_MAX || size == 2 {
        return down_the_tree(mesh, data, root, place);
    }
    // The piece of a process is that of its rank; the root sends each its own.
    let pieces = Pieces::new(data.len(), 1, size);
    if place == 0 {
        let others = (1..size).map(|distance| (root + distance) % size);
        let outgoing: Vec<_> = others.map(|to| Outgoing { to, bytes: &data[pieces.range(to)] }).collect();
        mesh.exchange(&outgoing, &mut [], &mut |_, _| ())?;
    } else {
        let own = pieces.range(mesh.rank());
        let mut incoming = [Incoming { from: root, bytes: &mut data[own] }];
        mesh.exchange(&[], &mut incoming, &mut |_, _| ())?;
    }
    ring::all_gather(mesh, data, pieces, 0)
}

/// The binomial tree: in each round those that have the data send them to as many that have not.
fn down_the_tree<M: Mesh>(mesh: &mut M, data: &mut [u8], root: usize, place: usize) -> Result<(), M::Error> {
    let size = mesh.size();
    let rank_at = |place: usize| (place + root) % size;
    // The lowest binary digit of the place says from whom the data come.
    let below = if place == 0 { size.next_power_of_two() } else { 1 << place.trailing_zeros() };
    if place != 0 {
        swap(mesh, None, Some((rank_at(place - below), data)))?;
    }
    let mut outgoing = Vec::new();
    let mut step = below / 2;
    while step > 0 {
        if place + step < size {
            outgoing.push(Outgoing { to: rank_at(place + step), bytes: data });
        }
        step /= 2;
    }
    if outgoing.is_empty() { Ok(()) } else { mesh.exchange(&outgoing, &mut [], &mut |_, _| ()) }
}
