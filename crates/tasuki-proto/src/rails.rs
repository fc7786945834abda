//! The paths of a connection and their state: configuration, probes, death and return of rails.

use tasuki_tuning::rails;
use tasuki_wire::{Frame, Path as PathId, Rail, Rails};

use crate::config::Config;
use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::event::{DownReason, Event};
use crate::path::{Path, floor_len, packet_len};
use crate::rtt::ns;
use crate::sent::Fate;
use crate::stats::RailState;
use crate::time::Time;

impl Conn {
    /// Combines the lists of rails of both ends: which paths exist and how long their packets may be. Appends
    /// paths that were up and no longer exist to `lost`.
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

    /// To be called after any change of the lists of rails: what was in flight on lost rails goes over
    /// others, and rails that are now of unknown state are probed.
    pub fn rails_changed(&mut self, cx: &mut Context<'_>) {
        let mut lost = Vec::new();
        self.update_paths(cx.config, &mut lost);
        self.proving |= !lost.is_empty();
        for (at, why) in lost {
            self.requeue_in_flight(at, cx);
            self.announce_down(at, why, cx);
        }
        self.ask_paths();
    }

    /// From now on every rail's state is to be known, so all that are not up are probed.
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
            // A path that is up is probed at once for its MTU; the others are probed only when they may be
            // needed.
            let unknown = matches!(path.state, RailState::Unproven | RailState::Down);
            let asks = (self.proving && unknown) || (path.is_up() && path.proven_len < path.full_len);
            if asks {
                path.probe.due = true;
            }
        }
    }

    /// To be called for each packet received: starts to probe all rails once the connection has been used
    /// enough.
    pub fn note_use(&mut self, config: &Config) {
        if !self.proving && self.content + self.outbox.taken() >= config.prove_after {
            self.prove_rails();
        }
    }

    /// Asks the peer for a sign of life on every path, with probes and pings: a probe is answered on the path
    /// on which it came, a ping on other paths too, in case the way back is dead.
    pub fn probe_all_paths(&mut self) {
        if self.refused_by_peer {
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

    /// Takes the peer's list of rails.
    pub fn on_rails(&mut self, rails: &Rails<'_>, cx: &mut Context<'_>) {
        if self.learn_rails(rails) {
            self.rails_changed(cx);
            cx.events.push_back(Event::RailsChanged(self.id));
        }
    }

    /// Remembers the peer's list of rails; returns whether it says something new. Paths do not change yet.
    pub fn learn_rails(&mut self, rails: &Rails<'_>) -> bool {
        //= docs/reference/wire.md#rail
        //# a list with a change that is not higher than the last one says nothing new.
        if rails.change <= self.their_change && self.their_change != 0 {
            return false;
        }
        self.their_change = rails.change;
        self.theirs.clear();
        self.theirs.extend(rails.list.iter());
        true
    }

    /// Declares everything in flight on a path lost, so that it is sent again over other paths. Returns how
    /// many of the packets were longer than what every rail must pass.
    pub fn requeue_in_flight(&mut self, at: usize, cx: &Context<'_>) -> u32 {
        let path = &mut self.paths[at];
        let mut number = path.sent.first_number();
        let (mut lost, mut long, mut acknowledged) = (0, 0, 0);
        while number < path.sent.next_number() {
            let Some(sent) = path.sent.get_mut(number) else { break };
            if sent.fate == Fate::Flight {
                sent.fate = Fate::Lost;
                let sent = *sent;
                lost += 1;
                long += u32::from(sent.bytes as usize > floor_len(path.id.lane));
                acknowledged = sent.acknowledges.max(acknowledged);
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
        self.doubt_acknowledged(acknowledged);
        long
    }

    /// Marks a path down if it has stayed silent while another one answered.
    pub fn mark_down_if_dead(&mut self, at: usize, cx: &mut Context<'_>) {
        let path = &self.paths[at];
        let allowed = if path.carrier_lost_at.is_some() { 1 } else { cx.config.dead_after };
        if !path.is_up() || path.pto_streak < allowed {
            return;
        }
        let since = path.pto_streak_since;
        let alive =
            |(other, path): (usize, &Path)| other != at && path.is_responsive() && path.last_ack > since;
        if !self.paths.iter().enumerate().any(alive) {
            return;
        }
        self.mark_down(at, DownReason::Silent, cx);
    }

    /// Takes a path out of use until it answers a probe.
    pub fn mark_down(&mut self, at: usize, why: DownReason, cx: &mut Context<'_>) {
        self.requeue_in_flight(at, cx);
        self.prove_rails();
        let path = &mut self.paths[at];
        path.state = RailState::Down;
        path.probe.attempts = 0;
        // The network may pass other lengths when it is back: a switch forgets its MTU when it restarts.
        path.doubt_length();
        let forbidden = cx.plant.is(Defect::CarrierForbids) && why == DownReason::Carrier;
        path.probe.at = (!forbidden).then(|| cx.now + cx.config.probe_min);
        self.announce_down(at, why, cx);
    }

    /// The nonce and the length of the next probe of a path, bytes; also sets the time of the probe after it.
    pub fn next_probe(&mut self, at: usize, cx: &mut Context<'_>) -> (u64, usize) {
        let path = &mut self.paths[at];
        let probe = &mut path.probe;
        probe.due = false;
        // If long probes have failed, every second one is short: a rail that comes back may at first pass
        // only short packets.
        let small = probe.attempts >= rails::FULL_ATTEMPTS
            && probe.attempts % 2 == 1
            && !path.state.eq(&RailState::Up);
        probe.attempts = probe.attempts.saturating_add(1);
        let wait = ns(cx.config.probe_min).saturating_mul(1 << probe.attempts.min(16));
        probe.at = Some(cx.now.after_ns(wait.min(ns(cx.config.probe_max))));
        if cx.plant.is(Defect::NeverBack) && path.state == RailState::Down {
            probe.at = None;
        }
        // The lowest bit of the nonce says which length was asked for, because replies may come late.
        let nonce = cx.random.next_u64() << 1 | u64::from(small);
        probe.asks(nonce, cx.now);
        (nonce, if small { floor_len(path.id.lane) } else { path.full_len })
    }

    /// The peer probes the path: notes that a reply is owed.
    pub fn on_probe(&mut self, at: usize, nonce: u64, length: u16, now: Time) {
        let path = &mut self.paths[at];
        if path.replies.len() < rails::REPLIES_MAX {
            path.replies.push((nonce, length));
        }
        if matches!(path.state, RailState::Unproven | RailState::Down) {
            path.probe.probe_soon(now);
        }
    }

    /// A probe of this side was answered: the path works.
    pub fn on_probe_reply(&mut self, nonce: u64, id: PathId, length: u16, cx: &mut Context<'_>) {
        let Some(at) = self.find_path(id) else { return };
        let path = &mut self.paths[at];
        if path.state == RailState::Off {
            return;
        }
        let Some(sent_at) = path.probe.answered(nonce) else { return };
        let rtt = cx.now.since_ns(sent_at);
        path.rtt.sample(cx.now, rtt, 0);
        if path.carrier_lost_at.is_some_and(|cut| sent_at <= cut) {
            // The probe was sent before the carrier was lost, so its reply does not disprove that.
            return;
        }
        path.carrier_lost_at = None;
        path.last_ack = cx.now;
        path.proven_len = path.proven_len.max(usize::from(length).min(path.full_len));
        path.probe.at = if path.proven_len < path.full_len { path.probe.at } else { None };
        if !path.is_up() {
            self.mark_up(at, cx);
        }
    }

    /// Brings a path into use: it may carry data.
    pub fn mark_up(&mut self, at: usize, cx: &mut Context<'_>) {
        let path = &mut self.paths[at];
        if path.state == RailState::Off {
            return;
        }
        path.state = RailState::Up;
        path.pto_streak = 0;
        // The new path may be better than the one in use, so the fast path must choose anew.
        self.path_reuse = u32::MAX;
        if cx.plant.is(Defect::NoProbe) {
            path.proven_len = path.full_len;
        }
        if path.proven_len < path.full_len && path.probe.at.is_none() {
            path.probe.due = true;
        }
        cx.events.push_back(Event::RailUp(self.id, path.id.rail));
        self.leave_paths_without_carrier(cx);
    }

    /// The next reply that is owed to a probe of the peer on this path.
    pub fn reply_frame(&mut self, at: usize) -> Option<Frame<'static>> {
        let path = &mut self.paths[at];
        let (nonce, length) = path.replies.pop()?;
        Some(Frame::ProbeReply { nonce, path: path.id, length })
    }
}
