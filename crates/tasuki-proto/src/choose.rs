//! Which rail: the one that delivers earliest.

use crate::conn::{Conn, Context};
use crate::path::Path;
use crate::rtt::ns;

impl Conn {
    /// The path for the next packet with data; `None` if waiting for a place on the best one is better than any
    /// other. Rails that are silent just now are used only if all are, and the last resort only if no other lives.
    pub fn choose_path(&mut self, cx: &Context<'_>) -> Option<usize> {
        let normal = self.has_better_than_last();
        let lively = normal || self.paths.iter().any(Path::is_lively);
        let current = self.current;
        let mut best: Option<(usize, u64)> = None;
        let mut stay = None;
        for (at, path) in self.paths.iter().enumerate() {
            let fit = if normal { path.is_lively() && !self.is_last_resort(at) } else { path.is_up() };
            if !fit || (lively && !path.is_lively()) {
                continue;
            }
            let eta = path.delivery_ns();
            if at == current {
                stay = Some(eta);
            }
            if best.is_none_or(|(_, least)| eta < least) {
                best = Some((at, eta));
            }
        }
        let (mut at, least) = best?;
        if let Some(eta) = stay
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
        Some(at)
    }

    /// The living path that delivers earliest.
    pub fn best_lively(&self) -> Option<usize> {
        let lively = self.paths.iter().enumerate().filter(|(_, path)| path.is_lively());
        lively.min_by_key(|(_, path)| path.delivery_ns()).map(|(at, _)| at)
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
