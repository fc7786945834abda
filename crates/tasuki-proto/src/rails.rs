//! Which paths there are, and which of them are fit for data: configuration, probes, death and return.

use tasuki_wire::{Frame, Path as PathId, Rail, Rails};

use crate::config::Config;
use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::event::{DownReason, Event};
use crate::path::{MAX_REPLIES, Path, floor_len, packet_len};
use crate::rtt::ns;
use crate::sent::Fate;
use crate::stats::RailState;
use crate::time::Time;

/// Probes of full length before it is tried whether the rail passes small packets only.
const FULL_ATTEMPTS: u32 = 3;

impl Conn {
    /// Joins both ends' lists: which paths exist, how long their packets are. Rails that are lost go to `lost`.
    pub fn update_paths(&mut self, config: &Config, lost: &mut Vec<(usize, DownReason)>) {
        for own in 0..self.own.len() {
            let own = self.own[own];
            for lane in Conn::lanes() {
                if own.lanes.contains(lane) {
                    let id = PathId { rail: own.rail, lane };
                    if self.find_path(id).is_none() {
                        self.paths.push(Path::new(id, config, own.rate_mbps));
                    }
                }
            }
        }
        for at in 0..self.paths.len() {
            self.update_path(at, config, lost);
        }
    }

    fn update_path(&mut self, at: usize, config: &Config, lost: &mut Vec<(usize, DownReason)>) {
        let id = self.paths[at].id;
        let end = |list: &[Rail]| list.iter().find(|rail| rail.rail == id.rail).copied();
        let usable = |rail: &Rail| rail.lanes.contains(id.lane);
        let own = end(&self.own).filter(usable);
        let theirs = if self.is_open() { end(&self.theirs).filter(usable) } else { own };
        let path = &mut self.paths[at];
        let (Some(own), Some(theirs)) = (own, theirs) else {
            if path.is_up() {
                let why = if own.is_none() { DownReason::Local } else { DownReason::Remote };
                lost.push((at, why));
            }
            path.state = RailState::Off;
            path.probe.at = None;
            path.probe.due = false;
            return;
        };
        let rates = [own.rate_mbps, theirs.rate_mbps].into_iter().filter(|rate| *rate > 0);
        path.slow = rates.min().is_some_and(|rate| rate <= config.slow_mbps);
        let full = packet_len(id.lane, &own).min(packet_len(id.lane, &theirs));
        path.full_len = full.max(floor_len(id.lane));
        path.proven_len = path.proven_len.min(path.full_len);
        if path.state == RailState::Off {
            path.state = RailState::Unproven;
            path.proven_len = floor_len(id.lane);
            path.probe.attempts = 0;
        }
    }

    /// After any change of the lists: rescues what was on lost rails, asks the others.
    pub fn rails_changed(&mut self, cx: &mut Context<'_>) {
        let mut lost = Vec::new();
        self.update_paths(cx.config, &mut lost);
        self.proving |= !lost.is_empty();
        for (at, why) in lost {
            self.abandon_path(at, cx);
            self.announce_down(at, why, cx);
        }
        self.ask_paths();
    }

    /// From now on all rails are to be known.
    pub fn prove_rails(&mut self) {
        if !self.proving {
            self.proving = true;
            self.ask_paths();
        }
    }

    fn ask_paths(&mut self) {
        if !self.is_open() {
            return;
        }
        for path in &mut self.paths {
            // One that is used is asked at once what length it passes; the others when they may be needed.
            let unknown = matches!(path.state, RailState::Unproven | RailState::Down);
            let asks = (self.proving && unknown) || (path.is_up() && path.proven_len < path.full_len);
            if asks {
                path.probe.due = true;
            }
        }
    }

    /// Another message has come, or an answer: is it time to know all rails?
    pub fn note_use(&mut self, config: &Config) {
        if !self.proving && self.content + self.outbox.taken() >= config.prove_after {
            self.prove_rails();
        }
    }

    /// Asks for a sign of life on every path: probes are answered on the path on which they come, pings on others too, if the way back is dead.
    pub fn probe_all_paths(&mut self) {
        if self.mute {
            return;
        }
        if !self.is_open() {
            if self.hello_at.is_none() {
                self.hello_path = self.next_hello_path(self.hello_path);
            }
            self.hello_due = true;
            return;
        }
        for path in self.paths.iter_mut().filter(|path| path.state != RailState::Off) {
            path.probe.due = true;
            path.ping_due = path.is_up();
        }
    }

    fn announce_down(&self, at: usize, why: DownReason, cx: &mut Context<'_>) {
        cx.events.push_back(Event::RailDown(self.id, self.paths[at].id.rail, why));
    }

    /// The peer's list of rails.
    pub fn on_rails(&mut self, rails: &Rails<'_>, cx: &mut Context<'_>) {
        //= docs/wire.md#rail
        //# a list with a change that is not higher than the last one says nothing new.
        if rails.change <= self.their_change && self.their_change != 0 {
            return;
        }
        self.their_change = rails.change;
        self.theirs.clear();
        self.theirs.extend(rails.list.iter());
        self.rails_changed(cx);
        cx.events.push_back(Event::RailsChanged(self.id));
    }

