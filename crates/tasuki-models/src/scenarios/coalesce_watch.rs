//! A program that coalesces messages, and the helper that sends them if it goes off.

use std::rc::Rc;

use loom::thread;
use tasuki_proto::Time;

use crate::biased_lock::BiasedLock;
use crate::coalesce_watch::CoalesceWatch;
use crate::engine::Engine;
use crate::sync::park;
use crate::watchdog::Watchdog;

/// A moment at which everything that is coalesced is old.
const LATER: Time = Time(1_000_000_000);

fn endpoint() -> (Rc<CoalesceWatch>, Rc<BiasedLock<Engine>>) {
    let watch = Rc::new(CoalesceWatch::default());
    let lock = Rc::new(BiasedLock::new(Engine::new(Rc::clone(&watch))));
    // SAFETY: one thread is the program, and the other visits.
    unsafe { lock.program_calls_alone() };
    (watch, lock)
}

/// The program sends a message, coalesced if the helper looks after it.
fn send(watch: &CoalesceWatch, lock: &BiasedLock<Engine>, now: Time) {
    let mut engine = lock.lock();
    if watch.is_watched() {
        engine.coalesce(now);
    } else {
        engine.send_coalesced();
        engine.change(|messages| messages.sent += 1);
    }
}

/// Nothing is coalesced any more, and so many messages were sent.
fn all_sent(watch: &CoalesceWatch, lock: &BiasedLock<Engine>, sent: u32) {
    let messages = lock.lock().change(|messages| *messages);
    assert_eq!((messages.coalesced, messages.sent), (0, sent), "a message is left lying");
    assert!(!watch.since().1, "the helper is told that something is coalesced");
}

/// The program asks for the helper, which sleeps: it is woken, and sees what it is to do.
pub(crate) fn asking() {
    let (watch, lock) = endpoint();
    let _serving = watch.serve();
    let (word, inside) = (Rc::clone(&watch), Rc::clone(&lock));
    let program = thread::spawn(move || {
        send(&word, &inside, Time(1));
        send(&word, &inside, Time(2));
    });
    while !watch.is_wanted() {
        park();
    }
    let mut watchdog = Watchdog::new();
    watchdog.tend(&watch, &lock, Time(0));
    watchdog.tend(&watch, &lock, LATER);
    program.join().expect("no panic");
    watchdog.tend(&watch, &lock, LATER);
    all_sent(&watch, &lock, 2);
}

/// The helper looks after the messages of a program that coalesces some, sends others, and goes off.
pub(crate) fn watching() {
    let (watch, lock) = endpoint();
    let _serving = watch.serve();
    let mut watchdog = Watchdog::new();
    assert!(!watch.is_watched(), "so the program has asked");
    watchdog.tend(&watch, &lock, Time(0));
    assert!(watch.is_watched(), "the helper does what it was asked for");
    let (word, inside) = (Rc::clone(&watch), Rc::clone(&lock));
    let program = thread::spawn(move || {
        send(&word, &inside, Time(1));
        inside.lock().send_coalesced();
        send(&word, &inside, Time(2));
    });
    (0..2).for_each(|_| watchdog.tend(&watch, &lock, LATER));
    program.join().expect("no panic");
    watchdog.tend(&watch, &lock, LATER);
    all_sent(&watch, &lock, 2);
}

/// The helper stops looking after messages while the program sends. One that the program then coalesces goes
/// at its next call.
pub(crate) fn leaving() {
    let (watch, lock) = endpoint();
    let _serving = watch.serve();
    let mut watchdog = Watchdog::new();
    assert!(!watch.is_watched(), "so the program has asked");
    watchdog.tend(&watch, &lock, Time(0));
    let (word, inside) = (Rc::clone(&watch), Rc::clone(&lock));
    let program = thread::spawn(move || {
        send(&word, &inside, Time(1));
        send(&word, &inside, Time(2));
    });
    watchdog.tend(&watch, &lock, LATER);
    watchdog.oversubscribed = true;
    watchdog.tend(&watch, &lock, LATER);
    program.join().expect("no panic");
    send(&watch, &lock, Time(3));
    all_sent(&watch, &lock, 3);
}

/// The helper ends, however that comes about, while the program sends. From then on nothing is coalesced.
pub(crate) fn ending() {
    let (watch, lock) = endpoint();
    let (word, inside) = (Rc::clone(&watch), Rc::clone(&lock));
    let helper = thread::spawn(move || {
        let _serving = word.serve();
        let mut watchdog = Watchdog::new();
        watchdog.tend(&word, &inside, Time(0));
        watchdog.tend(&word, &inside, LATER);
    });
    send(&watch, &lock, Time(1));
    send(&watch, &lock, Time(2));
    helper.join().expect("no panic");
    assert!(!watch.is_watched(), "nobody looks after it");
    send(&watch, &lock, Time(3));
    all_sent(&watch, &lock, 3);
}
