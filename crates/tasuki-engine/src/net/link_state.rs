//! Carriers of NICs (is a cable plugged in?): what the kernel tells.

use tasuki_link::LinkWatch;

use super::link::Link;

/// The kernel's news about the NICs of an endpoint's links.
pub(super) struct LinkStates {
    /// Tells of the NICs of all links but the first, in their order. `None`: nothing is told, and links stay
    /// what they were at the beginning.
    link_watch: Option<LinkWatch>,
}

impl LinkStates {
    pub fn new(link_watch: Option<LinkWatch>) -> LinkStates {
        LinkStates { link_watch }
    }

    /// Writes what the kernel has said since the last call into `links`. Gives the indices of those whose
    /// carrier has changed.
    pub fn hear(&mut self, links: &mut [Link]) -> Vec<usize> {
        let mut changed = Vec::new();
        let Some(link_watch) = &mut self.link_watch else { return changed };
        link_watch.poll(|at, carrier| {
            // The first link is the routed rail's, which has no NIC.
            if let Some(link) = links.get_mut(at + 1) {
                link.carrier = carrier;
                changed.push(at + 1);
            }
        });
        changed
    }
}
