//! What the daemon does when it is told to, and as time goes by.

use super::{Daemon, Place};
use std::time::Instant;
use tasuki_control::Order;

impl Daemon {
    pub(super) fn obey(&mut self, order: Order) {
        match order {
            Order::Answer { session, reply } => self.sessions.reply(session, &reply),
            Order::Table(table) => {
                self.tables.take(*table);
                self.worker.take_turns(&self.tables);
            }
            Order::Clock { asked, at } => {
                if self.tables.answer(asked, at) {
                    self.worker.take_turns(&self.tables);
                }
            }
            order => self.worker.obey(order),
        }
    }

    pub(super) fn handle_time(&mut self) {
        let now = Instant::now();
        for (session, heard) in self.sessions.named(now) {
            self.heard(session, heard);
        }
        self.worker.handle_time(now);
        self.hub(|hub| hub.handle_time(now));
        self.uplink(|uplink, out| uplink.handle_time(now, out));
        if let Place::Member(uplink) = &mut self.place
            && uplink.absence().is_none()
            && let Some(question) = self.tables.question()
        {
            let _ = uplink.send(&question);
        }
        if let Place::Head(head, _) = &mut self.place {
            head.handle_time();
        }
    }
}
