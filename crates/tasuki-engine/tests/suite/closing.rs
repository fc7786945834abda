//! How long closing takes, in wall-clock time. It is printed, for the constants of `leaving`; what is proven
//! is only that everything ends.

use std::time::{Duration, Instant};

use crate::node::{Lane, Node, nodes, run};

/// The time in which all have closed, each on a thread of its own.
fn close_all(nodes: Vec<Node>) -> Duration {
    let start = Instant::now();
    let close = |node: Node| {
        std::thread::spawn(move || {
            // The other fields, among them the memory of operations, stay until the endpoint is closed.
            let node = node;
            let endpoint = node.endpoint;
            endpoint.close();
        })
    };
    let threads: Vec<_> = nodes.into_iter().map(close).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    start.elapsed()
}

/// Endpoints each of which has had a word from each other one.
fn met(count: usize, lane: Lane) -> Vec<Node> {
    let mut all = nodes(count, lane);
    for (at, node) in all.iter_mut().enumerate() {
        for other in (0..count).filter(|other| *other != at) {
            node.recv(Some(other), Some(1), 0, 8);
            node.send(other, Some(1), &[1; 8]);
        }
    }
    run(&mut all, |all| all.iter().all(|node| node.done.len() == 2 * (count - 1)));
    all
}

fn told(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let (least, most) = (times[0], times[times.len() - 1]);
    println!("{what}: median {:.1?} ({least:.1?} to {most:.1?})", times[times.len() / 2]);
}

#[test]
#[ignore = "measures"]
fn closing_timed() {
    for lane in [Lane::Shared, Lane::Packets] {
        let times = (0..20).map(|_| close_all(met(8, lane))).collect();
        told(&format!("{lane:?}, eight endpoints at once"), times);
        let times = (0..5).map(|_| {
            let mut all = met(2, lane);
            all[0].send(1, Some(2), &vec![1; 1 << 20]);
            all[0].turn();
            close_all(all)
        });
        told(&format!("{lane:?}, with a message that is never received"), times.collect());
    }
}