    /// What is under way on a path goes again, over others.
    pub fn abandon_path(&mut self, at: usize, cx: &Context<'_>) {
        let path = &mut self.paths[at];
        let mut number = path.sent.first_number();
        let mut lost = 0;
        while number < path.sent.next_number() {
            let Some(sent) = path.sent.get_mut(number) else { break };
            if sent.fate == Fate::Flight {
                sent.fate = Fate::Lost;
                let sent = *sent;
                lost += 1;
                self.welcome_due |= sent.says.welcome && !self.peer_knows;
                self.rails_due |= sent.says.rails;
                if !cx.plant.is(Defect::DeathLoses) {
                    for entry in 0..u64::from(sent.entries) {
                        self.outbox.lost.extend(path.sent.entry(sent.at + entry));
                    }
                }
            }
            number += 1;
        }
        path.stats.lost_packets += lost;
        (path.in_flight, path.flights, path.pto_streak) = (0, 0, 0);
        (path.loss_at, path.pto_at, path.ping_due) = (None, None, false);
        path.sent.settle();
    }

    /// A path that stays silent while another one lives is dead.
    pub fn judge_path(&mut self, at: usize, cx: &mut Context<'_>) {
        let path = &self.paths[at];
        let patience = if path.cut.is_some() { 1 } else { cx.config.dead_after };
        if !path.is_up() || path.pto_streak < patience {
            return;
        }
        let since = path.pto_streak_since;
        let alive = |(other, path): (usize, &Path)| other != at && path.is_lively() && path.last_ack > since;
        if !self.paths.iter().enumerate().any(alive) {
            return;
        }
        self.drop_path(at, DownReason::Silent, cx);
    }

    /// A path carries nothing any more until it answers a probe.
    pub fn drop_path(&mut self, at: usize, why: DownReason, cx: &mut Context<'_>) {
        self.abandon_path(at, cx);
        self.prove_rails();
        let path = &mut self.paths[at];
        path.state = RailState::Down;
        path.probe.attempts = 0;
        let forbidden = cx.plant.is(Defect::CarrierForbids) && why == DownReason::Carrier;
        path.probe.at = (!forbidden).then(|| cx.now + cx.config.probe_min);
        self.announce_down(at, why, cx);
    }

    /// Size of the next probe of a path, and its nonce; sets the time of the one after.
    pub fn next_probe(&mut self, at: usize, cx: &mut Context<'_>) -> (u64, usize) {
        let path = &mut self.paths[at];
        let probe = &mut path.probe;
        probe.due = false;
        // A rail that comes back passes first of all small packets, if the long ones fail.
        let small =
            probe.attempts >= FULL_ATTEMPTS && probe.attempts % 2 == 1 && !path.state.eq(&RailState::Up);
        probe.attempts = probe.attempts.saturating_add(1);
        let wait = ns(cx.config.probe_min).saturating_mul(1 << probe.attempts.min(16));
        probe.at = Some(cx.now.after_ns(wait.min(ns(cx.config.probe_max))));
        if cx.plant.is(Defect::NeverBack) && path.state == RailState::Down {
            probe.at = None;
        }
        // The nonce says which of the sizes was answered: replies may be late.
        let nonce = cx.random.next_u64() << 1 | u64::from(small);
        probe.asks(nonce, cx.now);
        (nonce, if small { floor_len(path.id.lane) } else { path.full_len })
    }

    /// The peer asks whether the path works.
    pub fn on_probe(&mut self, at: usize, nonce: u64, length: u16, now: Time) {
        let path = &mut self.paths[at];
        if path.replies.len() < MAX_REPLIES {
            path.replies.push((nonce, length));
        }
        if matches!(path.state, RailState::Unproven | RailState::Down) {
            path.probe.hurry(now);
        }
    }

    /// The peer has got our probe.
    pub fn on_probe_reply(&mut self, nonce: u64, id: PathId, length: u16, cx: &mut Context<'_>) {
        let Some(at) = self.find_path(id) else { return };
        let path = &mut self.paths[at];
        if path.state == RailState::Off {
            return;
        }
        let Some(sent_at) = path.probe.answered(nonce) else { return };
        let rtt = cx.now.since_ns(sent_at);
        path.rtt.sample(cx.now, rtt, 0);
        if path.cut.is_some_and(|cut| sent_at <= cut) {
            // It has crossed while there was a carrier.
            return;
        }
        path.cut = None;
        path.last_ack = cx.now;
        path.proven_len = path.proven_len.max(usize::from(length).min(path.full_len));
        path.probe.at = if path.proven_len < path.full_len { path.probe.at } else { None };
        if !path.is_up() {
            self.raise(at, cx);
        }
    }

    /// The path may carry data.
    pub fn raise(&mut self, at: usize, cx: &mut Context<'_>) {
        let path = &mut self.paths[at];
        if path.state == RailState::Off {
            return;
        }
        path.state = RailState::Up;
        path.pto_streak = 0;
        // It may be better than the one that is used.
        self.in_a_row = u32::MAX;
        if cx.plant.is(Defect::NoProbe) {
            path.proven_len = path.full_len;
        }
        if path.proven_len < path.full_len && path.probe.at.is_none() {
            path.probe.due = true;
        }
        cx.events.push_back(Event::RailUp(self.id, path.id.rail));
        self.judge_carriers(cx);
    }

    /// Replies to the peer's probes of a path.
    pub fn reply_frame(&mut self, at: usize) -> Option<Frame<'static>> {
        let path = &mut self.paths[at];
        let (nonce, length) = path.replies.pop()?;
        Some(Frame::ProbeReply { nonce, path: path.id, length })
    }
}
