//! Sends whose payload is given back late.

use std::num::NonZeroU64;

use tasuki_msg::{Config, Frame, Mark, Pacer, PeerId, PeerOptions, Queue, SendRequest};
use tasuki_proto::{Outgoing, Payload};

use super::Messages;
use super::ops::{Internal, SendOp};
use crate::api::{Buffer, Report, SendArgs};
use crate::clock::Clock;
use crate::memory::Memory;
use crate::peers::Route;

const LEN: usize = 1000;

/// Posts a send; gives the number by which it is known.
fn post(messages: &mut Messages, peer: PeerId, byte: u8) -> u64 {
    let op = SendOp::internal(peer.into(), Memory::Own(vec![byte; LEN]), Internal::Unattended);
    let request = SendRequest {
        peer,
        queue: Queue::Msg,
        tag: 0,
        data: None,
        len: LEN as u64,
        delivery: false,
        remote_key: None,
        user: 0,
    };
    messages.post_send(op, request).expect("the peer is known")
}

/// The payload of the next message to a peer, which goes in one frame.
fn payload(messages: &mut Messages, peer: PeerId) -> Payload {
    let room = NonZeroU64::new(2 * LEN as u64).unwrap();
    let frames = std::iter::from_fn(|| messages.next_frame(peer, room));
    let mut starts = frames.filter_map(|frame| match frame {
        Outgoing::Start { payload, .. } => Some(payload),
        _ => None,
    });
    starts.next().filter(|payload| payload.len == LEN as u64).expect("a whole message")
}

/// A peer that says goodbye ends the sends to it, and the packets that carry them are acknowledged later. The
/// next send has the place of one of them.
#[test]
fn payload_of_a_send_that_is_over_is_not_that_of_the_next_one() {
    let mut messages = Messages::new(Config::default(), Pacer::default(), Clock::new());
    let [leaver, other] = [(); 2].map(|()| messages.add_peer());
    for peer in [leaver, other] {
        messages.set_options(peer, PeerOptions { inline_max: LEN as u64, pull: false });
        messages.deliver(peer, &Frame::Credit { total: 1 << 20 }, &[].as_slice());
    }
    let over = post(&mut messages, leaver, 1);
    let first = payload(&mut messages, leaver);
    messages.deliver(leaver, &Frame::Bye { mark: Mark { frames: 1, bytes: 0 } }, &[].as_slice());
    messages.run_actions();
    assert_eq!(messages.sends_under_way(), 0, "the goodbye has ended it");

    post(&mut messages, other, 2);
    let second = payload(&mut messages, other);
    messages.release_payload(first.key);
    messages.run_actions();
    assert_eq!(messages.sends_under_way(), 1, "nothing of it was given back");
    let buffers = [Buffer { ptr: [3; LEN].as_mut_ptr(), len: LEN }];
    let args = SendArgs {
        peer: leaver.into(),
        tag: None,
        data: None,
        buffers: &buffers,
        inject: true,
        report: Report::Completion,
        delivery: false,
        more: false,
        context: 0,
    };
    // SAFETY: the send is over, so that nothing of the buffers is read.
    unsafe { messages.keep_copy(over, &args, Route::Gone) };
    let mut bytes = [0; LEN];
    messages.read_payload(first.key, first.offset, &mut bytes);
    assert_eq!(bytes, [0; LEN], "the send is over, and so its bytes are not to be had");
    messages.read_payload(second.key, second.offset, &mut bytes);
    assert_eq!(bytes, [2; LEN]);
    messages.release_payload(second.key);
    messages.run_actions();
    assert_eq!(messages.sends_under_way(), 0);
}
