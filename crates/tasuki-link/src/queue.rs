//! Packets on their way to the kernel. Packets lie one behind the other in one preallocated block. A run of
//! packets to one address, all of one size but for a last one that may be shorter, is a *batch*: what one
//! send with UDP_SEGMENT takes (udp(7)).

use std::net::SocketAddr;

use crate::address::RawAddr;
use tasuki_tuning::datagrams::{WAITING_BATCHES, WAITING_BYTES};

/// Packets that one send may have: UDP_MAX_SEGMENTS of the kernel, which was 64 before Linux 6.9.
const SEGMENTS_MAX: usize = 64;
/// Bytes that one send may have: 65535 less the largest IP and UDP headers without options, and some room for
/// options.
const BATCH_BYTES_MAX: usize = 65_000;

/// Packets of one send.
pub(crate) struct Batch {
    pub(crate) to: SocketAddr,
    pub(crate) raw: RawAddr,
    pub(crate) raw_len: libc::socklen_t,
    /// Where its bytes begin in the block.
    start: usize,
    len: usize,
    /// Bytes of every packet but, perhaps, the last.
    pub(crate) size: usize,
    pub(crate) packets: usize,
    /// A shorter packet has ended the batch: nothing can be added.
    ended: bool,
    /// The kernel has refused the batch as one send, so it goes packet by packet.
    pub(crate) split: bool,
    /// Errors of sending it so far that may have been about other packets; see `UdpLink::flush`.
    pub(crate) errors: u32,
}

impl Batch {
    /// Whether a packet of `len` bytes to `to` can be added.
    fn takes(&self, to: SocketAddr, len: usize) -> bool {
        !self.ended
            && !self.split
            && self.to == to
            && len <= self.size
            && self.packets < SEGMENTS_MAX
            && self.len + len <= BATCH_BYTES_MAX
    }

    /// Bytes of the next send: those of the batch, or of one packet if the batch is split.
    pub(crate) fn next_len(&self) -> usize {
        if self.split { self.len.min(self.size) } else { self.len }
    }
}

/// The queue of packets. Nothing is allocated after `new`.
pub(crate) struct Queue {
    block: Box<[u8]>,
    used: usize,
    batches: Vec<Batch>,
    /// Batches before this one are done.
    first: usize,
    packets: usize,
    /// Whether packets are joined into batches.
    pub(crate) join: bool,
}

impl Queue {
    pub(crate) fn new(join: bool) -> Queue {
        let block = vec![0; WAITING_BYTES].into_boxed_slice();
        Queue { block, used: 0, batches: Vec::with_capacity(WAITING_BATCHES), first: 0, packets: 0, join }
    }

    /// Packets that wait.
    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    /// Adds a packet; see `UdpLink::queue`.
    pub(crate) fn push(
        &mut self,
        to: SocketAddr,
        max: usize,
        write: impl FnOnce(&mut [u8]) -> usize,
    ) -> bool {
        if WAITING_BYTES - self.used < max || self.batches.len() == WAITING_BATCHES {
            return false;
        }
        let len = write(&mut self.block[self.used..self.used + max]).min(max);
        if len > 0 {
            self.add(to, len);
        }
        true
    }

    /// Where the next packet will lie, if that room is at least `least` bytes long and a packet can be added.
    pub(crate) fn room(&mut self, least: usize) -> Option<&mut [u8]> {
        let fits = WAITING_BYTES - self.used >= least && self.batches.len() < WAITING_BATCHES;
        fits.then(|| &mut self.block[self.used..])
    }

    /// Adds the first `len` bytes of [`Queue::room`] as a packet.
    pub(crate) fn add(&mut self, to: SocketAddr, len: usize) {
        match self.batches[self.first..].last_mut() {
            Some(last) if self.join && last.takes(to, len) => {
                last.len += len;
                last.packets += 1;
                last.ended = len < last.size;
            }
            _ => {
                let (raw, raw_len) = RawAddr::new(to);
                self.batches.push(Batch {
                    to,
                    raw,
                    raw_len,
                    start: self.used,
                    len,
                    size: len,
                    packets: 1,
                    ended: false,
                    split: false,
                    errors: 0,
                });
            }
        }
        self.used += len;
        self.packets += 1;
    }

