//! The home's side of pages: who has copies, and one request at a time.

use std::collections::{HashMap, VecDeque};

use crate::defect::{Defect, Plant};
use crate::id::{Access, NodeId, NodeSet, Page};
use crate::message::Message;

/// What the home of a page knows of it.
#[derive(Clone, Default)]
struct Entry {
    /// The node that wrote last, which has the bytes; `None`: nobody has touched the page.
    owner: Option<NodeId>,
    /// All nodes that have a copy, the owner among them. The owner alone: it may write.
    holders: NodeSet,
    /// The request that is under way.
    busy: Option<Request>,
    /// Requests that wait, oldest first: at most one of each node.
    waiting: VecDeque<(NodeId, Access)>,
}

/// A request that is under way.
#[derive(Clone)]
struct Request {
    from: NodeId,
    access: Access,
    /// Nodes that have still to give up their copies.
    gone: NodeSet,
    /// The page is on its way to the node that asked.
    granted: bool,
}

/// The pages whose home a node is. Pages that nobody has asked for take no memory.
#[derive(Clone, Default)]
pub(crate) struct Directory(HashMap<Page, Entry>);

/// Messages that follow from an event.
pub(crate) type Out = Vec<(NodeId, Message)>;

impl Directory {
    /// A node wants a page.
    pub fn want(
        &mut self,
        from: NodeId,
        page: Page,
        access: Access,
        plant: Plant,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let entry = self.0.entry(page).or_default();
        if entry.waiting.iter().any(|&(node, _)| node == from) {
            return Err("its request before this one still waits");
        }
        match &entry.busy {
            Some(request) if request.from == from && !request.granted => {
                return Err("its request before this one is under way");
            }
            Some(_) => {
                if !plant.is(Defect::QueueForgets) {
                    entry.waiting.push_back((from, access));
                }
                return Ok(());
            }
            None => {}
        }
        if entry.has(from, access) {
            return Err("it has what it asks for");
        }
        entry.begin(page, from, access, plant, out);
        Ok(())
    }

    /// A node has given up its copy.
    pub fn gone(
        &mut self,
        from: NodeId,
        page: Page,
        plant: Plant,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let entry = self.0.get_mut(&page);
        let busy = entry.filter(|entry| entry.busy.as_ref().is_some_and(|request| request.gone.has(from)));
        let Some(entry) = busy else { return Err("nobody has asked it to give up a copy") };
        entry.holders = entry.holders.without(from);
        if let Some(request) = &mut entry.busy {
            request.gone = request.gone.without(from);
        }
        entry.grant_if_free(page, plant, out);
        Ok(())
    }

    /// The page has come to the node that asked.
    pub fn done(
        &mut self,
        from: NodeId,
        page: Page,
        plant: Plant,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let entry = self.0.get_mut(&page);
        let under_way =
            |entry: &Entry| entry.busy.as_ref().is_some_and(|busy| busy.from == from && busy.granted);
        let Some(entry) = entry.filter(|entry| under_way(entry)) else {
            // With this defect the home has gone on to another request.
            return if plant.is(Defect::NextBeforeDone) { Ok(()) } else { Err("no page was sent to it") };
        };
        entry.busy = None;
        entry.next(page, plant, out);
        Ok(())
    }

    /// True if no request is under way or waits.
    pub fn is_quiet(&self) -> bool {
        self.0.values().all(|entry| entry.busy.is_none() && entry.waiting.is_empty())
    }
}

impl Entry {
    fn has(&self, node: NodeId, access: Access) -> bool {
        self.holders.has(node) && (access == Access::Read || self.holders.without(node).is_empty())
    }

    fn next(&mut self, page: Page, plant: Plant, out: &mut Out) {
        if let Some((from, access)) = self.waiting.pop_front() {
            self.begin(page, from, access, plant, out);
        }
    }

    fn begin(&mut self, page: Page, from: NodeId, access: Access, plant: Plant, out: &mut Out) {
        let mut gone = NodeSet::default();
        if access == Access::Write && self.owner.is_some() {
            gone = self.holders.without(from);
            if !self.holders.has(from) {
                // The owner gives its copy up when it sends the bytes.
                gone = self.owner.map_or(gone, |owner| gone.without(owner));
            }
        }
        if plant.is(Defect::ReaderForgotten)
            && let Some(node) = gone.iter().next()
        {
            gone = gone.without(node);
            self.holders = self.holders.without(node);
        }
        out.extend(gone.iter().map(|node| (node, Message::Invalidate(page))));
        let gone = if plant.is(Defect::GrantBeforeGone) { NodeSet::default() } else { gone };
        self.busy = Some(Request { from, access, gone, granted: false });
        self.grant_if_free(page, plant, out);
    }

    /// Sends the page on its way if no copy is left that forbids it.
    fn grant_if_free(&mut self, page: Page, plant: Plant, out: &mut Out) {
        let Some(request) = self.busy.as_mut().filter(|request| request.gone.is_empty()) else { return };
        request.granted = true;
        let (from, access) = (request.from, request.access);
        let holder = self.holders.has(from) || plant.is(Defect::UpgradeWithoutCopy);
        out.push(match self.owner {
            None => (from, Message::Fresh(page)),
            Some(_) if holder && access == Access::Write => (from, Message::Upgrade(page)),
            Some(owner) => (owner, Message::Fetch { page, access, to: from }),
        });
        match access {
            Access::Read if self.owner.is_some() => {
                if !plant.is(Defect::ReaderNotNoted) {
                    self.holders = self.holders.with(from);
                }
            }
            _ if plant.is(Defect::FreshTwice) && self.owner.is_none() => {}
            _ if plant.is(Defect::OwnerNotNoted) && self.owner.is_some() => {}
            _ => (self.owner, self.holders) = (Some(from), NodeSet::of(from)),
        }
        if plant.is(Defect::NextBeforeDone) {
            self.busy = None;
            self.next(page, plant, out);
        }
    }
}
