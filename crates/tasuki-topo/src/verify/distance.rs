//! The number of cables of shortest paths.

use super::flat::Flat;

/// Number of cables from every node to a destination. A host that does not relay ends paths. Nodes that do
/// not forward and have one cable are left out of the search; theirs is the count of their neighbour and one
/// more.
pub(super) struct Needed {
    /// `[node]`: number of cables, `u32::MAX` if there is no path.
    cables: Vec<u32>,
    /// The node that `cables` counts from: the destination, or the forwarding node that it hangs on by its
    /// only cable.
    counted_from: Option<u32>,
    queue: Vec<u32>,
    /// For node `n`, `neighbours[first[n]..first[n + 1]]` are its neighbours that are in the search.
    first: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Needed {
    pub fn new(flat: &Flat) -> Self {
        let (mut first, mut neighbours) = (vec![0], Vec::new());
        for node in 0..flat.passes.len() as u32 {
            neighbours.extend(flat.out(node).map(|c| flat.to(c)).filter(|&n| flat.leaf(n).is_none()));
            first.push(neighbours.len() as u32);
        }
        Self { cables: Vec::new(), counted_from: None, queue: Vec::new(), first, neighbours }
    }

    /// Prepares for a destination. Hosts that hang on the same forwarding node by one cable share the count.
    pub fn towards(&mut self, flat: &Flat, goal: u32) {
        let near = flat.leaf(goal).map(|c| flat.to(c)).filter(|&n| flat.passes[n as usize]);
        let centre = near.unwrap_or(goal);
        if self.counted_from == Some(centre) {
            return;
        }
        self.counted_from = Some(centre);
        self.cables.clear();
        self.cables.resize(flat.passes.len(), u32::MAX);
        self.cables[centre as usize] = 0;
        self.queue.clear();
        self.queue.push(centre);
        let mut at = 0;
        while let Some(&node) = self.queue.get(at) {
            at += 1;
            if node != centre && !flat.passes[node as usize] {
                continue;
            }
            let next = self.cables[node as usize] + 1;
            let range = self.first[node as usize] as usize..self.first[node as usize + 1] as usize;
            for &from in &self.neighbours[range] {
                if self.cables[from as usize] == u32::MAX {
                    self.cables[from as usize] = next;
                    self.queue.push(from);
                }
            }
        }
    }

    /// Cables from a host to the destination prepared for; `None` without a path.
    pub fn from(&self, flat: &Flat, host: u32, goal: u32) -> Option<u32> {
        let last = u32::from(self.counted_from != Some(goal));
        let cables = match flat.leaf(host).map(|c| flat.to(c)) {
            None => self.cables[host as usize],
            Some(near) if self.counted_from == Some(near) => 1,
            Some(near) if flat.passes[near as usize] => self.cables[near as usize].saturating_add(1),
            Some(_) => u32::MAX,
        };
        Some(cables).filter(|&c| c != u32::MAX).map(|c| c + last)
    }
}
