//! The target of one-sided transfers, which has the memory: it takes requests and answers them.

use tasuki_msg::RecvDone;
use tasuki_tuning::rma;

use super::request::{HEAD, PUT, PUT_INLINE, Request};
use super::{ANSWER_TAG, DONE, NOTHING, PAYLOAD_TAG, REFUSED, REQUEST_TAG, Rma, Step};
use crate::api::Peer;
use crate::memory::Memory;
use crate::messages::Messages;
use crate::messages::ops::Internal;
use crate::peers::Peers;

impl Rma {
    /// Receives requests that have arrived. True if there was one.
    pub fn receive_requests(&mut self, messages: &mut Messages) -> bool {
        let steps = &mut self.steps;
        let max = (HEAD + rma::INLINE_PUT_MAX) as u64;
        messages.receive_internal(REQUEST_TAG, max, |_| Internal::Rma(steps.insert(Step::Request)))
    }

    pub(super) fn requested(
        &mut self,
        done: &RecvDone,
        bytes: &[u8],
        messages: &mut Messages,
        peers: &Peers,
    ) {
        let (source, data) = (Peer::from(done.source), done.data);
        let Some((request, payload)) = Request::read(bytes) else { return accuse(source, messages) };
        let (number, key, len) = (request.number, request.key, request.len);
        match request.what {
            PUT_INLINE => {
                let place = self.regions.find(&request);
                if let Some(place) = &place {
                    // SAFETY: `find` stays inside of memory that the program has registered. It may be
                    // written until it is unregistered, which takes the same lock.
                    unsafe { place.write(0, &payload, payload.len()) };
                    messages.completions_mut().push_put(source, data, len);
                }
                let nothing = (Memory::One(NOTHING), Internal::Unattended);
                answer(source, number, place.is_some(), nothing, messages, peers);
            }
            PUT => {
                let Some(id) = peers.id(source) else { return };
                let place = self.regions.occupy(&request);
                let key = place.as_ref().map(|_| key);
                let step = self.step(Step::Placing { source, number, key, len, data });
                let into = place.unwrap_or(Memory::One(NOTHING));
                messages.recv_internal(id, PAYLOAD_TAG | number, into, step);
            }
            _ => {
                let found = self.regions.occupy(&request);
                let good = found.is_some();
                let bytes = match found {
                    Some(place) => (place, self.step(Step::Serving { key })),
                    None => (Memory::One(NOTHING), Internal::Unattended),
                };
                answer(source, number, good, bytes, messages, peers);
            }
        }
    }
}

/// Answers a request: says whether it was `good`, and sends the bytes that a get asked for.
pub(super) fn answer(
    to: Peer,
    number: u64,
    good: bool,
    (bytes, internal): (Memory, Internal),
    messages: &mut Messages,
    peers: &Peers,
) {
    let verdict = if good { DONE } else { REFUSED };
    let tag = (ANSWER_TAG | number, Some(verdict));
    messages.send_internal(peers, to, tag, bytes, internal);
}

/// Declares that a peer has sent a request which no engine sends.
pub(super) fn accuse(source: Peer, messages: &mut Messages) {
    messages.accuse(source, "a request for a one-sided transfer makes no sense");
}
