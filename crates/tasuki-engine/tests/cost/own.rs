//! Messages of an endpoint to itself, which are copied on their way.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use tasuki_engine::{Buffer, Endpoint, Options, Rate, RecvArgs, Report, SendArgs};

use crate::memory;

/// A wait that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(60);
const LEN: usize = 32 << 20;

/// Sends a long message from an endpoint to itself. Gives the largest piece of memory that this thread took
/// for it.
fn largest_allocation(rate: Rate) -> usize {
    let identity = Some(Ipv4Addr::LOCALHOST.into());
    let options = Options { identity, stats: false, rate, ..Options::default() };
    let endpoint = Endpoint::open(&options).expect("an endpoint");
    let own = endpoint.add_peer(&endpoint.address());
    let (mut from, mut into) = (vec![7; LEN], vec![0; LEN]);
    let [from, into] = [&mut from, &mut into].map(|bytes| [Buffer { ptr: bytes.as_mut_ptr(), len: LEN }]);
    let recv = RecvArgs {
        source: Some(own),
        tag: None,
        ignore: 0,
        buffers: &into,
        multi: None,
        report: Report::Completion,
        context: 1,
    };
    let send = SendArgs {
        peer: own,
        tag: None,
        data: None,
        buffers: &from,
        inject: false,
        report: Report::Completion,
        delivery: false,
        more: false,
        context: 2,
    };
    memory::take_largest();
    // SAFETY: both buffers live until both operations are complete, and nothing else uses them.
    unsafe { endpoint.recv(&recv).and_then(|()| endpoint.send(&send)) }.expect("posted");
    let (start, mut done) = (Instant::now(), 0);
    while done < 2 {
        endpoint.progress();
        done += std::iter::from_fn(|| endpoint.poll()).count();
        assert!(start.elapsed() < TIMEOUT, "the message does not come");
    }
    let largest = memory::take_largest();
    // SAFETY: the message has been received, so that the memory is this function's again.
    assert!(unsafe { std::slice::from_raw_parts(into[0].ptr, LEN) }.iter().all(|byte| *byte == 7));
    largest
}

/// Whatever is granted at a time, memory for the copy is bounded: a program that sends itself what fills half
/// of the host's memory has none for another copy of it.
#[test]
fn a_message_to_oneself_is_copied_in_small_pieces() {
    let fixed = Rate::Static("101M/128K".parse().expect("receivers"));
    for rate in [Rate::Adaptive, fixed] {
        let largest = largest_allocation(rate);
        assert!(largest <= 1 << 20, "{largest} bytes at once");
    }
}
