//! Half round trip and stream rate of the rings between two processes, each pinned to a core of its own.
//!
//! `cargo run --release -p tasuki-ring --example ring_pingpong`

use std::process::{Command, exit};
use std::time::Instant;

use tasuki_ring::{Cma, Outbox, Segment, SegmentOptions, Token, Verdict};

/// Round trips are timed in batches, so that what else the machine does shows in the median batch and not in
/// the best one.
const BATCHES: usize = 400;
const TRIPS: u32 = 100;
/// Batches of a stream, each timed on its own.
const STREAMS: usize = 100;
const STREAM_RECORDS: usize = 1000;

fn pin(core: usize) {
    // SAFETY: the set is a local of integers, and its size is its own.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

fn send(outbox: &mut Outbox, len: usize) {
    while !outbox.push(len, |into| into.fill(7)) {
        std::hint::spin_loop();
    }
}

fn receive(inbox: &mut Segment) -> usize {
    let mut len = None;
    while len.is_none() {
        inbox.receive(1, |_, bytes| {
            len = Some(bytes.len());
            Verdict::Consumed
        });
        std::hint::spin_loop();
    }
    len.unwrap_or(0)
}

/// Best and median seconds of `count` runs.
fn timed(count: usize, mut run: impl FnMut()) -> (f64, f64) {
    let mut seconds: Vec<f64> = (0..count)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    (seconds[0], seconds[count / 2])
}

/// Answers every record by one of the same size, until an empty one comes; then takes records without an
/// answer until another empty one.
fn child(token: Token, me: Token) {
    pin(1);
    let mut inbox = Segment::create(&SegmentOptions::new(me)).expect("a segment");
    let mut outbox = Outbox::open(&token, &me).expect("the parent's segment");
    send(&mut outbox, 1);
    loop {
        match receive(&mut inbox) {
            0 => break,
            len => send(&mut outbox, len),
        }
    }
    loop {
        match receive(&mut inbox) {
            0 => break,
            1 => send(&mut outbox, 1),
            _ => {}
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    if let (Some(token), Some(me)) = (args.next(), args.next()) {
        let read =
            |text: String| Token::from_bytes(u128::from_str_radix(&text, 16).unwrap_or(0).to_be_bytes());
        return child(read(token), read(me));
    }
    pin(0);
    let (token, other) = (Token::random().expect("random"), Token::random().expect("random"));
    let mut inbox = Segment::create(&SegmentOptions::new(token)).expect("a segment");
    let exe = std::env::current_exe().expect("own path");
    let mut process =
        Command::new(exe).args([token.to_string(), other.to_string()]).spawn().expect("a child");
    receive(&mut inbox);
    let mut outbox = Outbox::open(&other, &token).expect("the child's segment");
    println!("process_vm_readv: {}", if Cma::probe(&outbox).is_some() { "allowed" } else { "forbidden" });
    for len in [8, 56, 64, 256, 1024, 4096, 16_384] {
        let (best, median) = timed(BATCHES, || {
            for _ in 0..TRIPS {
                send(&mut outbox, len);
                receive(&mut inbox);
            }
        });
        let half = |seconds: f64| seconds * 1e6 / f64::from(TRIPS) / 2.0;
        println!("{len:6} B  half round trip, us: best {:.3}, median {:.3}", half(best), half(median));
    }
    send(&mut outbox, 0);
    for len in [56, 1024, 8192, 32_000] {
        let (best, median) = timed(STREAMS, || {
            (0..STREAM_RECORDS).for_each(|_| send(&mut outbox, len));
            send(&mut outbox, 1);
            receive(&mut inbox);
        });
        let rate = |seconds: f64| (len * STREAM_RECORDS) as f64 / seconds / 1e6;
        println!("{len:6} B  stream, MB/s: best {:.0}, median {:.0}", rate(best), rate(median));
    }
    send(&mut outbox, 0);
    let status = process.wait().expect("the child's end");
    exit(status.code().unwrap_or(1));
}
