//! What a node does about messages, its own to itself included.

use super::Node;
use crate::NodeId;
use crate::action::Action;
use crate::barrier::{Barrier, Step};
use crate::id::{Access, Lock, Page};
use crate::lock::Steps;
use crate::message::Message;
use crate::pages::Order;

impl Node {
    pub(super) fn take(&mut self, from: NodeId, message: Message, now: u64) -> Result<(), &'static str> {
        match message {
            Message::Want { page, .. }
            | Message::Fetch { page, .. }
            | Message::Bytes { page, .. }
            | Message::Fresh(page)
            | Message::Upgrade(page)
            | Message::Done(page)
            | Message::Invalidate(page)
            | Message::Gone(page) => self.take_for_page(from, page, message, now),
            Message::Arrive { of, round, epoch } => {
                let barrier = self.barrier(of).ok_or("this node is in no barrier of so many")?;
                barrier.heard(from, round, epoch)?;
                self.walk(of);
                Ok(())
            }
            Message::Acquire(lock) => {
                if self.manager(lock) != self.config.me {
                    return Err("another node manages the lock");
                }
                let message = match self.last_asked.ask(lock, from)? {
                    None => (from, Message::Hand(lock)),
                    Some(last) => (last, Message::Pass { lock, to: from }),
                };
                self.send(message.0, message.1);
                Ok(())
            }
            Message::Pass { to, .. } if !self.knows(to) => Err("there is no such node"),
            Message::Pass { lock, to } => {
                let steps = self.locks.pass(lock, to, self.plant)?;
                self.follow(lock, steps);
                Ok(())
            }
            Message::Hand(lock) => {
                let steps = self.locks.handed(lock)?;
                self.follow(lock, steps);
                Ok(())
            }
        }
    }

    fn take_for_page(
        &mut self,
        from: NodeId,
        page: Page,
        message: Message,
        now: u64,
    ) -> Result<(), &'static str> {
        if page.0 >= self.config.pages {
            return Err("there is no such page");
        }
        let home = self.home(page);
        let (to_home, from_home) = match message {
            Message::Want { .. } | Message::Done(_) | Message::Gone(_) => (true, false),
            Message::Bytes { .. } => (false, false),
            _ => (false, true),
        };
        if to_home && home != self.config.me || from_home && home != from {
            return Err("another node is the page's home");
        }
        let (mut out, plant) = (Vec::new(), self.plant);
        match message {
            Message::Want { access, .. } => self.directory.want(from, page, access, plant, &mut out)?,
            Message::Done(_) => self.directory.done(from, page, plant, &mut out)?,
            Message::Gone(_) => self.directory.gone(from, page, plant, &mut out)?,
            Message::Fetch { to, .. } if !self.knows(to) || to == self.config.me => {
                return Err("the page is for no other node");
            }
            Message::Fetch { access, to, .. } => self.order(page, Order::Fetch { access, to }, now)?,
            Message::Invalidate(_) => self.order(page, Order::Invalidate, now)?,
            _ => self.arrive(page, message, now)?,
        }
        for (to, message) in out {
            self.send(to, message);
        }
        Ok(())
    }

    fn arrive(&mut self, page: Page, message: Message, now: u64) -> Result<(), &'static str> {
        let until = now.saturating_add(self.config.hold);
        let actions = &mut self.actions;
        self.pages.arrive(page, message, until, &mut |action| actions.push_back(action))?;
        match message {
            Message::Bytes { .. } => self.counters.installed += 1,
            Message::Fresh(_) => self.counters.fresh += 1,
            _ => {}
        }
        self.send(self.home(page), Message::Done(page));
        Ok(())
    }

    fn order(&mut self, page: Page, order: Order, now: u64) -> Result<(), &'static str> {
        if self.pages.order(page, order, now, &mut self.counters)? {
            self.obey(page);
        }
        Ok(())
    }

    pub(super) fn obey(&mut self, page: Page) {
        let (actions, counters) = (&mut self.actions, &mut self.counters);
        let answer = self.pages.obey(page, self.plant, &mut |action| {
            match action {
                Action::SendPage { .. } => {
                    (counters.sent, counters.messages) = (counters.sent + 1, counters.messages + 1)
                }
                Action::Drop(_) => counters.dropped += 1,
                _ => {}
            }
            actions.push_back(action);
        });
        if let Some(message) = answer {
            self.send(self.home(page), message);
        }
    }

    pub(super) fn ask(&mut self, page: Page, access: Option<Access>) {
        let Some(access) = access else { return };
        match access {
            Access::Write => self.counters.wanted_write += 1,
            _ => self.counters.wanted_read += 1,
        }
        self.send(self.home(page), Message::Want { page, access });
    }

    pub(super) fn follow(&mut self, lock: Lock, steps: Steps) {
        if let Some(to) = steps.hand {
            self.send(to, Message::Hand(lock));
        }
        if steps.ask {
            self.send(self.manager(lock), Message::Acquire(lock));
        }
        if steps.locked {
            self.actions.push_back(Action::Locked(lock));
        }
    }

    /// The barriers of so many nodes, if this node is one of these.
    pub(super) fn barrier(&mut self, of: u8) -> Option<&mut Barrier> {
        let (me, nodes) = (self.config.me, usize::from(of));
        let is_one = me.0 < of && nodes <= self.config.nodes;
        is_one.then(|| self.barriers.entry(of).or_insert_with(|| Barrier::new(me, nodes)))
    }

    pub(super) fn walk(&mut self, of: u8) {
        loop {
            let plant = self.plant;
            match self.barrier(of).map_or(Step::Wait, |barrier| barrier.step(plant)) {
                Step::Tell { to, message } => self.send(to, message),
                Step::Passed => self.actions.push_back(Action::Passed(of.into())),
                Step::Wait => return,
            }
        }
    }
}
