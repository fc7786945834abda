//! Half round trip and stream rate of the UDP lane over loopback between two spinning threads on cores of
//! their own.
//!
//! `cargo run --release -p tasuki-link --example udp_pingpong`

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use tasuki_link::{UdpLink, UdpOptions};

const BATCHES: usize = 200;
const TRIPS: usize = 50;
/// Bytes of UDP payload of a packet at an MTU of 1500.
const PACKET: usize = 1472;
const STREAM_PACKETS: usize = 64;

static DONE: AtomicBool = AtomicBool::new(false);

fn pin(core: usize) {
    // SAFETY: the set is a local of integers, and its size is its own.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

fn send(link: &mut UdpLink, to: SocketAddr, len: usize) {
    link.queue(to, len, |into| {
        into.fill(1);
        len
    });
    link.flush().expect("loopback takes it");
}

/// Answers a small packet by one of the same size, and the last large one of a batch by a small one.
fn answer(mut link: UdpLink) {
    pin(1);
    let mut large = 0;
    while !DONE.load(Ordering::Relaxed) {
        let mut answers = Vec::with_capacity(1);
        link.receive(64, |from, bytes| {
            large += usize::from(bytes.len() == PACKET);
            if bytes.len() < PACKET {
                answers.push((from, bytes.len()));
            } else if large % STREAM_PACKETS == 0 {
                answers.push((from, 1));
            }
        })
        .expect("loopback");
        answers.iter().for_each(|&(to, len)| send(&mut link, to, len));
    }
}

fn wait(link: &mut UdpLink) {
    while link.receive(1, |_, _| ()).expect("loopback") == 0 {}
}

fn timed(mut run: impl FnMut()) -> (f64, f64) {
    let mut seconds: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    (seconds[0], seconds[BATCHES / 2])
}

fn main() {
    let loopback = UdpOptions::new(IpAddr::from([127, 0, 0, 1]));
    let mut link = UdpLink::bind(&loopback).expect("a lane");
    let other = UdpLink::bind(&loopback).expect("a lane");
    let to = other.local();
    let thread = thread::spawn(move || answer(other));
    pin(0);
    for len in [8, 64, 1024] {
        let (best, median) = timed(|| {
            (0..TRIPS).for_each(|_| {
                send(&mut link, to, len);
                wait(&mut link);
            });
        });
        let half = |seconds: f64| seconds * 1e6 / TRIPS as f64 / 2.0;
        println!("{len:5} B  half round trip, us: best {:.2}, median {:.2}", half(best), half(median));
    }
    let (best, median) = timed(|| {
        for _ in 0..STREAM_PACKETS {
            link.queue(to, PACKET, |into| into.len());
        }
        link.flush().expect("loopback takes it");
        wait(&mut link);
    });
    let rate = |seconds: f64| (PACKET * STREAM_PACKETS) as f64 / seconds / 1e6;
    println!(
        "{PACKET:5} B  batches of {STREAM_PACKETS}, MB/s: best {:.0}, median {:.0}",
        rate(best),
        rate(median)
    );
    println!("{:?}", link.stats());
    DONE.store(true, Ordering::Relaxed);
    thread.join().expect("the other thread");
}
