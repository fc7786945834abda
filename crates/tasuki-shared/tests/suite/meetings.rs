//! How processes find each other, and what goes wrong there.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use tasuki_shared::{Meeting, OpenError, Options, Shared};

use crate::nodes::{endpoint, meeting, open, options, own_address};

fn error(meeting: &Meeting, options: &Options) -> String {
    match Shared::open(meeting, options, &endpoint()) {
        Ok(_) => panic!("it opens"),
        Err(error) => error.to_string(),
    }
}

/// Connects to rank 0 as soon as it listens.
fn connect(at: Ipv4Addr) -> TcpStream {
    loop {
        match TcpStream::connect((at, 29500)) {
            Ok(stream) => return stream,
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Neither a stranger that says nothing, nor one that says something else, nor processes that do not belong
/// to the program keep the others from meeting; those are told why they are refused.
#[test]
fn strangers_are_refused_and_keep_nobody_waiting() {
    let at = own_address();
    std::thread::scope(|scope| {
        let first = scope.spawn(move || open(&meeting(0, 2, at)));
        let silent = connect(at);
        let mut other = connect(at);
        other.write_all(&[b'x'; 72]).expect("written");
        let mut said = Vec::new();
        other.read_to_end(&mut said).expect("read");
        assert_eq!(String::from_utf8_lossy(&said), "\0another version of Tasuki, or another program");
        let small = Options { bytes: 1 << 20, ..options() };
        let told = error(&meeting(1, 2, at), &small);
        assert!(
            told.ends_with("refuses this process: it shares 1048576 bytes, rank 0 shares 67108864"),
            "{told}"
        );
        let told = error(&meeting(2, 4, at), &options());
        assert!(told.ends_with("it was started as one of 4 processes, rank 0 as one of 2"), "{told}");
        let second = open(&meeting(1, 2, at));
        let first = first.join().expect("opens");
        std::thread::scope(|scope| {
            scope.spawn(|| first.close().expect("leaves"));
            second.close().expect("leaves");
        });
        drop(silent);
    });
}

/// The others need not wait for somebody who has died.
#[test]
fn those_who_go_again_are_named() {
    let at = own_address();
    std::thread::scope(|scope| {
        let first = scope.spawn(move || error(&meeting(0, 3, at), &options()));
        let mut dies = connect(at);
        let numbers = [3_u32.to_le_bytes(), 2_u32.to_le_bytes()].concat();
        let endpoint = tasuki_engine::Endpoint::open(&endpoint()).expect("opens");
        let bytes = (64_u64 << 20).to_le_bytes();
        let hello = [&b"TsSMem\0\x02"[..], &numbers, &bytes, &endpoint.address().to_bytes()].concat();
        dies.write_all(&hello).expect("written");
        drop(dies);
        let told = first.join().expect("no panic");
        assert_eq!(told, "rank 2 came and went again, before all had come: it says why");
    });
}

#[test]
fn those_who_do_not_come_are_named() {
    let short = |rank| Meeting { time: Duration::from_millis(200), ..meeting(rank, 4, own_address()) };
    let missing = error(&short(0), &options());
    assert_eq!(missing, "not all processes came within 0 s: still missing are ranks 1, 2, 3");
    let alone = error(&short(1), &options());
    assert!(alone.starts_with("rank 0 cannot be reached at 127."), "{alone}");
}

#[test]
fn what_cannot_be_is_refused() {
    let one = meeting(0, 1, own_address());
    for bytes in [0, usize::MAX / 2] {
        let result = Shared::open(&one, &Options { bytes, ..options() }, &endpoint());
        assert!(matches!(result, Err(OpenError::Size(told)) if told == bytes));
    }
    // The address of something that is there already.
    let address = Some(&one as *const Meeting as usize / 4096 * 4096);
    let taken = error(&one, &Options { bytes: 4096, address, ..options() });
    assert!(taken.starts_with("4096 bytes at address 0x") && taken.contains("File exists"), "{taken}");
}
