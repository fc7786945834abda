//! Carriers: between each two nodes a list of frames under way, of which any may arrive next.

use std::num::NonZeroU64;

use tasuki_msg::{Data, Frame, PeerId, Transmit};
use tasuki_testkit::Check;

use super::World;

/// What carriers do, in percent.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// A frame overtakes others.
    pub reorder: u64,
    /// Payload is copied when it is sent, and the buffer released at once (shared memory).
    pub copy: u64,
    /// A `Data` frame arrives in pieces.
    pub cut: u64,
    /// The engine does not look at the actions after a frame, but handles more frames first.
    pub lazy: u64,
    /// A pull fails.
    pub pull_fails: u64,
    /// Payload bytes that fit into a frame: one of these, not a percentage.
    pub rooms: [u64; 3],
}

impl Habits {
    /// Frames arrive in order and whole, and payload is read from the sender's buffer.
    pub const PLAIN: Habits =
        Habits { reorder: 0, copy: 0, cut: 0, lazy: 0, pull_fails: 0, rooms: [1 << 20; 3] };
}

/// The payload of a frame under way.
enum Bytes {
    Copied(Vec<u8>),
    /// Read from the send buffer when the frame arrives, as a retransmission would be.
    InPlace {
        /// The oracle's key for the payload.
        key: u64,
        /// First byte, counted from the beginning of that payload.
        offset: u64,
    },
}

/// A frame under way, or a piece of one.
pub(super) struct InFlight {
    frame: Frame,
    bytes: Bytes,
}

impl World {
    /// Lets the endpoint hand one frame to a carrier, for a peer that is drawn. Returns false if no peer is
    /// active.
    pub fn transmit(&mut self, node: usize) -> Check<bool> {
        while let Some(peer) = self.oracle.nodes[node].ep.poll_active() {
            self.oracle.nodes[node].set_active(peer, true);
        }
        let active = self.oracle.nodes[node].peers.iter().filter(|known| known.active);
        let active: Vec<PeerId> = active.map(|known| known.peer).collect();
        if active.is_empty() {
            return Ok(false);
        }
        let peer = self.rng.pick(&active);
        let room = NonZeroU64::new(self.rng.pick(&self.habits.rooms)).ok_or("room 0")?;
        let there = self.oracle.nodes[node].node_for(peer).ok_or("active stranger")?;
        if let Some((transmit, key)) = self.oracle.next_frame(node, peer, room)? {
            self.launch(node, there, &transmit, key)?;
        }
        self.settle(node)?;
        Ok(true)
    }

    fn launch(&mut self, from: usize, to: usize, transmit: &Transmit, key: Option<u64>) -> Check {
        let bytes = match (transmit.payload, key) {
            (Some(payload), Some(key)) if self.rng.chance(self.habits.copy) => {
                let mut bytes = vec![0; payload.len as usize];
                self.oracle.read_payload(from, key, 0, &mut bytes)?;
                self.oracle.sent[payload.user as usize].copied = true;
                self.oracle.release_payload(from, key, false)?;
                Bytes::Copied(bytes)
            }
            (_, Some(key)) => {
                self.pieces.insert((from, key), 1);
                Bytes::InPlace { key, offset: 0 }
            }
            (_, None) => Bytes::Copied(Vec::new()),
        };
        self.cut(from, to, InFlight { frame: transmit.frame, bytes });
        Ok(())
    }

    /// Puts a frame on its way; a carrier may cut `Data` into pieces.
    fn cut(&mut self, from: usize, to: usize, whole: InFlight) {
        let mut frames = vec![whole];
        if let Frame::Data(data) = frames[0].frame
            && data.len > 1
            && self.rng.chance(self.habits.cut)
        {
            let first_len = 1 + self.rng.below(data.len - 1);
            frames = split(frames.remove(0), data, first_len);
            if let Bytes::InPlace { key, .. } = frames[0].bytes
                && let Some(pieces) = self.pieces.get_mut(&(from, key))
            {
                *pieces += 1;
            }
        }
        self.links.entry((from, to)).or_default().extend(frames);
    }

