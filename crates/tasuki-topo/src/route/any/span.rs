//! The spanning tree that serves destinations for which no better routes are found.

use crate::network::ChannelId;
use crate::route::fabric::{Arc, Class, Fabric, NONE};
use crate::route::updown::spread;

/// A spanning tree of every connected part of the forwarding nodes.
pub(super) struct SpanningTree {
    /// `[row]`: the neighbours in the tree, with the channel to each.
    pub arcs: Vec<Vec<(u32, ChannelId)>>,
    /// `[row]`: distance from the root, and number; of two rows the one nearer to the root has the smaller
    /// rank.
    pub rank: Vec<(u32, u32)>,
    /// `[row]`: the root of its connected part.
    part: Vec<u32>,
}

impl SpanningTree {
    /// Grows a tree from the row that is nearest to the destinations of a share.
    pub fn new(fabric: &Fabric, share: &[usize]) -> Self {
        let n = fabric.routers.len();
        let mut tree = Self { arcs: vec![Vec::new(); n], rank: vec![(NONE, NONE); n], part: vec![NONE; n] };
        let mut members = Vec::new();
        for row in 0..n as u32 {
            if !fabric.forwards[row as usize] || tree.part[row as usize] != NONE {
                continue;
            }
            spread(fabric, row, &mut members);
            let root = nearest(fabric, share, &members);
            let level = spread(fabric, root, &mut members);
            for &row in &members {
                let at = level[row as usize];
                tree.part[row as usize] = root;
                tree.rank[row as usize] = (at, row);
                let above = |arc: &&Arc| {
                    fabric.forwards[arc.row as usize] && level[arc.row as usize].wrapping_add(1) == at
                };
                if let Some(arc) = fabric.out[row as usize].iter().find(above) {
                    tree.arcs[row as usize].push((arc.row, arc.channel));
                    tree.arcs[arc.row as usize].push((row, arc.channel.reverse()));
                }
            }
        }
        tree
    }

    /// Paths over the tree to a class: sets the next channel of every row.
    pub fn towards(&self, fabric: &Fabric, class: &Class, next: &mut [Option<ChannelId>]) {
        next.fill(None);
        let mut entered = vec![false; fabric.routers.len()];
        let mut queue = self.starts(fabric, class, next);
        queue.iter().for_each(|&row| entered[row as usize] = true);
        let mut head = 0;
        while let Some(&row) = queue.get(head) {
            head += 1;
            for &(to, channel) in &self.arcs[row as usize] {
                if !std::mem::replace(&mut entered[to as usize], true) {
                    next[to as usize] = Some(channel.reverse());
                    queue.push(to);
                }
            }
        }
        for row in
            (0..fabric.routers.len()).filter(|&row| !fabric.forwards[row] && row != class.root as usize)
        {
            let arc = fabric.out[row].iter().find(|arc| entered[arc.row as usize]);
            next[row] = next[row].or(arc.map(|arc| arc.channel));
        }
    }

    /// The rows where paths leave the tree: the root of the class if it forwards, otherwise one of its
    /// neighbours in each connected part. Neighbours of the root that do not forward send to it directly.
    fn starts(&self, fabric: &Fabric, class: &Class, next: &mut [Option<ChannelId>]) -> Vec<u32> {
        if fabric.forwards[class.root as usize] {
            return vec![class.root];
        }
        let mut starts: Vec<u32> = Vec::new();
        for arc in fabric.into[class.root as usize].iter().filter(|_| class.open) {
            let part = self.part[arc.row as usize];
            if part == NONE {
                next[arc.row as usize] = Some(arc.channel);
            } else if !starts.iter().any(|&row| self.part[row as usize] == part) {
                next[arc.row as usize] = Some(arc.channel);
                starts.push(arc.row);
            }
        }
        starts
    }
}

/// The member with the least sum of hops to the destinations of a share, the first of several.
fn nearest(fabric: &Fabric, share: &[usize], members: &[u32]) -> u32 {
    let mut sum = vec![0u64; fabric.routers.len()];
    let mut reached = Vec::new();
    for &class in share {
        let root = fabric.classes[class].root;
        if fabric.forwards[root as usize] {
            let level = spread(fabric, root, &mut reached);
            reached.iter().for_each(|&row| sum[row as usize] += u64::from(level[row as usize]));
        }
    }
    members.iter().copied().min_by_key(|&row| (sum[row as usize], row)).unwrap_or(0)
}
