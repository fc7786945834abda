//! How a peer has ended. A program whose receive is from any source has to ask, because such receives stay
//! posted.

use std::{
    fs::{File, OpenOptions, read_dir},
    os::unix::fs::FileExt,
    process::Command,
};

use tasuki_engine::Standing;

use crate::node::run;
use crate::other::Other;
use crate::stopped::{leaver, meet};

/// How another process stands to an endpoint that waits for a message of anybody, once it has ended. With
/// `is_met` the two have exchanged something, with `is_killed` it does not take leave.
fn standing_after(is_met: bool, is_killed: bool) -> Standing {
    let (mut other, address) = Other::start("stopped::helper", "");
    let mut all = leaver(&address);
    if is_met {
        meet(&mut all, &mut other);
    }
    let peer = all[0].peers[1];
    assert_eq!(all[0].endpoint.standing(peer), Standing::Present);
    all[0].recv(None, Some(9), 0, 8);
    if is_killed {
        other.kill();
    } else {
        other.finish(|| all[0].turn());
    }
    run(&mut all, |all| all[0].endpoint.standing(peer) != Standing::Present);
    assert!(all[0].done.iter().all(|done| !matches!(done, tasuki_engine::Completion::Recv { .. })));
    all[0].endpoint.standing(peer)
}

#[test]
fn a_peer_that_was_killed_has_failed_and_one_that_has_left_has_not() {
    assert_eq!(standing_after(true, true), Standing::Failed);
    assert_eq!(standing_after(true, false), Standing::Parted);
}

/// It may have been at its end before it had anything to say: nobody can know.
#[test]
fn a_peer_that_was_never_met_has_parted_however_it_has_ended() {
    assert_eq!(standing_after(false, true), Standing::Parted);
    assert_eq!(standing_after(false, false), Standing::Parted);
}

/// Spoils all positions up to which a process has received, in the file of its segment of shared memory; the
/// layout is what `tasuki-ring` says of it.
fn spoil(segment: &File, head: &[u8]) {
    let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(word(8), 3, "the version of the layout");
    let (senders, bells) = (u64::from(word(12)), u64::from(word(12)).div_ceil(64) * 8);
    let slots = 128 + bells.next_multiple_of(64);
    for slot in 0..senders {
        segment.write_all_at(&1_u64.to_le_bytes(), slots + slot * 256 + 64).expect("written");
    }
}

/// A process of its own, since to close a file would end the locks that a process has on it.
#[test]
fn spoiler() {
    let Ok(owner) = std::env::var("TASUKI_TEST_SPOIL") else { return };
    let owner: u32 = owner.parse().expect("a process");
    for entry in read_dir("/dev/shm").expect("a folder").flatten() {
        let mut head = [0; 32];
        let is_segment = entry.file_name().as_encoded_bytes().starts_with(b"tasuki-ring.");
        let Ok(file) = OpenOptions::new().read(is_segment).write(true).open(entry.path()) else { continue };
        if file.read_exact_at(&mut head, 0).is_ok() && head[24..28] == owner.to_le_bytes() {
            spoil(&file, &head);
            return println!("spoilt");
        }
    }
    panic!("process {owner} has no segment");
}

#[test]
fn a_peer_that_lives_is_given_up_because_its_ring_is_corrupt_and_hears_of_that() {
    let (mut other, address) = Other::start("stopped::helper", "");
    let mut all = leaver(&address);
    meet(&mut all, &mut other);
    other.tell("expect");
    assert_eq!(other.hear_with(|| all[0].turn()), "expects");
    other.stop();
    let mut spoiler = Command::new(std::env::current_exe().expect("own path"));
    spoiler
        .args(["--exact", "standing::spoiler", "--nocapture"])
        .env("TASUKI_TEST_SPOIL", other.id().to_string());
    let output = spoiler.output().expect("own executable");
    assert!(String::from_utf8_lossy(&output.stdout).contains("spoilt"), "{output:?}");
    let (peer, mut sent) = (all[0].peers[1], 0);
    run(&mut all, |all| {
        let failed = all[0].endpoint.standing(peer) == Standing::Failed;
        // A ring that is full has its sender look how far the receiver is. Rings have 64 KiB and lines of 64
        // bytes.
        if !failed && sent < 4096 {
            sent += 1;
            all[0].send(1, Some(9), &[]);
        }
        failed
    });
    let reason = all[0].endpoint.failure_reason(peer).expect("a reason");
    assert!(reason.contains("corrupt") && !reason.contains("gone"), "{reason}");
    other.go_on();
    // A receive from a peer that has given this process up would wait for ever.
    assert_eq!(other.hear_with(|| all[0].turn()), "failed");
    assert_eq!(other.hear_with(|| all[0].turn()), "error");
    other.kill();
}
