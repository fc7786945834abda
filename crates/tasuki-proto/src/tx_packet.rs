//! A packet under construction: what all kinds of packets have in common.

use tasuki_wire::{Ack, Frame, Header, MAX_PACKET_NUMBER, PacketBuilder, Runs};

use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::event::Transmit;
use crate::sent::{Fate, Says, Sent};
use crate::stats::RailState;

/// What must be remembered of the packet once it is sent.
pub(crate) struct TxPacket {
    pub path: usize,
    pub says: Says,
    /// Count of received packets with new content that it acknowledges all of ([`Sent::acknowledges`]); 0: it
    /// does not acknowledge all.
    pub acknowledges: u64,
}

/// Most bytes that an acknowledgement takes besides its runs.
const ACK_HEAD: usize = 1 + 1 + 9 + 9 + 9 + 1;
/// Bytes that one more run takes in an acknowledgement, nearly always.
const ACK_RUN: usize = 6;

impl Conn {
    /// Begins a packet of at most `most` bytes on path `at`.
    pub fn begin<'b>(
        &mut self,
        at: usize,
        most: usize,
        packet: &'b mut [u8],
    ) -> Option<(PacketBuilder<'b>, TxPacket)> {
        let path = &mut self.paths[at];
        let number = path.sent.next_number();
        if number > MAX_PACKET_NUMBER {
            path.state = RailState::Off;
            return None;
        }
        let header = Header {
            path: path.id,
            number,
            endpoint: self.remote.endpoint,
            peer: self.peer_name,
            token: self.remote.secret.token(),
        };
        let len = packet.len().min(most);
        let mut builder = PacketBuilder::new(&mut packet[..len], header).ok()?;
        if self.keys.is_some() {
            builder = builder.with_tag().ok()?;
        }
        Some((builder, TxPacket { path: at, says: Says::default(), acknowledges: 0 }))
    }

    /// Adds the acknowledgements that are owed and may be sent on this path.
    pub fn push_acks(&mut self, builder: &mut PacketBuilder<'_>, tx: &mut TxPacket, cx: &Context<'_>) {
        let mut all = true;
        for at in 0..self.paths.len() {
            let path = &self.paths[at];
            let bit = 1u32.checked_shl(tx.path as u32).unwrap_or(0);
            let also = path.owed.everywhere & bit != 0;
            if !path.owed.pending && !also {
                // It was acknowledged in a packet that may be lost unnoticed, or was lost.
                all &= path.owed.content <= self.content_confirmed;
                continue;
            }
            // Acknowledgements of other paths go along only if little is queued on this one: one that waits
            // in a long queue would make the other path look slow.
            let quick =
                self.paths[tx.path].in_flight <= cx.config.queue_low && !cx.plant.is(Defect::AckSameRail);
            if also || at == tx.path || quick || self.ack_path(at) == tx.path {
                all &= self.push_ack(at, builder, cx);
                let owed = &mut self.paths[at].owed;
                owed.everywhere &= !bit;
            } else {
                all = false;
            }
        }
        if all {
            tx.acknowledges = self.content;
        }
    }

    fn push_ack(&mut self, at: usize, builder: &mut PacketBuilder<'_>, cx: &Context<'_>) -> bool {
        let (path, list) = (&mut self.paths[at], &mut self.ack_runs);
        let Some(space) = builder.room().checked_sub(ACK_HEAD) else { return false };
        path.received.report(list, 1 + space / ACK_RUN);
        if list.is_empty() {
            path.owed.pending = false;
            return true;
        }
        let delay_us = cx.now.since_ns(path.owed.largest_at) / 1000;
        let ack = Frame::Ack(Ack { path: path.id, delay_us, runs: Runs::new(list) });
        if builder.push(&ack).is_err() {
            return false;
        }
        path.received.reported(list.len());
        let owed = &mut path.owed;
        (owed.pending, owed.now, owed.at, owed.full, owed.small) = (false, false, None, 0, 0);
        owed.acked_at = cx.now;
        true
    }

    /// Completes the packet and records it as sent.
    pub fn commit(
        &mut self,
        builder: PacketBuilder<'_>,
        tx: TxPacket,
        cx: &mut Context<'_>,
    ) -> Option<Transmit> {
        let finished = match &self.keys {
            None => builder.finish(),
            Some(keys) => builder.finish_tagged(&keys.tx),
        };
        let len = finished.ok()?;
        let path = &mut self.paths[tx.path];
        let tracked = path.sent.added() > 0 || tx.says != Says::default();
        path.sent.push(Sent {
            time: cx.now,
            bytes: len as u32,
            entries: 0,
            fate: if tracked { Fate::Flight } else { Fate::Untracked },
            says: tx.says,
            acknowledges: tx.acknowledges,
            at: 0,
        });
        path.stats.sent_packets += 1;
        path.stats.sent_bytes += len as u64;
        if tracked {
            path.in_flight += len as u64;
            path.flights += 1;
            path.last_sent = cx.now;
            self.content_acked = self.content_acked.max(tx.acknowledges);
            if self.peer_name != 0 {
                path.pto_at = Some(cx.now.after_ns(path.pto_ns(cx.config, self.peer_delay_ns)));
            }
        } else {
            path.sent.settle();
        }
        Some(Transmit { conn: self.id, path: path.id, len })
    }
}
