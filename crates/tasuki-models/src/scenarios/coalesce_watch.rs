//! A program that holds messages back, and the helper that sends them if it goes off.

use std::rc::Rc;

use loom::thread;
use tasuki_proto::Time;

use crate::biased_lock::BiasedLock;
use crate::coalesce_watch::CoalesceWatch;
use crate::engine::Engine;
use crate::sync::park;
use crate::watchdog::Watchdog;

/// A moment at which everything that is held is old.
const LATER: Time = Time(1_000_000_000);

fn endpoint() -> (Rc<CoalesceWatch>, Rc<BiasedLock<Engine>>) {
    let held = Rc::new(CoalesceWatch::default());
    let lock = Rc::new(BiasedLock::new(Engine::new(Rc::clone(&held))));
    // SAFETY: one thread is the program, and the other visits.
    unsafe { lock.program_calls_alone() };
    (held, lock)
}

/// The program sends a message, held if the helper looks after it.
fn send(held: &CoalesceWatch, lock: &BiasedLock<Engine>, now: Time) {
    let mut engine = lock.lock();
    if held.is_watched() {
        engine.hold(now);
    } else {
        engine.send_held();
        engine.change(|messages| messages.sent += 1);
    }
}

/// Nothing is held any more, and so many messages were sent.
fn all_sent(held: &CoalesceWatch, lock: &BiasedLock<Engine>, sent: u32) {
    let messages = lock.lock().change(|messages| *messages);
    assert_eq!((messages.held, messages.sent), (0, sent), "a message is left lying");
    assert!(!held.since().1, "the helper is told that something is held");
}

/// The program asks for the helper, which sleeps: it is woken, and sees what it is to do.
pub(crate) fn asking() {
    let (held, lock) = endpoint();
    let _serving = held.serve();
    let (word, inside) = (Rc::clone(&held), Rc::clone(&lock));
    let program = thread::spawn(move || {
        send(&word, &inside, Time(1));
        send(&word, &inside, Time(2));
    });
    while !held.is_wanted() {
        park();
    }
    let mut watchdog = Watchdog::new();
    watchdog.tend(&held, &lock, Time(0));
    watchdog.tend(&held, &lock, LATER);
    program.join().expect("no panic");
    watchdog.tend(&held, &lock, LATER);
    all_sent(&held, &lock, 2);
}

/// The helper looks after the messages of a program that holds some, sends others, and goes off.
pub(crate) fn watching() {
    let (held, lock) = endpoint();
    let _serving = held.serve();
    let mut watchdog = Watchdog::new();
    assert!(!held.is_watched(), "so the program has asked");
    watchdog.tend(&held, &lock, Time(0));
    assert!(held.is_watched(), "the helper does what it was asked for");
    let (word, inside) = (Rc::clone(&held), Rc::clone(&lock));
    let program = thread::spawn(move || {
        send(&word, &inside, Time(1));
        inside.lock().send_held();
        send(&word, &inside, Time(2));
    });
    (0..2).for_each(|_| watchdog.tend(&held, &lock, LATER));
    program.join().expect("no panic");
    watchdog.tend(&held, &lock, LATER);
    all_sent(&held, &lock, 2);
}

/// The helper stops looking after messages while the program sends. One that the program then holds goes at
/// its next call.
pub(crate) fn leaving() {
    let (held, lock) = endpoint();
    let _serving = held.serve();
    let mut watchdog = Watchdog::new();
    assert!(!held.is_watched(), "so the program has asked");
    watchdog.tend(&held, &lock, Time(0));
    let (word, inside) = (Rc::clone(&held), Rc::clone(&lock));
    let program = thread::spawn(move || {
        send(&word, &inside, Time(1));
        send(&word, &inside, Time(2));
    });
    watchdog.tend(&held, &lock, LATER);
    watchdog.oversubscribed = true;
    watchdog.tend(&held, &lock, LATER);
    program.join().expect("no panic");
    send(&held, &lock, Time(3));
    all_sent(&held, &lock, 3);
}

/// The helper ends, however that comes about, while the program sends. From then on nothing is held.
pub(crate) fn ending() {
    let (held, lock) = endpoint();
    let (word, inside) = (Rc::clone(&held), Rc::clone(&lock));
    let helper = thread::spawn(move || {
        let _serving = word.serve();
        let mut watchdog = Watchdog::new();
        watchdog.tend(&word, &inside, Time(0));
        watchdog.tend(&word, &inside, LATER);
    });
    send(&held, &lock, Time(1));
    send(&held, &lock, Time(2));
    helper.join().expect("no panic");
    assert!(!held.is_watched(), "nobody looks after it");
    send(&held, &lock, Time(3));
    all_sent(&held, &lock, 3);
}