    /// The batches that have not been sent.
    pub(crate) fn waiting(&self) -> &[Batch] {
        &self.batches[self.first..]
    }

    /// The first batch that has not been sent.
    pub(crate) fn front(&mut self) -> Option<&mut Batch> {
        self.batches.get_mut(self.first)
    }

    /// The bytes that `batch` sends next.
    pub(crate) fn bytes(&self, batch: &Batch) -> &[u8] {
        &self.block[batch.start..batch.start + batch.next_len()]
    }

    /// Takes what the next send of the first batch would send off the queue, be it sent or dropped. Returns
    /// how many packets and bytes that were.
    pub(crate) fn pop(&mut self) -> (usize, usize) {
        let Some(batch) = self.batches.get_mut(self.first) else { return (0, 0) };
        let bytes = batch.next_len();
        let packets = if batch.split { 1 } else { batch.packets };
        batch.start += bytes;
        batch.len -= bytes;
        batch.packets -= packets;
        batch.errors = 0;
        self.packets -= packets;
        if batch.packets == 0 {
            self.first += 1;
        }
        if self.first == self.batches.len() {
            self.batches.clear();
            self.first = 0;
            self.used = 0;
        }
        (packets, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn push(queue: &mut Queue, port: u16, len: usize) -> bool {
        queue.push(to(port), len.max(1), |_| len)
    }

    fn shape(queue: &Queue) -> Vec<(u16, usize, usize)> {
        queue.waiting().iter().map(|batch| (batch.to.port(), batch.size, batch.packets)).collect()
    }

    #[test]
    fn only_what_udp_segment_allows_is_joined() {
        let mut queue = Queue::new(true);
        for (port, len) in [(1, 100), (1, 100), (1, 60), (1, 60), (2, 60), (1, 60), (1, 61)] {
            assert!(push(&mut queue, port, len));
        }
        assert_eq!(shape(&queue), [(1, 100, 3), (1, 60, 1), (2, 60, 1), (1, 60, 1), (1, 61, 1)]);
    }

    #[test]
    fn batches_end_at_64_packets_and_at_65000_bytes() {
        let mut queue = Queue::new(true);
        (0..65).for_each(|_| assert!(push(&mut queue, 1, 8)));
        (0..8).for_each(|_| assert!(push(&mut queue, 2, 8972)));
        assert_eq!(shape(&queue), [(1, 8, 64), (1, 8, 1), (2, 8972, 7), (2, 8972, 1)]);
    }

    #[test]
    fn a_full_queue_says_so_and_is_empty_again_after_the_last_pop() {
        let mut queue = Queue::new(true);
        let mut count = 0;
        while push(&mut queue, 1, 9000) {
            count += 1;
        }
        assert_eq!(count, (1 << 20) / 9000);
        assert!(!queue.push(to(1), 9000, |_| panic!("asked although full")));
        let mut popped = 0;
        while !queue.waiting().is_empty() {
            popped += queue.pop().0;
        }
        assert_eq!((popped, queue.packets()), (count, 0));
        assert!(push(&mut queue, 1, 9000));
    }

    #[test]
    fn a_packet_written_in_place_is_one_like_any_other() {
        let mut queue = Queue::new(true);
        assert!(push(&mut queue, 1, 10));
        queue.room(10).unwrap()[..10].fill(7);
        queue.add(to(1), 10);
        assert_eq!(shape(&queue), [(1, 10, 2)]);
        assert_eq!(queue.bytes(&queue.waiting()[0])[10..], [7; 10]);
        assert!(queue.room(WAITING_BYTES - 20).is_some() && queue.room(WAITING_BYTES - 19).is_none());
    }

    #[test]
    fn a_split_batch_goes_packet_by_packet() {
        let mut queue = Queue::new(true);
        [10, 10, 4].iter().for_each(|&len| assert!(push(&mut queue, 1, len)));
        queue.front().unwrap().split = true;
        assert_eq!([queue.pop(), queue.pop(), queue.pop(), queue.pop()], [(1, 10), (1, 10), (1, 4), (0, 0)]);
    }
}
