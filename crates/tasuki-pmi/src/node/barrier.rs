//! The barriers of one host's ranks, each of which is a fence too.

use super::{Action, Node};
use crate::{
    FenceIn,
    group::{Group, Members},
    rank::Stage,
    reply,
};
use std::collections::BTreeMap;

/// A barrier that ranks of this host are in.
#[derive(Debug)]
pub(super) struct Barrier {
    pub group: Group,
    /// Ranks of this host that take part.
    pub local: Vec<u32>,
    /// Those that have come, with what they called the group.
    pub came: BTreeMap<u32, Option<String>>,
    /// This host's part, once all have come.
    pub sent: Option<FenceIn>,
}

impl Node {
    /// A rank enters a barrier, of the group of this text; `None`: of all ranks.
    ///
    /// # Errors
    /// What is wrong with it, for the user.
    pub(super) fn enter(&mut self, rank: u32, text: Option<String>) -> Result<(), String> {
        let group =
            Group::parse(text.as_deref(), &self.shape).map_err(|what| format!("a barrier of {what}"))?;
        if !group.has(rank) {
            return Err(format!("a barrier of ranks {} without itself", group.key));
        }
        let state = self.ranks.get_mut(&rank).ok_or("a rank of another host")?;
        state.barriers += 1;
        if state.barriers > self.limits.barriers {
            return Err(format!("more than {} barriers at the same time", self.limits.barriers));
        }
        let local = || self.ranks.keys().copied().filter(|rank| group.has(*rank)).collect();
        let key = group.key.clone();
        let barrier = self.barriers.entry(key.clone()).or_insert_with(|| Barrier {
            local: local(),
            group: group.clone(),
            came: BTreeMap::new(),
            sent: None,
        });
        if barrier.came.insert(rank, text).is_some() {
            return Err("the same barrier twice at the same time".into());
        }
        let is_gone = |rank: &&u32| self.ranks.get(rank).is_some_and(|state| state.stage == Stage::Closed);
        if let Some(&awaits) = barrier.local.iter().find(is_gone) {
            self.actions.push_back(Action::Stuck { rank, awaits });
        }
        if barrier.came.len() == barrier.local.len() {
            self.all_came(&key);
        }
        Ok(())
    }

    /// All ranks of this host that take part in a barrier have come.
    fn all_came(&mut self, key: &str) {
        let Some(barrier) = self.barriers.get_mut(key) else { return };
        let is_local = match &barrier.group.members {
            Members::Node => true,
            Members::World => self.ranks.len() == self.shape.hosts_of_ranks.len(),
            Members::Ranks(ranks) => ranks.len() == barrier.local.len(),
        };
        if is_local {
            return self.release(key);
        }
        let number = self.results.get(key).copied().unwrap_or(0) + 1;
        let part = FenceIn { host: self.host, group: key.to_owned(), number, puts: self.space.take_fresh() };
        barrier.sent = Some(part.clone());
        self.actions.push_back(Action::Fence(part));
    }

    /// All ranks of a barrier have come: those of this host go on.
    pub(super) fn release(&mut self, key: &str) {
        let Some(barrier) = self.barriers.remove(key) else { return };
        for (rank, text) in barrier.came {
            let Some(state) = self.ranks.get_mut(&rank) else { continue };
            state.barriers = state.barriers.saturating_sub(1);
            if state.stage != Stage::Closed {
                self.send(rank, reply::barrier(text.as_deref()));
            }
        }
    }
}
