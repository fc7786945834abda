//! The target of one-sided transfers, which has the memory: it takes requests and answers them.

use tasuki_msg::RecvDone;
use tasuki_tuning::rma;

use super::atomic::Atomic;
use super::request::{HEAD, PUT, PUT_INLINE, Request};
use super::{ANSWER_TAG, DONE, MISALIGNED, NOTHING, PAYLOAD_TAG, REFUSED, REQUEST_TAG, Rma, Step};
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
        messages.receive_internal(REQUEST_TAG, max, |_, _| Internal::Rma(steps.insert(Step::Request)))
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
        if let Some(atomic) = request.atomic() {
            let (verdict, former) = self.apply(&request, &atomic, payload);
            let bytes = (former.map_or(Memory::One(NOTHING), Memory::Own), Internal::Unattended);
            return answer(source, number, verdict, bytes, messages, peers);
        }
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
                answer(source, number, verdict(place.is_some()), nothing, messages, peers);
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
                answer(source, number, verdict(good), bytes, messages, peers);
            }
        }
    }

    /// Does an atomic operation. Gives the verdict, and the former values if they are wanted.
    fn apply(&self, request: &Request, atomic: &Atomic, operands: &[u8]) -> (u64, Option<Vec<u8>>) {
        let Some(place) = self.regions.find(request) else { return (REFUSED, None) };
        // SAFETY: `find` stays inside of memory that the program has registered, which may be used until it
        // is unregistered; that takes the same lock. `Request::read` has checked that the operation fits.
        match unsafe { atomic.apply(&place, operands) } {
            Some(former) => (DONE, atomic.fetch.then_some(former)),
            None => (MISALIGNED, None),
        }
    }
}

/// The verdict on a put or a get.
pub(super) fn verdict(good: bool) -> u64 {
    if good { DONE } else { REFUSED }
}

/// Answers a request: tells the verdict, and sends the bytes that were asked for.
pub(super) fn answer(
    to: Peer,
    number: u64,
    verdict: u64,
    (bytes, internal): (Memory, Internal),
    messages: &mut Messages,
    peers: &Peers,
) {
    let tag = (ANSWER_TAG | number, Some(verdict));
    messages.send_internal(peers, to, tag, bytes, internal);
}

/// Declares that a peer has sent a request which no engine sends.
pub(super) fn accuse(source: Peer, messages: &mut Messages) {
    messages.accuse(source, "a request for a one-sided transfer makes no sense");
}
