//! How many cables a path needs at least.

use crate::network::{Network, NodeId};

/// Cables from every node to a destination, `u32::MAX` where there is no path. Hosts that do not relay end paths.
pub(super) struct Needed {
    cables: Vec<u32>,
    /// The node that `cables` counts from, and what the last cable to the destination adds.
    counted_from: Option<NodeId>,
    queue: Vec<NodeId>,
}

impl Needed {
    pub fn new() -> Self {
        Self { cables: Vec::new(), counted_from: None, queue: Vec::new() }
    }

    /// Prepares for a destination. Hosts that hang on the same forwarding node by one cable share the count.
    pub fn towards(&mut self, net: &Network, goal: NodeId) {
        let mut cables = net.out(goal);
        let only = cables.next().filter(|_| cables.next().is_none() && !net.forwards(goal));
        let centre = only.map(|c| net.to(c)).filter(|&n| net.forwards(n)).unwrap_or(goal);
        if self.counted_from == Some(centre) {
            return;
        }
        self.counted_from = Some(centre);
        self.cables.clear();
        self.cables.resize(net.nodes().len(), u32::MAX);
        self.cables[centre.ix()] = 0;
        self.queue.clear();
        self.queue.push(centre);
        let mut at = 0;
        while at < self.queue.len() {
            let node = self.queue[at];
            at += 1;
            if node == centre || net.forwards(node) {
                for channel in net.out(node) {
                    let from = net.to(channel);
                    if self.cables[from.ix()] == u32::MAX {
                        self.cables[from.ix()] = self.cables[node.ix()] + 1;
                        self.queue.push(from);
                    }
                }
            }
        }
    }

    /// Cables from a host to the destination prepared for; `None` without a path.
    pub fn from(&self, host: NodeId, goal: NodeId) -> Option<u32> {
        let last = u32::from(self.counted_from != Some(goal));
        Some(self.cables[host.ix()]).filter(|&c| c != u32::MAX).map(|c| c + last)
    }
}
