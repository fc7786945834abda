//! Processes that leave without the others.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use tasuki_shared::{Options, Shared};

use crate::nodes::{endpoint, meeting, open, options, own_address, word};

/// What the processes that stay were told: a function without surroundings tells it.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The others are told which rank it is, also if they want nothing from it, and once.
#[test]
fn a_process_that_leaves_alone_is_missed() {
    let at = own_address();
    std::thread::scope(|scope| {
        let (passed, all_passed) = mpsc::channel();
        let stay = |rank| {
            let passed = passed.clone();
            scope.spawn(move || {
                let on_loss = |reason: &str| TOLD.lock().expect("no panic").push(reason.to_owned());
                let options = Options { on_loss, ..options() };
                let shared = Shared::open(&meeting(rank, 3, at), &options, &endpoint()).expect("opens");
                shared.barrier().expect("passes");
                passed.send(()).expect("it is waited for");
                let lost = if rank == 0 { shared.barrier() } else { shared.lock(2) };
                let lost = lost.expect_err("the memory is lost").to_string();
                assert!(lost.starts_with("shared memory is lost: rank 2 "), "{lost}");
                assert!(shared.lock(1).is_err() && shared.barrier().is_err() && shared.unlock(1).is_err());
                // It leaves now, and the other one still names the one that was lost first.
            })
        };
        let others = [0, 1].map(stay);
        let shared = open(&meeting(2, 3, at));
        word(&shared, 0).store(1, SeqCst);
        shared.lock(2).expect("locked");
        shared.barrier().expect("passes");
        // One that has not passed yet may hear of the end first, which is a loss as well.
        drop(passed);
        all_passed.iter().take(2).for_each(drop);
        drop(shared);
        others.into_iter().for_each(|other| other.join().expect("no panic"));
    });
    let told = TOLD.lock().expect("no panic").clone();
    let is_right = |reason: &String| reason.starts_with("rank 2 on host 127.0.0.1 is gone: ");
    assert!(told.len() == 2 && told.iter().all(is_right), "{told:?}");
}

/// A process that waits for all to leave misses one that ends before it comes to that.
#[test]
fn a_process_that_ends_is_missed_by_one_that_leaves() {
    let at = own_address();
    let (leaves, left) = mpsc::channel();
    let (told, tells) = mpsc::channel();
    let one = std::thread::spawn(move || {
        let shared = open(&meeting(0, 2, at));
        shared.barrier().expect("passes");
        leaves.send(()).expect("it is waited for");
        told.send(shared.close().map_err(|lost| lost.to_string())).expect("it is waited for");
    });
    let other = open(&meeting(1, 2, at));
    other.barrier().expect("passes");
    left.recv().expect("it leaves");
    // Most of the time it waits by then; whether it does makes no difference to what it is told.
    std::thread::sleep(Duration::from_millis(500));
    drop(other);
    let lost = tells.recv_timeout(Duration::from_secs(60)).expect("it is told").expect_err("it is lost");
    assert!(lost.starts_with("shared memory is lost: rank 1 "), "{lost}");
    one.join().expect("no panic");
}
