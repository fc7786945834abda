//! The choice of a path: the rail that delivers earliest, and of its lanes one at a time, because the lanes
//! of a rail share its wire.

use tasuki_tuning::rails;
use tasuki_wire::{Lane, Path as PathId};

use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::path::Path;
use crate::rtt::ns;
use crate::stats::RailState;

impl Conn {
    /// The path for the next packet with data; `None` if waiting for room in the window of the best path is
    /// better than any other path. A path that has had a probe time-out since it was last heard is used only
    /// if all have, and the last-resort rail only if no other rail is up.
    pub fn choose_path(&mut self, cx: &Context<'_>) -> Option<usize> {
        self.streaming = self.is_streaming(cx);
        let normal = !self.needs_last_resort(cx);
        let usable = |at: usize, path: &Path| {
            path.is_up() && !(normal && self.is_last_resort(at)) && !self.has_better_lane(path)
        };
        let known = self.least_known_trip(cx);
        let current = self.current;
        // Rank is (unresponsive, delivery time): a responsive path always ranks before one that has timed
        // out.
        let mut best: Option<((bool, u64), usize)> = None;
        let mut stay = None;
        for (at, path) in self.paths.iter().enumerate() {
            if !usable(at, path) {
                continue;
            }
            let rank = (!path.is_responsive(), path.delivery_ns(path.rtt.min_or(known, cx.now)));
            if at == current {
                stay = Some(rank);
            }
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, at));
            }
        }
        let ((silent, least), mut at) = best?;
        if let Some((stays_silent, eta)) = stay
            && stays_silent == silent
            && self.paths[current].has_window()
            && eta <= least.saturating_add(ns(cx.config.stripe_slack))
        {
            at = current;
        }
        if !self.paths[at].has_window() {
            for path in self.paths.iter_mut().filter(|path| !path.has_window()) {
                path.window.limited();
            }
            return None;
        }
        self.current = at;
        // A stream may use another lane than short messages do, so the fast path must choose anew afterwards.
        self.path_reuse = if self.streaming { u32::MAX } else { 0 };
        Some(at)
    }

    /// The smallest round trip of a path that is known by many packets, ns. An idle path is taken to be as
    /// fast until its own packets show what it is: if its only sample, of a probe, was long because a host
    /// was busy, and longer than the queues of other rails ever get, it would not be used, nor measured
    /// again.
    fn least_known_trip(&self, cx: &Context<'_>) -> Option<u64> {
        let known = self.paths.iter().filter(|path| path.is_responsive() && path.rtt.is_known(cx.now));
        let least = known.map(|path| path.rtt.min).min();
        least.filter(|_| !cx.plant.is(Defect::FirstTripStays))
    }

    /// Whether so much waits that batches of datagrams are cheaper than raw frames one by one. Once a stream
    /// has begun, it remains one until the outbox has run dry.
    fn is_streaming(&self, cx: &Context<'_>) -> bool {
        self.streaming || self.outbox.unsent > cx.config.stream_from
    }

    /// Whether another lane of the same rail is up and better for what waits now: the raw lane for short
    /// messages, the UDP lane for streams unless the rail is slow. A single probe time-out of that lane is no
    /// reason yet to avoid it: most often the peer's host is busy, and packets sent on both lanes would give
    /// it twice as much to process afterwards.
    fn has_better_lane(&self, path: &Path) -> bool {
        let better = match path.id.lane {
            Lane::Udp if !self.streaming || path.slow => Lane::Raw,
            Lane::Raw if self.streaming && !path.slow => Lane::Udp,
            _ => return false,
        };
        self.paths.iter().any(|other| {
            other.id.rail == path.id.rail
                && other.id.lane == better
                && other.is_up()
                && other.pto_streak < rails::LANE_SWITCH_PTOS
        })
    }

    /// Whether the last-resort rail must carry data: no other rail is up, or all that are up have been silent
    /// for long. (A busy host, too, is silent for a while.)
    fn needs_last_resort(&self, cx: &Context<'_>) -> bool {
        let longest = ns(cx.config.last_resort_after);
        self.paths.iter().enumerate().all(|(at, path)| {
            let silent =
                path.pto_streak >= cx.config.dead_after && cx.now.since_ns(path.pto_streak_since) > longest;
            self.is_last_resort(at) || !path.is_up() || silent
        })
    }

    /// The responsive path that delivers earliest.
    pub fn best_responsive(&self) -> Option<usize> {
        let lively = self.paths.iter().enumerate().filter(|(_, path)| path.is_responsive());
        lively
            .min_by_key(|(at, path)| (self.is_last_resort(*at), path.delivery_ns(path.rtt.min)))
            .map(|(at, _)| at)
    }

    /// A path for a packet that cannot wait: the best responsive path; if there is none, each path in turn of
    /// which this side has an end. These include rails that the peer does not have as far as is known,
    /// because it may have them again and be unable to say so; but not the raw lanes of such rails, whose
    /// destination is unknown.
    pub fn guess_path(&mut self) -> Option<usize> {
        if let Some(at) = self.best_responsive() {
            return Some(at);
        }
        let count = self.paths.len();
        self.guesses = self.guesses.wrapping_add(1);
        let turn = (0..count).map(|step| (self.guesses + step) % count);
        let fit = |at: &usize| {
            let path = &self.paths[*at];
            path.state != RailState::Off || (path.id.lane == Lane::Udp && self.has_end(path.id))
        };
        turn.into_iter().find(fit)
    }

    /// Whether this side has an end of the rail, with this lane.
    fn has_end(&self, id: PathId) -> bool {
        self.own.iter().any(|rail| rail.rail == id.rail && rail.lanes.contains(id.lane))
    }

    /// The path that carries acknowledgements for packets of path `at`: the same path, unless it is known not
    /// to work.
    pub fn ack_path(&self, at: usize) -> usize {
        let path = &self.paths[at];
        match path.owed.via {
            Some(via) if self.paths[via].is_responsive() => via,
            _ if path.is_responsive() => at,
            _ => self.best_responsive().unwrap_or(at),
        }
    }
}
