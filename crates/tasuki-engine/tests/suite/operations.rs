//! One kind of operation after the other.

use tasuki_engine::{Buffer, Completion, Endpoint, Failure, PostError, Probe, RecvArgs, Report};

use crate::node::{LANES, Lane, Node, nodes, options, run};

fn recv_of(node: &Node, wanted: u64) -> Option<(u64, u64, u64, bool)> {
    node.done.iter().find_map(|completion| match completion {
        Completion::Recv { context, tag, len, total, last, .. } if *context == wanted => {
            Some((*tag, *len, *total, *last))
        }
        _ => None,
    })
}

fn pattern(len: usize, salt: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(31).wrapping_add((i >> 8) as u8) ^ salt).collect()
}

#[test]
fn messages_of_all_sizes_arrive() {
    for lane in LANES {
        let mut all = nodes(2, lane);
        for (index, size) in [0, 1, 8, 63, 64, 1000, 1400, 1500, 4096, 16384, 16385, 70000, 1 << 20, 9 << 20]
            .into_iter()
            .enumerate()
        {
            let bytes = pattern(size, index as u8);
            // Every other receive is posted late.
            let early = index % 2 == 0;
            let mut recv = early.then(|| all[1].recv(Some(0), Some(7), 0, size));
            all[0].send(1, Some(7), &bytes);
            if recv.is_none() {
                run(&mut all, |all| {
                    all[1].endpoint.peek(&Probe { source: None, tag: Some(7), ignore: 0 }).is_some()
                });
                recv = Some(all[1].recv(None, Some(7), 0, size));
            }
            let recv = recv.unwrap();
            run(&mut all, |all| recv_of(&all[1], recv).is_some() && all[0].done.len() == 1);
            assert_eq!(recv_of(&all[1], recv), Some((7, size as u64, size as u64, true)), "{lane:?}");
            assert!(all[1].bytes(recv) == bytes, "{lane:?}: {size} bytes");
            all.iter_mut().for_each(|node| node.done.clear());
        }
    }
}

#[test]
fn injected_bytes_are_the_programs_again_at_once() {
    for lane in LANES {
        let mut all = nodes(2, lane);
        let recvs: Vec<u64> = (0..200).map(|_| all[1].recv(Some(0), None, 0, 64)).collect();
        for i in 0..200u8 {
            all[0].send_with(1, None, &[i; 64], |args| (args.inject, args.report) = (true, Report::Failure));
        }
        run(&mut all, |all| recvs.iter().all(|recv| recv_of(&all[1], *recv).is_some()));
        for (i, recv) in recvs.iter().enumerate() {
            assert_eq!(all[1].bytes(*recv), [i as u8; 64], "{lane:?}");
        }
        assert!(all[0].done.is_empty());
    }
}

#[test]
fn a_message_to_oneself_arrives() {
    for lane in LANES {
        let mut all = nodes(1, lane);
        let late = all[0].send(0, Some(1), &pattern(100_000, 1));
        let recv = all[0].recv(Some(0), Some(1), 0, 100_000);
        run(&mut all, |all| all[0].done.len() == 2);
        assert!(all[0].bytes(recv) == pattern(100_000, 1));
        assert!(
            all[0]
                .done
                .iter()
                .any(|done| matches!(done, Completion::Send { context, .. } if *context == late))
        );
    }
}

#[test]
fn probes_claim_and_discard() {
    for lane in LANES {
        let mut all = nodes(2, lane);
        for tag in 0..3 {
            all[0].send_with(1, Some(tag), &pattern(5000, tag as u8), |args| args.data = Some(tag + 100));
        }
        let probe = |tag| Probe { source: None, tag: Some(tag), ignore: 0 };
        run(&mut all, |all| all[1].endpoint.peek(&probe(2)).is_some());
        let found = all[1].endpoint.discard(&probe(0)).unwrap();
        assert_eq!((found.len, found.data), (5000, Some(100)));
        let (claim, found) = all[1].endpoint.claim(&Probe { ignore: u64::MAX, ..probe(0) }).unwrap();
        assert_eq!(found.tag, 1);
        assert!(all[1].endpoint.peek(&probe(1)).is_none());
        let (context, buffer) = all[1].room(5000);
        // SAFETY: the node keeps the buffer to the end of the test.
        unsafe { all[1].endpoint.recv_claimed(claim, &[buffer], Report::Completion, context) }.unwrap();
        run(&mut all, |all| recv_of(&all[1], context).is_some());
        assert!(all[1].bytes(context) == pattern(5000, 1));
        // SAFETY: as above; it is refused.
        let again = unsafe { all[1].endpoint.recv_claimed(claim, &[buffer], Report::Completion, context) };
        assert!(again.is_err());
    }
}

