//! The state of a connection as text: what a watchdog prints when nothing moves.

use std::fmt::Write;

use crate::conn::Conn;

impl Conn {
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let (acked, ranges, next) = self.outbox.progress();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "conn {} peer {:08x}/{:016x} open={} peer_knows={} hellos={} closing={} refused_by_peer={}",
            self.id.index,
            self.remote.endpoint,
            self.remote.incarnation,
            self.is_open(),
            self.peer_knows,
            self.hellos,
            self.closing.is_some(),
            self.refused_by_peer,
        );
        let _ = writeln!(
            text,
            "  send: frames={} next={next} acked={acked} (+{ranges} ranges) unsent={} again={} more={}",
            self.outbox.len(),
            self.outbox.unsent,
            self.outbox.lost.len(),
            self.outbox.more,
        );
        let _ = writeln!(
            text,
            "  receive: upto={} gaps={} packets={} confirmed={}",
            self.seen.base(),
            self.seen.gaps(),
            self.content,
            self.content_confirmed,
        );
        for path in &self.paths {
            let stats = path.stats();
            let _ = writeln!(
                text,
                "  rail {} {:?} {:?}{}: in_flight={}/{} packets={} silence={} srtt={}us min={}us rate={}MB/s \
                 next={} acked={:?} len={}/{} ack_owed={} lost={} resent={} timer={:?}",
                path.id.rail,
                path.id.lane,
                path.state,
                if stats.carrier { "" } else { " (no carrier)" },
                path.in_flight,
                path.window.size,
                path.flights,
                path.pto_streak,
                stats.srtt_ns / 1000,
                stats.min_rtt_ns / 1000,
                stats.rate / 1_000_000,
                path.sent.next_number(),
                path.largest_acked,
                path.proven_len,
                path.full_len,
                path.owed.pending,
                stats.lost_packets,
                stats.resent_bytes,
                path.pto_at,
            );
        }
        text
    }
}
