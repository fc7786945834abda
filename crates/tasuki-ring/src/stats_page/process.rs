//! The pages of one process made one: an endpoint for one-sided transfers alone has a page of its own, which
//! is a part of what the process does.

use super::records::{EndpointRecord, Snapshot};

/// Begins the lanes of an endpoint that is for one-sided transfers alone.
pub const ONE_SIDED: &str = "rma+";

impl Snapshot {
    fn is_one_sided(&self) -> bool {
        self.identity.lanes.starts_with(ONE_SIDED)
    }

    /// Whether another page of the host is of this process. What the kernel says of them must be equal, as a
    /// page may name any process; so must what the pages say, for those of which it says nothing.
    pub fn is_of_same_process(&self, other: &Snapshot) -> bool {
        let of = |page: &Self| (page.process, page.user, page.pid);
        of(self) == of(other) && self.host == other.host
    }

    /// The pages of one host with those of endpoints for one-sided transfers in the pages of their processes.
    /// A process that has no other endpoint keeps its page.
    pub fn by_process(pages: Vec<Snapshot>) -> Vec<Snapshot> {
        let (parts, mut pages): (Vec<_>, Vec<_>) = pages.into_iter().partition(Snapshot::is_one_sided);
        for part in parts {
            match pages.iter_mut().find(|page| page.is_of_same_process(&part) && !page.is_one_sided()) {
                Some(page) => page.absorb(part),
                None => pages.push(part),
            }
        }
        pages
    }

    /// Adds what another endpoint of the process has done. Its peers are listed behind those of this page.
    fn absorb(&mut self, part: Snapshot) {
        self.endpoint.add(&part.endpoint);
        self.carried += part.carried;
        for (reason, count) in part.drops {
            match self.drops.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, sum)) => *sum += count,
                None => self.drops.push((reason, count)),
            }
        }
        let offset = self.peers.iter().map(|peer| peer.index + 1).max().unwrap_or(0);
        self.operations.extend(part.operations.into_iter().map(|mut operation| {
            operation.peer = operation.peer.map(|peer| peer + offset as u32);
            operation
        }));
        self.peers.extend(part.peers.into_iter().map(|mut peer| {
            peer.index += offset;
            peer
        }));
        self.peers_beyond += part.peers_beyond;
        self.torn += part.torn;
    }
}

impl EndpointRecord {
    fn add(&mut self, part: &EndpointRecord) {
        let sums: [(&mut u64, u64); 15] = [
            (&mut self.messages_sent, part.messages_sent),
            (&mut self.messages_received, part.messages_received),
            (&mut self.bytes_sent, part.bytes_sent),
            (&mut self.bytes_received, part.bytes_received),
            (&mut self.receives_posted, part.receives_posted),
            (&mut self.unexpected, part.unexpected),
            (&mut self.pool_held, part.pool_held),
            (&mut self.pool_limit, part.pool_limit),
            (&mut self.completions_waiting, part.completions_waiting),
            (&mut self.progress_calls, part.progress_calls),
            (&mut self.helper_calls, part.helper_calls),
            (&mut self.grant_window, part.grant_window),
            (&mut self.grants, part.grants),
            (&mut self.slowed, part.slowed),
            (&mut self.operations_listed, part.operations_listed),
        ];
        sums.into_iter().for_each(|(sum, part)| *sum += part);
        self.granted_rate += part.granted_rate;
        self.operations_complete &= part.operations_complete;
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::{Identity, OperationRecord, PeerSnapshot};
    use super::*;

    fn page(pid: u32, lanes: &str, bytes_sent: u64) -> Snapshot {
        let identity = Identity { address: format!("address of {pid}, {lanes}"), lanes: lanes.into() };
        let operation = OperationRecord { peer: Some(2), ..OperationRecord::default() };
        Snapshot {
            pid,
            identity,
            endpoint: EndpointRecord { bytes_sent, operations_complete: true, ..EndpointRecord::default() },
            carried: 10 * bytes_sent,
            drops: vec![("short".into(), 1), (lanes.into(), 1)],
            operations: vec![operation],
            peers: vec![PeerSnapshot { index: 2, ..PeerSnapshot::default() }],
            ..Snapshot::default()
        }
    }

    #[test]
    fn what_one_process_does_is_on_one_page() {
        let pages = vec![page(7, "rma+shm+udp", 5), page(8, "rma+udp", 9), page(7, "shm+udp", 2)];
        let found = Snapshot::by_process(pages);
        assert_eq!(found.iter().map(|page| page.pid).collect::<Vec<_>>(), [7, 8]);
        let [both, alone] = &found[..] else { panic!("two processes") };
        assert_eq!(both.identity.lanes, "shm+udp", "messages are told to the one that is for messages");
        assert_eq!((both.endpoint.bytes_sent, alone.endpoint.bytes_sent), (7, 9));
        assert_eq!((both.carried, alone.carried), (70, 90));
        assert!(both.endpoint.operations_complete);
        let drops: Vec<_> = both.drops.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(drops, [("short", 2), ("shm+udp", 1), ("rma+shm+udp", 1)]);
        assert_eq!(both.peers.iter().map(|peer| peer.index).collect::<Vec<_>>(), [2, 5]);
        assert_eq!(both.operations.iter().map(|of| of.peer).collect::<Vec<_>>(), [Some(2), Some(5)]);
    }

    #[test]
    fn a_page_that_names_another_process_adds_nothing_to_it() {
        let own = Snapshot { process: Some(70), user: Some(1000), ..page(7, "udp", 1) };
        let forged = |process, user| Snapshot { process, user: Some(user), ..page(7, "rma+udp", 99) };
        for other in [forged(Some(71), 1001), forged(Some(71), 1000), forged(None, 1001), forged(None, 1000)]
        {
            let found = Snapshot::by_process(vec![own.clone(), other]);
            assert_eq!(found.len(), 2, "{found:?}");
            assert_eq!(found[0], own);
        }
        let own_part = forged(Some(70), 1000);
        assert_eq!(Snapshot::by_process(vec![own, own_part]).len(), 1);
    }

    #[test]
    fn two_endpoints_for_messages_stay_two() {
        let pages = vec![page(7, "udp", 1), page(7, "udp", 2)];
        assert_eq!(Snapshot::by_process(pages).len(), 2);
    }
}
