//! The PMI server of the host, with its ranks' connections and its owner.

use crate::{Event, Pmi, peer::Peer, rank::Rank};
use tasuki_pmi::{Action, FenceOut, Limits, Node, ShapeError};

/// Answers ranks by PMI, if the job has it.
#[derive(Debug)]
pub struct Answers {
    node: Option<Node>,
}

impl Answers {
    /// The server of a job.
    ///
    /// # Errors
    /// If the job's shape is none.
    pub fn new(pmi: Option<&Pmi>) -> Result<Self, ShapeError> {
        let node = pmi.map(|pmi| Node::new(&pmi.shape, pmi.host, Limits::default())).transpose()?;
        Ok(Self { node })
    }

    /// Takes what a rank (by its index) has sent.
    pub fn receive(&mut self, ranks: &mut [Rank], index: usize, bytes: &[u8], peer: &mut Peer) {
        let number = ranks[index].state.rank;
        if let Some(node) = &mut self.node {
            node.receive(number, bytes);
        }
        self.act(ranks, peer);
    }

    /// A rank's connection is at its end, or the rank is.
    pub fn closed(&mut self, ranks: &mut [Rank], index: usize, peer: &mut Peer) {
        ranks[index].pmi.close();
        let number = ranks[index].state.rank;
        if let Some(node) = &mut self.node {
            node.closed(number);
        }
        self.act(ranks, peer);
    }

    /// Takes the result of a fence.
    pub fn fenced(&mut self, ranks: &mut [Rank], out: &FenceOut, peer: &mut Peer) {
        if let Some(node) = &mut self.node {
            node.fenced(out);
        }
        self.act(ranks, peer);
    }

    /// Tells a new owner the parts of fences that have no result yet.
    pub fn tell_pending(&self, peer: &mut Peer) {
        let parts = self.node.iter().flat_map(|node| node.pending().cloned());
        parts.for_each(|part| peer.tell(Event::Fence(part)));
    }

    fn act(&mut self, ranks: &mut [Rank], peer: &mut Peer) {
        while let Some(action) = self.node.as_mut().and_then(Node::poll) {
            match action {
                Action::Send { rank, bytes } => {
                    if let Some(rank) = find(ranks, rank).filter(|rank| rank.pmi.socket.is_some()) {
                        rank.pmi.answers.push(bytes);
                        rank.pmi.flush();
                    }
                }
                Action::Refused { rank, why } => {
                    if let Some(rank) = find(ranks, rank) {
                        rank.pmi.close();
                    }
                    peer.tell(Event::Refused { rank, why });
                }
                Action::Fence(part) => peer.tell(Event::Fence(part)),
                Action::Abort { rank, code, message } => peer.tell(Event::Abort { rank, code, message }),
                Action::Gone { rank } => peer.tell(Event::Gone { rank }),
                Action::Lost { rank } => peer.tell(Event::Lost { rank }),
                Action::Stuck { rank, awaits } => peer.tell(Event::Stuck { rank, awaits }),
                Action::Finalized { .. } => {}
            }
        }
    }
}

fn find(ranks: &mut [Rank], number: u32) -> Option<&mut Rank> {
    ranks.iter_mut().find(|rank| rank.state.rank == number)
}
