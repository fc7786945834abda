//! Rings, locks and pages between real processes. This test program is its own other process: it starts
//! itself once more, and there the test named `helper` does what the environment asks for.

mod memory;
mod other;
mod page;
mod tasks;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use other::Other;
use tasks::{RING, record};
use tasuki_ring::{Departure, OpenError, Outbox, Segment, SegmentOptions, Token, Verdict};
use tasuki_testkit::replay::Replay;

/// Does the task that the environment names, in the other process; nothing in this one.
#[test]
fn helper() {
    if let Ok(task) = std::env::var("TASUKI_TASK") {
        tasks::run(&task);
    }
}

/// A segment for four senders.
fn inbox() -> Segment {
    let token = Token::random().expect("random");
    Segment::create(&SegmentOptions { ring_bytes: RING, max_peers: 4, ..SegmentOptions::new(token) })
        .expect("a segment")
}

/// The senders that have gone since this was asked last, and why.
fn departures(inbox: &mut Segment) -> Vec<(Token, Departure)> {
    let mut got = Vec::new();
    inbox.reap(|_, token, departure| got.push((token, departure)));
    got
}

#[test]
fn two_processes_stream_everything_in_order() {
    let command = "cargo test -p tasuki-ring --test processes two_processes_stream";
    let seed = Replay { variable: "TASUKI_SEED", command }.one(|| u64::from(std::process::id()));
    let mut inbox = inbox();
    let count = 20_000_u64;
    let (a, b) = (seed.to_string(), (seed + 1).to_string());
    let name = inbox.token().to_string();
    let others = [&a, &b].map(|seed| Other::start("stream", &[&name, seed, &count.to_string()]));
    // The first record of a slot shows which stream it carries; from then on every record must be the next
    // one of that stream.
    let mut streams: Vec<Option<(u64, u64)>> = vec![None; 4];
    let mut done = 0;
    while done < 2 * count {
        let taken = inbox.receive(16, |slot, bytes| {
            let (stream, number) = streams[slot.index()].get_or_insert_with(|| {
                let stream = if bytes == record(seed, 0) { seed } else { seed + 1 };
                (stream, 0)
            });
            assert!(bytes == record(*stream, *number), "record {number} of stream {stream} is another");
            *number += 1;
            Verdict::Consumed
        });
        done += taken as u64;
        if taken == 0 {
            std::thread::yield_now();
        }
    }
    others.into_iter().for_each(Other::finish);
    assert_eq!(inbox.receive(1, |_, _| Verdict::Consumed), 0);
    let gone = departures(&mut inbox);
    assert_eq!(gone.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [Departure::Closed; 2]);
}

#[test]
fn a_killed_sender_is_noticed_after_its_last_record() {
    let mut inbox = inbox();
    let mut other = Other::start("hold", &[&inbox.token().to_string()]);
    assert_eq!(other.hear(), "ready");
    let sender = Token::from_bytes([7; 16]);
    assert_eq!(departures(&mut inbox), [], "it lives");
    assert!(!inbox.has_left_rest(&sender), "it lives");
    other.kill();
    assert!(inbox.has_left_rest(&sender), "its record has not been received");
    assert_eq!(departures(&mut inbox), [], "its record has not been received");
    assert_eq!(
        inbox.receive(9, |_, bytes| {
            assert_eq!(bytes, b"hello");
            Verdict::Consumed
        }),
        1
    );
    assert_eq!(departures(&mut inbox), [(sender, Departure::Died)]);
    assert_eq!(departures(&mut inbox), []);
    // The slot of the killed sender can be used again.
    let mut other = Other::start("hold", &[&inbox.token().to_string()]);
    assert_eq!(other.hear(), "ready");
    assert_eq!(
        inbox.receive(9, |slot, _| {
            assert_eq!(slot.index(), 0);
            Verdict::Consumed
        }),
        1
    );
    other.tell();
    other.finish();
    assert_eq!(departures(&mut inbox), [(Token::from_bytes([7; 16]), Departure::Closed)]);
}

#[test]
fn a_killed_owner_is_noticed_and_its_segment_swept() {
    let name = Token::random().expect("random");
    let mut other = Other::start("own", &[&name.to_string()]);
    other.hear();
    let outbox = Outbox::open(&name, &name).expect("the segment");
    assert!(outbox.alive());
    let path = PathBuf::from(format!("/dev/shm/tasuki-ring.{name}"));
    // A segment made now leaves the living one alone.
    drop(inbox());
    assert!(path.exists() && outbox.alive());
    other.kill();
    // Every segment that is made sweeps, also those of other programs: one may hold the file for a moment, or
    // may have removed it.
    let eventually = |what: &str, holds: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(60);
        while !holds() {
            assert!(Instant::now() < end, "{what}");
            std::thread::yield_now();
        }
    };
    let opened = || Outbox::open(&name, &name);
    eventually("its owner is dead", &|| !outbox.alive());
    let is_of_nobody = || matches!(opened(), Err(OpenError::Dead { .. } | OpenError::NotHere { .. }));
    eventually("it is of nobody", &is_of_nobody);
    drop(inbox());
    eventually("swept", &|| !path.exists());
    drop(outbox);
    assert!(matches!(Outbox::open(&name, &name), Err(OpenError::NotHere { .. })));
}

#[test]
fn a_forked_child_neither_uses_nor_removes_anything() {
    let mut inbox = inbox();
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).expect("the segment");
    let (readable, writable) = {
        let mut ends = [0; 2];
        // SAFETY: `ends` has room for two descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        (ends[0], ends[1])
    };
    // SAFETY: the child calls nothing that needs a lock which another thread may hold: pushes, visits and
    // drops of this crate do nothing in it, which is what is tested; then it leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let inert =
            !outbox.push(1, |_| ()) && inbox.receive(1, |_, _| Verdict::Consumed) == 0 && !outbox.alive();
        drop(outbox);
        drop(inbox);
        // SAFETY: one byte of a live value; _exit never returns.
        unsafe {
            libc::write(writable, (&u8::from(inert) as *const u8).cast(), 1);
            libc::_exit(0);
        }
    }
    let mut said = 0_u8;
    // SAFETY: room for one byte; the child's id is ours to wait for.
    unsafe {
        assert_eq!(libc::read(readable, (&mut said as *mut u8).cast(), 1), 1);
        assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
        libc::close(readable);
        libc::close(writable);
    }
    assert_eq!(said, 1, "inert in the child");
    assert!(Path::new(&format!("/dev/shm/tasuki-ring.{}", inbox.token())).exists());
    assert!(outbox.alive() && outbox.push(3, |into| into.copy_from_slice(b"abc")));
    assert_eq!(
        inbox.receive(1, |_, bytes| {
            assert_eq!(bytes, b"abc");
            Verdict::Consumed
        }),
        1
    );
    assert_eq!(departures(&mut inbox), []);
}