    /// Number of frames under way on a link.
    pub fn under_way(&self, from: usize, to: usize) -> usize {
        self.links.get(&(from, to)).map_or(0, Vec::len)
    }

    /// The links on which frames are under way.
    pub fn busy_links(&self) -> Vec<(usize, usize)> {
        self.links.iter().filter(|(_, frames)| !frames.is_empty()).map(|(&ends, _)| ends).collect()
    }

    /// One frame of a link is lost with its dead sender.
    pub fn lose(&mut self, from: usize, to: usize) {
        if let Some(frames) = self.links.get_mut(&(from, to)) {
            frames.pop();
        }
    }

    /// Some frame of a link arrives, if there is any.
    pub fn deliver(&mut self, from: usize, to: usize) -> Check {
        let frames = self.under_way(from, to);
        if frames == 0 {
            return Ok(());
        }
        let at = if self.rng.chance(self.habits.reorder) { self.rng.index(frames) } else { 0 };
        self.deliver_at(from, to, at)
    }

    /// The `at`th of the frames under way arrives.
    pub fn deliver_at(&mut self, from: usize, to: usize, at: usize) -> Check {
        let InFlight { frame, bytes } = self.links.get_mut(&(from, to)).ok_or("no link")?.remove(at);
        if !self.oracle.nodes[to].alive {
            return Ok(());
        }
        let (bytes, key) = match bytes {
            Bytes::Copied(bytes) => (bytes, None),
            Bytes::InPlace { key, offset } => {
                let mut bytes = vec![0; frame.payload_len() as usize];
                self.oracle.read_payload(from, key, offset, &mut bytes)?;
                (bytes, Some(key))
            }
        };
        // Half of the messages that could take the receiver's fast path are not offered to it.
        let inline = matches!(frame, Frame::Start(_)) && self.rng.chance(50);
        self.oracle.arrive(from, to, &frame, &bytes, inline)?;
        // A goodbye changes what the model expects of the next call, so its events are not left waiting.
        let node = &self.oracle.nodes[to];
        let status = node.peer_for(from).and_then(|peer| node.ep.peer_status(peer));
        if status.is_some_and(|status| status.gone) || !self.rng.chance(self.habits.lazy) {
            self.settle(to)?;
        }
        key.map_or(Ok(()), |key| self.release_piece(from, key))
    }

    /// One piece of a frame has arrived; when it is the last, the carrier releases the payload to the sender.
    fn release_piece(&mut self, from: usize, key: u64) -> Check {
        let pieces = self.pieces.get_mut(&(from, key)).ok_or("a piece of no frame")?;
        *pieces -= 1;
        if *pieces > 0 {
            return Ok(());
        }
        self.pieces.remove(&(from, key));
        if self.oracle.nodes[from].alive {
            self.oracle.release_payload(from, key, false)?;
            self.settle(from)?;
        }
        Ok(())
    }
}

fn split(whole: InFlight, data: Data, first_len: u64) -> Vec<InFlight> {
    let second = Data { offset: data.offset + first_len, len: data.len - first_len, ..data };
    let (first_bytes, second_bytes) = match whole.bytes {
        Bytes::Copied(mut bytes) => {
            let rest = bytes.split_off(first_len as usize);
            (Bytes::Copied(bytes), Bytes::Copied(rest))
        }
        Bytes::InPlace { key, offset } => {
            (Bytes::InPlace { key, offset }, Bytes::InPlace { key, offset: offset + first_len })
        }
    };
    vec![
        InFlight { frame: Frame::Data(Data { len: first_len, ..data }), bytes: first_bytes },
        InFlight { frame: Frame::Data(second), bytes: second_bytes },
    ]
}
