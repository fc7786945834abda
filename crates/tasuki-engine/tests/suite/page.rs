//! The statistics page: what goes over it is told, and told once.

use tasuki_engine::{Completion, Endpoint, Options};
use tasuki_ring::stats_page::{Reader, Snapshot, list};

use crate::{
    node::{Lane, Node, options, run},
    streams::{counters, join},
};

/// Two endpoints that keep pages.
fn watched(lane: Lane) -> Vec<Node> {
    let options = Options { stats: true, ..options(lane) };
    Node::acquainted((0..2).map(|_| Endpoint::open(&options).expect("an endpoint")).collect())
}

fn page(node: &Node) -> Snapshot {
    let address = node.endpoint.address().to_string();
    let mut pages = list().into_iter().filter_map(|path| Some(Reader::open(&path).ok()?.snapshot()));
    pages.find(|page| page.identity.address == address).expect("the page of the endpoint")
}

/// Sends a message from the first to the second one, and gives what their pages say then beyond what they
/// said before: bytes carried, and bytes of messages sent and received. `by_lane` says how many a node has
/// carried.
fn moved(mut all: Vec<Node>, len: u64, by_lane: fn(&Node) -> u64) -> [[u64; 3]; 2] {
    // Pages are brought up to date five times a second.
    let is_told = |all: &[Node]| all.iter().all(|node| page(node).carried == by_lane(node));
    run(&mut all, |all| is_told(all));
    let told = |node: &Node| {
        let page = page(node);
        [page.carried, page.endpoint.bytes_sent, page.endpoint.bytes_received]
    };
    let before = [told(&all[0]), told(&all[1])];
    let bytes: Vec<u8> = (0..len).map(|at| (at.wrapping_mul(31) ^ (at >> 9)) as u8).collect();
    let recv = all[1].recv(Some(0), Some(1), 0, bytes.len());
    all[0].send(1, Some(1), &bytes);
    let is_done = |node: &Node| {
        node.done.iter().any(|done| matches!(done, Completion::Recv { .. } | Completion::Send { .. }))
    };
    run(&mut all, |all| all.iter().all(is_done) && is_told(all));
    assert!(all[1].bytes(recv) == bytes);
    run(&mut all, |all| told(&all[0])[1] >= before[0][1] + len && told(&all[1])[2] >= before[1][2] + len);
    let after = [told(&all[0]), told(&all[1])];
    [0, 1].map(|node| [0, 1, 2].map(|what| after[node][what] - before[node][what]))
}

/// `tasuki hang` tells by this that a long message moves which is not whole yet. How fast the counters behind
/// it grow is what the tests of streams and of bulk look at.
#[test]
fn what_streams_and_bulk_carry_is_on_the_page_and_no_byte_of_messages_is_counted_twice() {
    let len = 9_000_000_u64;
    let by_stream = |node: &Node| counters(node).sent_bytes + counters(node).received_bytes;
    let by_bulk = |node: &Node| {
        let counters = node.endpoint.bulk().expect("asked for");
        counters.sent_bytes + counters.bytes
    };
    let streams = moved(join(watched(Lane::Streams), 200_000), len, by_stream);
    let bulk = moved(watched(Lane::Bulk), len, by_bulk);
    for found in [streams, bulk] {
        // What travels in the first frame of a message is not carried by either, and endpoints have a little
        // to say to each other besides.
        let (little, about) = (len / 10, len..len + len / 10);
        let [[given, sent, back], [taken, answered, received]] = found;
        assert!(given > len - little && taken > len - little, "{found:?}");
        assert!(about.contains(&sent) && about.contains(&received), "{found:?}");
        assert!(back < little && answered < little, "{found:?}");
    }
}
