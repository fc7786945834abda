//! What happens when nothing happens.

use tasuki_wire::Lane;

use crate::choose::FORGIVEN;
use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::path::{LAST_RESORT, Path};
use crate::rtt::ns;
use crate::stats::RailState;

/// Packets that are sent again at a time-out.
const RESCUE: usize = 2;
/// Time-outs in a row after which the other rails must be known. One is most often a peer that waits for a processor.
const DOUBTED: u32 = 2;
/// Positions that are sent first after one: about a packet.
const LOWEST: u32 = 1200;

impl Conn {
    /// Does what is due at `cx.now`; whether anything was.
    pub fn on_timeout(&mut self, cx: &mut Context<'_>) -> bool {
        let due = |at: Option<crate::Time>| at.is_some_and(|at| at <= cx.now);
        if due(self.closing) {
            self.closing = None;
            self.expired = true;
            return true;
        }
        if self.mute {
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
            self.paths[at].pto_at = None;
            if !cx.plant.is(Defect::NoPto) {
                self.probe_time_out(at, cx);
            }
            any = true;
        }
        any
    }

    //= https://www.rfc-editor.org/rfc/rfc9002#section-6.2
    //# A Probe Timeout (PTO) triggers the sending of one or two probe datagrams when ack-eliciting packets are not
    //# acknowledged within the expected period of time
    // Here the oldest packets count as lost at once: other rails can carry their frames.
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
        // A path that is not up got what it carries for want of a better one, and is asked for no sign of life.
        if !self.paths[at].is_up() || self.others_answer(at, cx) {
            // The peer is awake, so it is this rail: all that is under way goes over others, at once.
            let (streak, ping) = (self.paths[at].pto_streak, self.paths[at].ping_due);
            self.abandon_path(at, cx);
            (self.paths[at].pto_streak, self.paths[at].ping_due) = (streak, ping);
        } else {
            for _ in 0..RESCUE {
                let Some(number) = self.paths[at].sent.oldest_in_flight() else { break };
                self.lose_packet(at, number, cx);
            }
            self.paths[at].sent.settle();
        }
        if !self.outbox.is_empty() {
            self.outbox.lowest_first(LOWEST);
        }
        if self.paths[at].pto_streak >= DOUBTED {
            self.prove_rails();
        }
        self.judge_path(at, cx);
    }

    /// Another rail was acknowledged after the silence of this one should have ended. The other lane of the same rail proves less: its packets may pass
    /// others in a switch's queue.
    fn others_answer(&self, at: usize, cx: &Context<'_>) -> bool {
        let path = &self.paths[at];
        let expected = path.pto_streak_since.after_ns(path.rtt.pto_ns(cx.config, self.peer_delay_ns) / 2);
        let mut others = self.paths.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, other)| {
            let proves = other.id.rail != path.id.rail || path.pto_streak >= FORGIVEN;
            proves && other.is_lively() && other.last_ack > expected
        })
    }

    /// No answer to a hello: another rail may do better. The last resort is the last in turn.
    fn hello_again(&mut self, cx: &mut Context<'_>) {
        for at in 0..self.paths.len() {
            self.abandon_path(at, cx);
        }
        self.hello_path = self.next_hello_path(self.hello_path + 1);
        self.hellos = self.hellos.saturating_add(1);
        self.hello_due = true;
        self.hello_at = None;
    }

    /// The first path from `from` on, in turn, on which a hello can go; path 0 if there is none. Not the raw lanes: where their frames
    /// go is known from the peer's greeting.
    pub fn next_hello_path(&self, from: usize) -> usize {
        let count = self.paths.len().max(1);
        let turn = (0..count).map(|step| (from + step) % count);
        let usable = |path: &Path| path.state != RailState::Off && path.id.lane == Lane::Udp;
        // The first hello goes where there is a carrier, the others everywhere in turn.
        let good = |path: &Path| usable(path) && (self.hellos > 0 || path.cut.is_none());
        let mut found = turn.clone().find(|at| self.paths.get(*at).is_some_and(good));
        found = found.or_else(|| turn.clone().find(|at| self.paths.get(*at).is_some_and(usable)));
        found.unwrap_or(0)
    }

    /// The wait for an answer to the hello that is being sent, ns.
    pub fn hello_wait_ns(&self, cx: &Context<'_>) -> u64 {
        ns(cx.config.initial_pto).saturating_mul(1 << self.hellos.min(16)).min(ns(cx.config.max_pto))
    }

    /// The last resort carries data only if nothing else does.
    pub fn is_last_resort(&self, at: usize) -> bool {
        self.paths[at].id.rail == LAST_RESORT
    }
}
