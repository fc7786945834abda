//! What a byte of long messages costs in frames and length-coded: processor time of both ends and the kernel
//! between them, over loopback, in pairs one after the other. For `docs/results/length-coded.md`; proves
//! nothing but that both arrive.

use tasuki_engine::Completion;

use crate::node::{Lane, Node, nodes};
use crate::plain;

const BYTES: usize = 4 << 20;
const MESSAGES: usize = 8;
const PAIRS: usize = 11;

/// Of the whole process, in the program and in the kernel.
fn processor_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives through the call.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) }, 0);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Sends some messages; ns of processor time per byte. Not inlined, so that a profiler can be told to look at
/// nothing else.
#[inline(never)]
fn stream(all: &[Node], from: &mut [u8], into: &mut [u8]) -> f64 {
    let begin = processor_ns();
    for _ in 0..MESSAGES {
        // SAFETY: the buffer outlives the receive, which is over before this function is.
        unsafe { plain::recv(&all[1].endpoint, all[1].peers[0], into) };
        // SAFETY: nobody writes to the buffer; it outlives the send, which is over before this function is.
        unsafe { plain::send(&all[0].endpoint, all[0].peers[1], from) };
        let (mut sent, mut received) = (false, false);
        while !(sent && received) {
            all[1].endpoint.turn(8, |one| received |= matches!(one, Completion::Recv { .. }));
            all[0].endpoint.turn(8, |one| sent |= matches!(one, Completion::Send { .. }));
        }
    }
    (processor_ns() - begin) / (MESSAGES * BYTES) as f64
}

#[test]
#[ignore = "long: measures"]
fn framings_compared() {
    let mut from: Vec<u8> = (0..BYTES).map(|at| ((at * 7) ^ (at >> 8)) as u8).collect();
    let mut into = vec![0; BYTES];
    let framings = [Lane::Packets, Lane::Bulk].map(|lane| nodes(2, lane));
    // TASUKI_FRAMING=frames or length: that one alone, for a profiler.
    let only = std::env::var("TASUKI_FRAMING").ok();
    let wanted = |at: usize| only.as_deref().is_none_or(|only| only == ["frames", "length"][at]);
    let mut costs = [Vec::new(), Vec::new()];
    for _ in 0..PAIRS {
        for at in (0..2).filter(|at| wanted(*at)) {
            into.fill(0);
            costs[at].push(stream(&framings[at], &mut from, &mut into));
            assert!(from == into);
        }
    }
    for (name, mut costs) in ["frames", "length"].into_iter().zip(costs) {
        costs.sort_unstable_by(f64::total_cmp);
        if let [least, .., most] = costs[..] {
            println!(
                "{name}: {:.3} ns of processor per byte ({least:.3} to {most:.3})",
                costs[costs.len() / 2]
            );
        }
    }
    println!("{:?}", framings[1][1].endpoint.bulk());
}
