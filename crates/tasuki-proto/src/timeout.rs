//! Time-outs: what a connection does when packets or answers do not arrive.

use tasuki_tuning::{loss, rails};
use tasuki_wire::Lane;

use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::given_up;
use crate::path::{LAST_RESORT, Path};
use crate::rtt::ns;
use crate::stats::RailState;

impl Conn {
    /// Does what is due at `cx.now`; returns whether anything was.
    pub fn on_timeout(&mut self, cx: &mut Context<'_>) -> bool {
        let due = |at: Option<crate::Time>| at.is_some_and(|at| at <= cx.now);
        if due(self.closing) {
            self.closing_timeout(cx);
            return true;
        }
        if self.given_up.is_some() {
            return given_up::tell_unasked(self, cx.config, cx.now);
        }
        if self.refused_by_peer {
            return false;
        }
        let mut any = false;
        if due(self.hello_at) {
            self.hello_again(cx);
            any = true;
        }
        for at in 0..self.paths.len() {
            any |= self.path_timeout(at, cx);
        }
        any
    }

    /// The closing state has lasted as long as a peer may need for the last acknowledgement. It begins anew
    /// while something of this side has not been acknowledged at all, for some rounds. Rounds are
    /// counted because in the time for which this process is stopped nothing can be sent again.
    fn closing_timeout(&mut self, cx: &Context<'_>) {
        let is_owed = !self.outbox.is_empty() && !self.refused_by_peer;
        if is_owed && self.closing_rounds < cx.config.closing_rounds {
            self.closing_rounds += 1;
            self.closing = Some(cx.now + cx.config.closing_timeout);
        } else {
            self.closing = None;
            self.expired = true;
        }
    }

    fn path_timeout(&mut self, at: usize, cx: &mut Context<'_>) -> bool {
        let now = cx.now;
        let path = &mut self.paths[at];
        let mut any = false;
        if path.owed.at.is_some_and(|due| due <= now) {
            path.owed.at = None;
            path.owed.now |= path.owed.pending;
            any = true;
        }
        if path.probe.at.is_some_and(|due| due <= now) {
            path.probe.at = None;
            if path.state != RailState::Off {
                path.probe.comes_due();
            }
            any = true;
        }
        if path.loss_at.is_some_and(|due| due <= now) {
            self.detect_losses(at, cx);
            any = true;
        }
        if self.paths[at].pto_at.is_some_and(|due| due <= now) {
            let pto = self.paths[at].pto_ns(cx.config, self.peer_delay_ns);
            let path = &mut self.paths[at];
            // One such grace until something is acknowledged: an endpoint that is always late must not wait
            // for ever.
            let had_grace = path.back > path.last_ack;
            let has_grace = path.was_away(now, pto) && !had_grace;
            path.pto_at = has_grace.then(|| now.after_ns(pto));
            if !has_grace && !cx.plant.is(Defect::NoPto) {
                self.probe_time_out(at, cx);
            }
            any = true;
        }
        any
    }

    //= https://www.rfc-editor.org/rfc/rfc9002#section-6.2
    //# A Probe Timeout (PTO) triggers the sending of one or two probe datagrams when ack-eliciting packets
    //# are not acknowledged within the expected period of time
    // Unlike in RFC 9002, the oldest packets are declared lost at once, because other rails can carry their
    // frames.
    fn probe_time_out(&mut self, at: usize, cx: &mut Context<'_>) {
        let path = &mut self.paths[at];
        path.stats.ptos += 1;
        path.pto_streak = path.pto_streak.saturating_add(1);
        path.ping_due = path.is_up();
        if path.pto_streak == 1 {
            let oldest = path.sent.oldest_in_flight();
            let sent = oldest.and_then(|number| path.sent.get_mut(number).map(|sent| sent.time));
            path.pto_streak_since = sent.unwrap_or(cx.now);
        }
        if path.pto_streak == cx.config.dead_after {
            path.window.silence(cx.config);
        }
        // A path that is not up carried its packets for want of a better one, and is not pinged.
        if !self.paths[at].is_up() || self.others_answer(at, cx) {
            // The peer answers on another rail, so this rail is at fault: everything in flight goes over
            // others, at once.
            let (streak, ping) = (self.paths[at].pto_streak, self.paths[at].ping_due);
            let long = self.requeue_in_flight(at, cx);
            let path = &mut self.paths[at];
            (path.pto_streak, path.ping_due) = (streak, ping);
            path.long_are_lost(long);
        } else {
            for _ in 0..loss::PTO_RESENDS {
                let Some(number) = self.paths[at].sent.oldest_in_flight() else { break };
                self.lose_packet(at, number, cx);
            }
            self.paths[at].sent.settle();
        }
        if !self.outbox.is_empty() {
            self.outbox.lowest_first(loss::LOWEST_POSITIONS);
        }
        if self.paths[at].pto_streak >= rails::PROVE_RAILS_PTOS {
            self.prove_rails();
        }
        self.mark_down_if_dead(at, cx);
    }

    /// Whether another rail was acknowledged after this path should have been. The other lane of the same
    /// rail proves less, because its packets may pass others in a switch's queue: it counts only after
    /// [`rails::LANE_SWITCH_PTOS`] time-outs.
    fn others_answer(&self, at: usize, cx: &Context<'_>) -> bool {
        let path = &self.paths[at];
        let expected = path.pto_streak_since.after_ns(path.rtt.pto_ns(cx.config, self.peer_delay_ns) / 2);
        let mut others = self.paths.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, other)| {
            let proves = other.id.rail != path.id.rail || path.pto_streak >= rails::LANE_SWITCH_PTOS;
            proves && other.is_responsive() && other.last_ack > expected
        })
    }

    /// A hello got no answer: sends another one on the next rail, which may do better. The last-resort rail
    /// comes last in turn.
    fn hello_again(&mut self, cx: &mut Context<'_>) {
        for at in 0..self.paths.len() {
            self.requeue_in_flight(at, cx);
        }
        self.hello_path = self.next_hello_path(self.hello_path + 1);
        self.hellos = self.hellos.saturating_add(1);
        self.hello_due = true;
        self.hello_at = None;
    }

    /// The first path from `from` on, in cyclic order, on which a hello can go; path 0 if there is none. Raw
    /// lanes are left out: where raw frames must go is known only from the peer's greeting.
    pub fn next_hello_path(&self, from: usize) -> usize {
        let count = self.paths.len().max(1);
        let turn = (0..count).map(|step| (from + step) % count);
        let usable = |path: &Path| path.state != RailState::Off && path.id.lane == Lane::Udp;
        // The first hello goes only where there is a carrier, later ones to every path in turn.
        let good = |path: &Path| usable(path) && (self.hellos > 0 || path.carrier_lost_at.is_none());
        let mut found = turn.clone().find(|at| self.paths.get(*at).is_some_and(good));
        found = found.or_else(|| turn.clone().find(|at| self.paths.get(*at).is_some_and(usable)));
        found.unwrap_or(0)
    }

    /// Time to wait for an answer to the hello that is being sent, ns.
    pub fn hello_wait_ns(&self, cx: &Context<'_>) -> u64 {
        ns(cx.config.initial_pto).saturating_mul(1 << self.hellos.min(16)).min(ns(cx.config.max_pto))
    }

    /// Whether it is the last-resort rail, which carries data only if no other one does.
    pub fn is_last_resort(&self, at: usize) -> bool {
        self.paths[at].id.rail == LAST_RESORT
    }
}
