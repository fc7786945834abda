//! Deadlock: a circle of full buffers whose heads each wait for the next one. A deadlock never dissolves, so
//! searching for one now and then is enough.

use super::error::Deadlock;
use super::plan::NONE;
use super::world::Fabric;

impl Fabric {
    /// A circle of buffers that wait for each other now, if there is one.
    pub fn deadlock(&self) -> Option<Deadlock> {
        let lanes = self.sources;
        // For each lane: 0 if it was not visited, otherwise the number of the walk that did.
        let mut seen = vec![0u32; lanes];
        for first in 0..lanes {
            let (mut at, walk) = (first, first as u32 + 1);
            while seen[at] == 0 {
                let Some(next) = self.waits_for(at) else { break };
                seen[at] = walk;
                at = next;
            }
            if seen[at] == walk && self.waits_for(at).is_some() {
                return Some(self.explain(at));
            }
        }
        None
    }

    /// The buffer that the head of another one waits for, if that is full for good as far as can be seen: no
    /// packet of it is leaving, and no room is being announced.
    fn waits_for(&self, lane: usize) -> Option<usize> {
        let queue = &self.lanes[lane];
        if !queue.waits || queue.head == NONE || queue.busy > self.now() {
            return None;
        }
        let packet = self.packets.get(queue.head);
        if !self.plan.lines[self.plan.channel(packet.lane)].limited {
            return None;
        }
        let next = packet.lane as usize;
        let buffer = &self.lanes[next];
        let full = !buffer.has_room(packet.bytes, self.size);
        (full && buffer.next_room() == u64::MAX).then_some(next)
    }

    fn explain(&self, first: usize) -> Deadlock {
        let (mut at, mut circle, mut packets) = (first, Vec::new(), 0);
        while let Some(next) = self.waits_for(at) {
            circle.push((self.name(self.plan.channel(at as u32)), self.plan.vc(at as u32)));
            let mut id = self.lanes[at].head;
            while id != NONE {
                packets += 1;
                id = self.packets.get(id).next;
            }
            at = next;
            if at == first {
                break;
            }
        }
        Deadlock { at_ps: self.now(), circle, packets }
    }
}