#[test]
fn a_receive_can_be_taken_back_and_a_long_message_is_truncated() {
    for lane in LANES {
        let mut all = nodes(2, lane);
        let gone = all[1].recv(None, Some(3), 0, 10);
        assert!(all[1].endpoint.cancel(gone));
        assert!(!all[1].endpoint.cancel(gone));
        let short = all[1].recv(None, Some(3), 0, 10);
        all[0].send(1, Some(3), &pattern(100_000, 9));
        run(&mut all, |all| recv_of(&all[1], short).is_some());
        assert_eq!(recv_of(&all[1], short), Some((3, 10, 100_000, true)));
        assert!(all[1].bytes(short) == &pattern(100_000, 9)[..10]);
        let cancelled = |done: &Completion| match done {
            Completion::Error { context, failure: Failure::Cancelled, .. } => *context == gone,
            _ => false,
        };
        assert_eq!(all[1].done.iter().filter(|done| cancelled(done)).count(), 1);
    }
}

#[test]
fn one_buffer_takes_message_after_message() {
    for lane in LANES {
        let mut all = nodes(2, lane);
        let multi = all[1].recv_with(None, None, 0, 1000, Some(100));
        for i in 0..10u8 {
            all[0].send(1, None, &[i; 95]);
        }
        run(&mut all, |all| all[1].done.len() == 10);
        let bytes = all[1].bytes(multi);
        for i in 0..10 {
            assert!(bytes[95 * i..95 * (i + 1)].iter().all(|byte| *byte == i as u8), "{lane:?}");
        }
        let last: Vec<bool> = all[1]
            .done
            .iter()
            .filter_map(|done| if let Completion::Recv { last, .. } = done { Some(*last) } else { None })
            .collect();
        assert_eq!(last, [false, false, false, false, false, false, false, false, false, true]);
    }
}

/// A program that computes must not keep others waiting, even one that has never named a peer.
#[test]
fn a_silent_program_receives() {
    for lane in LANES {
        let mut all = nodes(1, lane);
        let silent = Endpoint::open(&options(lane)).unwrap();
        let there = all[0].endpoint.add_peer(&silent.address());
        all[0].peers.push(there);
        let bytes = pattern(1 << 20, 5);
        let mut room = vec![0u8; bytes.len()];
        let buffers = [Buffer { ptr: room.as_mut_ptr(), len: room.len() }];
        let recv = RecvArgs {
            source: None,
            tag: None,
            ignore: 0,
            buffers: &buffers,
            multi: None,
            report: Report::Completion,
            context: 1,
        };
        // SAFETY: the room lives as long as the endpoint, and is looked at when the message has been
        // delivered.
        unsafe { silent.recv(&recv) }.unwrap();
        all[0].send_with(1, None, &bytes, |args| args.delivery = true);
        run(&mut all, |all| !all[0].done.is_empty());
        assert!(room == bytes, "{lane:?}");
    }
}

#[test]
fn sends_to_a_peer_that_has_left_fail() {
    for lane in LANES {
        let mut all = nodes(2, lane);
        let recv = all[1].recv(Some(0), Some(1), 0, 8);
        all[0].send(1, Some(1), &[1; 8]);
        run(&mut all, |all| recv_of(&all[1], recv).is_some() && !all[0].done.is_empty());
        drop(all.pop());
        all[0].done.clear();
        let waiting = all[0].recv(Some(1), Some(2), 0, 8);
        let lost = all[0].send(1, Some(1), &pattern(1 << 20, 0));
        run(&mut all, |all| all[0].done.len() == 2);
        for done in &all[0].done {
            assert!(
                matches!(done, Completion::Error { context, .. } if [waiting, lost].contains(context)),
                "{lane:?}: {done:?}"
            );
        }
    }
}

#[test]
fn a_null_buffer_is_an_error() {
    let node = nodes(1, Lane::Shared).remove(0);
    let buffers = [Buffer { ptr: std::ptr::null_mut(), len: 8 }];
    let recv = RecvArgs {
        source: None,
        tag: None,
        ignore: 0,
        buffers: &buffers,
        multi: None,
        report: Report::Completion,
        context: 1,
    };
    // SAFETY: it is refused before anything is written.
    assert_eq!(unsafe { node.endpoint.recv(&recv) }, Err(PostError::NullBuffer(8)));
}
