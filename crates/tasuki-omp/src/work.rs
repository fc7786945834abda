//! What constructs share out among the threads of a team, in shared memory: a slot for each, in turn.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tasuki_profile::Wait;

use crate::loan::{self, Loan};
use crate::locals::must;
use crate::stack::on_private;
use crate::thread::{self, Member};
use crate::world::{SLOTS, Slot, World};

/// Looks at shared memory before a thread sleeps between looks.
const LOOKS: u32 = 100;
/// How long it sleeps then.
const NAP: Duration = Duration::from_micros(20);

/// Waits until something is so that other threads bring about.
pub fn until(mut so: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if so() {
            return;
        }
        std::thread::yield_now();
    }
    while !so() {
        std::thread::sleep(NAP);
    }
}

/// This thread comes to the next construct: its number. Waits until the slot is free, if the thread has run
/// ahead of others by as many constructs as there are slots.
pub fn next_ticket() -> u64 {
    let ticket = thread::ticket();
    thread::set_ticket(ticket + 1);
    if let Some(world) = World::get() {
        let slot = world.slot(ticket);
        until(|| slot.used.load(Ordering::Acquire) == ticket / SLOTS);
    }
    ticket
}

/// This thread is through with a construct. The last one makes the slot ready for another.
pub fn leave(ticket: u64) {
    leave_with(ticket, |_| {});
}

/// Like [`leave`], and the last one takes away what is only needed until then.
pub fn leave_with(ticket: u64, last: impl FnOnce(&Slot)) {
    let Some(world) = World::get() else { return };
    let slot = world.slot(ticket);
    if slot.left.fetch_add(1, Ordering::AcqRel) + 1 == thread::member().threads {
        last(slot);
        clear(slot);
        slot.used.store(ticket / SLOTS + 1, Ordering::Release);
    }
}

fn clear(slot: &Slot) {
    for number in [&slot.next, &slot.turn] {
        number.store(0, Ordering::Relaxed);
    }
    for number in [&slot.came, &slot.left] {
        number.store(0, Ordering::Relaxed);
    }
    slot.copied.store(0, Ordering::Relaxed);
}

/// Whether this thread is the first one at a `single`.
pub fn single() -> bool {
    let Some(world) = World::get().filter(|_| thread::member().threads > 1) else { return true };
    let ticket = next_ticket();
    let first = world.slot(ticket).came.fetch_add(1, Ordering::AcqRel) == 0;
    leave(ticket);
    first
}

/// As [`single`], where the first thread hands something to the others: `None` for that one, which calls
/// [`hand_copy`] then.
pub fn single_copy() -> Option<usize> {
    let world = World::get().filter(|_| thread::member().threads > 1)?;
    let ticket = next_ticket();
    let slot = world.slot(ticket);
    if slot.came.fetch_add(1, Ordering::AcqRel) == 0 {
        return None;
    }
    barrier(None);
    let copied = slot.copied.load(Ordering::Acquire);
    leave(ticket);
    Some(copied)
}

thread_local! {
    /// What this thread has lent to the others for a `single`, until the barrier at the end of it.
    static LENT: RefCell<Option<Loan>> = const { RefCell::new(None) };
}

/// The first thread of a `single` hands something to all, which is on its stack.
pub fn hand_copy(copy: usize) {
    let Some(world) = World::get().filter(|_| thread::member().threads > 1) else { return };
    let ticket = thread::ticket() - 1;
    // SAFETY: the thread is on its shared stack, and what is there stays until the barrier at the end.
    let loan = unsafe { loan::lend_behind(copy as *mut c_void) };
    world.slot(ticket).copied.store(copy, Ordering::Release);
    barrier(None);
    leave(ticket);
    LENT.set(loan);
}

/// One thread of the team hands something to all, which all call: what it is.
pub fn handed(mine: Option<usize>) -> usize {
    let Some(world) = World::get().filter(|_| thread::member().threads > 1) else { return mine.unwrap_or(0) };
    let ticket = next_ticket();
    let slot = world.slot(ticket);
    if let Some(mine) = mine {
        slot.copied.store(mine, Ordering::Release);
    }
    barrier(None);
    let copied = slot.copied.load(Ordering::Acquire);
    leave(ticket);
    copied
}

/// Waits for all threads of the team. What follows is a phase of the program, known by its place.
pub fn barrier(place: Option<usize>) {
    let member = thread::member();
    let Some(world) = World::get().filter(|_| member.threads > 1) else { return };
    wait_for_team(world, member, place);
    if let Some(loan) = LENT.take() {
        // SAFETY: the barrier was that at the end of the `single`.
        unsafe { loan.take_back() };
    }
}

fn wait_for_team(world: &World, member: Member, place: Option<usize>) {
    let waits = || world.locals.barrier(&world.shared, world.per_process, member.threads);
    // The first thread of each process stands for all of them.
    if !member.id.is_multiple_of(world.per_process) {
        return on_private(waits);
    }
    on_private(|| {
        world.timed(Wait::Barrier, waits);
        if let Some(place) = place {
            must(world.shared.phase(place as u64));
        }
    });
}
