//! A node's own copies of pages: what its threads may do, what it has asked for, what others want of it.

use std::collections::{BTreeSet, HashMap};

use crate::action::{Action, Counters};
use crate::defect::{Defect, Plant};
use crate::id::{Access, NodeId, Page};
use crate::message::Message;

/// What the home of a page may tell a node that has a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Send the bytes to this node.
    Fetch { access: Access, to: NodeId },
    /// Give the copy up.
    Invalidate,
}

/// A page as its node sees it.
#[derive(Clone, Default)]
struct Copy {
    access: Access,
    /// What the home was asked for.
    asked: Option<Access>,
    /// The moment from which on the page may be taken away, ns.
    until: u64,
    /// What the home has told before that moment.
    order: Option<Order>,
}

/// All copies of a node. Pages that it has never used take no memory.
#[derive(Clone, Default)]
pub(crate) struct Pages {
    copies: HashMap<Page, Copy>,
    /// Moments at which orders that were put off are carried out.
    deferred: BTreeSet<(u64, Page)>,
}

impl Pages {
    /// What threads may do with the page.
    pub fn access(&self, page: Page) -> Access {
        self.copies.get(&page).map_or(Access::None, |copy| copy.access)
    }

    /// A thread wants to use a page: what the home is to be asked for, if anything. If something is asked for
    /// already, the thread tries again when that has come.
    pub fn fault(&mut self, page: Page, access: Access, act: &mut impl FnMut(Action)) -> Option<Access> {
        let copy = self.copies.entry(page).or_default();
        if copy.access >= access {
            act(Action::Wake(page));
            return None;
        }
        if copy.asked.is_some() {
            return None;
        }
        copy.asked = Some(access);
        copy.asked
    }

    /// The page has come, and stays until `until`. An error says why no node sends this.
    pub fn arrive(
        &mut self,
        page: Page,
        message: Message,
        until: u64,
        act: &mut impl FnMut(Action),
    ) -> Result<(), &'static str> {
        let copy = self.copies.get_mut(&page);
        let Some((copy, asked)) = copy.and_then(|copy| copy.asked.map(|asked| (copy, asked))) else {
            return Err("this node has not asked for the page");
        };
        let (got, action) = match message {
            Message::Bytes { access, .. } if access == asked && copy.access == Access::None => {
                (access, Action::Install { page, access })
            }
            Message::Fresh(_) if copy.access == Access::None => (Access::Write, Action::Zero(page)),
            Message::Upgrade(_) if (copy.access, asked) == (Access::Read, Access::Write) => {
                (Access::Write, Action::Unprotect(page))
            }
            _ => return Err("this node has asked for something else"),
        };
        (copy.access, copy.until, copy.asked) = (got, until, None);
        act(action);
        Ok(())
    }

    /// The home tells something: it is done now, or at the moment until which the page stays.
    pub fn order(
        &mut self,
        page: Page,
        order: Order,
        now: u64,
        counters: &mut Counters,
    ) -> Result<bool, &'static str> {
        let copy = self.copies.get_mut(&page).filter(|copy| copy.access > Access::None);
        let copy = copy.filter(|copy| copy.order.is_none()).ok_or("this node has no copy to give")?;
        copy.order = Some(order);
        if now < copy.until {
            counters.deferred += 1;
            self.deferred.insert((copy.until, page));
            return Ok(false);
        }
        Ok(true)
    }

    /// Does what the home has told; returns the message for it if there is one.
    pub fn obey(&mut self, page: Page, plant: Plant, act: &mut impl FnMut(Action)) -> Option<Message> {
        let copy = self.copies.get_mut(&page)?;
        match copy.order.take()? {
            Order::Invalidate => {
                copy.access = Access::None;
                act(Action::Drop(page));
                Some(Message::Gone(page))
            }
            Order::Fetch { access, to } => {
                let message = Message::Bytes { page, access };
                let protect = copy.access == Access::Write && !plant.is(Defect::OwnerKeepsWriting);
                if plant.is(Defect::SendBeforeProtect) {
                    act(Action::SendPage { to, message });
                }
                if protect {
                    copy.access = Access::Read;
                    act(Action::Protect(page));
                }
                if !plant.is(Defect::SendBeforeProtect) {
                    act(Action::SendPage { to, message });
                }
                if access == Access::Write && !plant.is(Defect::OwnerKeepsCopy) {
                    copy.access = Access::None;
                    act(Action::Drop(page));
                }
                None
            }
        }
    }

    /// A page whose order is to be carried out at this moment.
    pub fn due(&mut self, now: u64) -> Option<Page> {
        let &(at, page) = self.deferred.first().filter(|&&(at, _)| at <= now)?;
        self.deferred.remove(&(at, page));
        Some(page)
    }

    /// The next moment at which an order is to be carried out, ns.
    pub fn deadline(&self) -> Option<u64> {
        self.deferred.first().map(|&(at, _)| at)
    }

    /// True if nothing is asked for and no order is put off.
    pub fn is_quiet(&self) -> bool {
        self.deferred.is_empty() && self.copies.values().all(|copy| copy.asked.is_none())
    }
}
