//! Which rail: the one that delivers earliest. Which of its lanes: one at a time, as they share the wire.

use tasuki_wire::{Lane, Path as PathId};

use crate::conn::{Conn, Context};
use crate::path::Path;
use crate::rtt::ns;
use crate::stats::RailState;

/// Time-outs in a row of one lane before the other lane of its rail takes over.
pub(crate) const FORGIVEN: u32 = 2;

impl Conn {
    /// The path for the next packet with data; `None` if waiting for a place on the best one is better than any
    /// other. Rails that are silent just now are used only if all are, and the last resort only if no other lives.
    pub fn choose_path(&mut self, cx: &Context<'_>) -> Option<usize> {
        self.streaming = self.is_streaming(cx);
        let normal = !self.needs_last_resort(cx);
        let usable = |at: usize, path: &Path| {
            path.is_up() && !(normal && self.is_last_resort(at)) && !self.is_relieved(path)
        };
        let current = self.current;
        // (silent, delivery): whoever answers goes before whoever is silent.
        let mut best: Option<((bool, u64), usize)> = None;
        let mut stay = None;
        for (at, path) in self.paths.iter().enumerate() {
            if !usable(at, path) {
                continue;
            }
            let rank = (!path.is_lively(), path.delivery_ns());
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
        // The lane for a stream is not that for short messages.
        self.in_a_row = if self.streaming { u32::MAX } else { 0 };
        Some(at)
    }

    /// What waits is much: batches of datagrams are cheaper then than frame by frame. Once begun a stream goes on in the same way until
    /// it has run dry.
    fn is_streaming(&self, cx: &Context<'_>) -> bool {
        self.streaming || self.outbox.unsent > cx.config.stream_from
    }

    /// Another lane of the same rail lives and is better for what waits now: raw frames for what is short, UDP for streams if the rail is not slow. A time-out is not
    /// yet a reason to change: most often the peer's host is busy, and would have to take twice as much at once afterwards.
    fn is_relieved(&self, path: &Path) -> bool {
        let better = match path.id.lane {
            Lane::Udp if !self.streaming || path.slow => Lane::Raw,
            Lane::Raw if self.streaming && !path.slow => Lane::Udp,
            _ => return false,
        };
        self.paths.iter().any(|other| {
            other.id.rail == path.id.rail
                && other.id.lane == better
                && other.is_up()
                && other.pto_streak < FORGIVEN
        })
    }

    /// No other rail is up, or all that are have been silent for long: a busy host is silent for a while, too.
    fn needs_last_resort(&self, cx: &Context<'_>) -> bool {
        let patience = ns(cx.config.last_resort_after);
        self.paths.iter().enumerate().all(|(at, path)| {
            let silent =
                path.pto_streak >= cx.config.dead_after && cx.now.since_ns(path.pto_streak_since) > patience;
            self.is_last_resort(at) || !path.is_up() || silent
        })
    }

    /// The living path that delivers earliest.
    pub fn best_lively(&self) -> Option<usize> {
        let lively = self.paths.iter().enumerate().filter(|(_, path)| path.is_lively());
        lively.min_by_key(|(at, path)| (self.is_last_resort(*at), path.delivery_ns())).map(|(at, _)| at)
    }

    /// A path for what cannot wait: the best living one; if there is none, all in turn that this side has. Also those that the peer does not have, as
    /// far as is known: it may have them again and be unable to say so. Not their raw lanes: where their frames go is not known then.
    pub fn guess_path(&mut self) -> Option<usize> {
        if let Some(at) = self.best_lively() {
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

    /// This side has an end of the rail, with this lane.
    fn has_end(&self, id: PathId) -> bool {
        self.own.iter().any(|rail| rail.rail == id.rail && rail.lanes.contains(id.lane))
    }

    /// Where an acknowledgement for packets of path `at` goes: back on the same rail, unless that is known not to work.
    pub fn answer_path(&self, at: usize) -> usize {
        let path = &self.paths[at];
        match path.owed.via {
            Some(via) if self.paths[via].is_lively() => via,
            _ if path.is_lively() => at,
            _ => self.best_lively().unwrap_or(at),
        }
    }
}
