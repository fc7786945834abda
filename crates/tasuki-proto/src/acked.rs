//! Processing of acknowledgements and detection of lost packets, per path, as in RFC 9002.

use tasuki_tuning::{loss, rails};
use tasuki_wire::Ack;

use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::path::{Path, floor_len};
use crate::sent::{Fate, Sent};
use crate::upcalls::{Outgoing, Upcalls};
use crate::window::Acked;

impl Conn {
    /// Processes an acknowledgement. It may be about packets of any path, not only the one on which it came.
    pub fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>, upcalls: &mut impl Upcalls) {
        let Some(at) = self.find_path(ack.path) else { return };
        let next = self.paths[at].sent.next_number();
        let mut top = None;
        let mut sum = Acked { bytes: 0, packets: 0, largest: 0, next, rtt: None };
        for (place, run) in ack.runs.iter().enumerate() {
            // The frame acknowledges packets that were never sent, so nothing in it can be believed.
            if run.last >= next {
                return;
            }
            let shift = u64::from(place > 0 && cx.plant.is(Defect::WrongGap));
            let clears = cx.plant.is(Defect::AckClearsBelow);
            let first = if clears { 0 } else { run.first + shift };
            let first = first.max(self.paths[at].sent.first_number());
            for number in first..=run.last + shift {
                let Some(sent) = self.acked_packet(at, number, cx, upcalls) else { continue };
                if place == 0 && number == run.last {
                    top = Some(sent.time);
                }
                sum.bytes += u64::from(sent.bytes);
                sum.packets += 1;
            }
            if place == 0 {
                sum.largest = run.last;
            }
        }
        if sum.packets == 0 {
            return;
        }
        self.after_ack(at, ack.delay_us, sum, top, cx);
        self.detect_losses(at, cx);
        self.paths[at].sent.settle();
    }

    /// Takes note that one packet has arrived; `None` if that was known before, or the packet is not tracked.
    fn acked_packet(
        &mut self,
        at: usize,
        number: u64,
        cx: &mut Context<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Option<Sent> {
        let path = &mut self.paths[at];
        let sent = path.sent.get_mut(number)?;
        match sent.fate {
            Fate::Acked | Fate::Untracked => return None,
            Fate::Flight => {
                path.in_flight -= u64::from(sent.bytes);
                path.flights -= 1;
            }
            Fate::Lost => {
                path.stats.spurious_losses += 1;
                path.threshold = (path.threshold * 2).min(loss::THRESHOLD_MAX);
            }
        }
        sent.fate = Fate::Acked;
        let sent = *sent;
        if sent.bytes as usize > floor_len(path.id.lane) {
            path.long_lost = 0;
            if sent.bytes as usize > path.proven_len {
                path.passes(sent.bytes as usize);
            }
        }
        self.content_confirmed = self.content_confirmed.max(sent.acknowledges);
        for entry in 0..u64::from(sent.entries) {
            let Some(entry) = path.sent.entry(sent.at + entry) else { continue };
            let Some(payload) = self.outbox.acknowledge(entry) else { continue };
            if !cx.plant.is(Defect::ReleaseOnSend) {
                upcalls.released(self.id, &payload);
            }
            if cx.plant.is(Defect::ReleaseTwice) && path.stats.resent_bytes > 0 {
                upcalls.released(self.id, &payload);
            }
        }
        Some(sent)
    }

    fn after_ack(
        &mut self,
        at: usize,
        delay_us: u64,
        mut sum: Acked,
        top: Option<crate::Time>,
        cx: &mut Context<'_>,
    ) {
        let path = &mut self.paths[at];
        path.largest_acked = path.largest_acked.max(Some(sum.largest));
        path.was_away(cx.now, path.pto_ns(cx.config, self.peer_delay_ns));
        if let Some(time) = top {
            if time >= path.back {
                path.rtt.sample(cx.now, cx.now.since_ns(time), delay_us.saturating_mul(1000));
                path.rtt.answered(cx.now);
                sum.rtt = Some(path.rtt.latest);
            }
            path.carrier_lost_at = path.carrier_lost_at.filter(|cut| time <= *cut);
        }
        path.pto_streak = 0;
        path.ping_due = false;
        path.last_ack = cx.now;
        let pto = path.pto_ns(cx.config, self.peer_delay_ns);
        path.pto_at = (path.flights > 0).then(|| path.last_sent.max(cx.now).after_ns(pto));
        path.window.acked(cx.now, cx.config, sum, path.rtt.min);
    }

    /// Declares packets lost that too many later packets have overtaken, or that were sent too long before an
    /// acknowledged packet.
    //= https://www.rfc-editor.org/rfc/rfc9002#section-6.1
    //# The packet is unacknowledged, in flight, and was sent prior to an acknowledged packet.
    pub fn detect_losses(&mut self, at: usize, cx: &mut Context<'_>) {
        let path = &mut self.paths[at];
        path.loss_at = None;
        let Some(largest) = path.largest_acked else { return };
        let (delay, threshold) = (path.rtt.loss_delay_ns(), path.threshold);
        let mut lost = 0;
        while let Some(number) = self.paths[at].sent.oldest_in_flight() {
            if number >= largest {
                break;
            }
            let path = &mut self.paths[at];
            let Some(sent) = path.sent.get_mut(number) else { break };
            let lost_at = sent.time.after_ns(delay);
            if number + threshold > largest && lost_at > cx.now {
                path.loss_at = Some(lost_at);
                break;
            }
            self.lose_packet(at, number, cx);
            lost += 1;
        }
        self.paths[at].window.lost(lost);
    }

    /// Declares a packet lost and queues its frames to be sent again.
    pub fn lose_packet(&mut self, at: usize, number: u64, cx: &Context<'_>) {
        let path = &mut self.paths[at];
        let Some(sent) = path.sent.get_mut(number) else { return };
        if sent.fate != Fate::Flight {
            return;
        }
        sent.fate = Fate::Lost;
        let sent = *sent;
        path.in_flight -= u64::from(sent.bytes);
        path.flights -= 1;
        path.stats.lost_packets += 1;
        path.long_are_lost(u32::from(sent.bytes as usize > floor_len(path.id.lane)));
        self.welcome_due |= sent.says.welcome && !self.peer_knows && !cx.plant.is(Defect::WelcomeOnce);
        self.rails_due |= sent.says.rails;
        for entry in 0..u64::from(sent.entries) {
            let Some(entry) = path.sent.entry(sent.at + entry) else { continue };
            let control = self.outbox.chunk(entry.chunk).map(|chunk| &chunk.what);
            if cx.plant.is(Defect::ForgetControl) && matches!(control, Some(Outgoing::Control(_))) {
                continue;
            }
            self.outbox.lost.push_back(entry);
        }
        if path.flights == 0 {
            path.pto_at = None;
        }
        self.doubt_acknowledged(sent.acknowledges);
    }

    /// A packet with the acknowledgements of the first packets with new content, so many of them, is lost:
    /// before the connection closes they must be sent again.
    pub fn doubt_acknowledged(&mut self, packets: u64) {
        if packets > self.content_confirmed {
            self.content_acked = self.content_confirmed;
        }
    }
}

impl Path {
    /// So many packets that are longer than what every rail must pass have been lost: doubts the length of
    /// the path if these are many in a row.
    pub fn long_are_lost(&mut self, count: u32) {
        self.long_lost = self.long_lost.saturating_add(count);
        if self.long_lost >= rails::MTU_HOLE_LOSSES {
            self.doubt_length();
        }
    }
}
