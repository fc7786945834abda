//! Loops whose iterations wait for others (`ordered(n)`, `depend(sink)` and `depend(source)`): a bit for each
//! iteration in shared memory says that it has been through.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::alloc;
use crate::stack::on_private;
use crate::thread;
use crate::work::{self, until};
use crate::world::World;

/// Loops around one another, of which the thread's iterations are told apart by their numbers.
pub struct Loops {
    /// The construct.
    ticket: u64,
    /// Of each loop: the first value, the step and the number of iterations.
    each: Vec<Counted>,
    bits: *const AtomicU32,
}

/// A loop as it is counted.
#[derive(Clone, Copy)]
pub struct Counted {
    pub first: i64,
    pub step: i64,
    pub total: u64,
}

thread_local! {
    /// Whether this thread is in such loops, without a look at them.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static LOOPS: RefCell<Option<Loops>> = const { RefCell::new(None) };
}

/// A thread comes to the loops.
pub fn begin(each: impl Iterator<Item = Counted>) {
    let threads = thread::member().threads;
    let Some(world) = World::get().filter(|_| threads > 1) else { return };
    let each: Vec<Counted> = on_private(|| each.collect());
    let ticket = work::next_ticket();
    let slot = world.slot(ticket);
    if slot.came.fetch_add(1, Ordering::AcqRel) == 0 {
        let all = each.iter().fold(1, |all: u64, one| all.saturating_mul(one.total));
        let words = usize::try_from(all.div_ceil(u32::BITS.into()).max(1)).unwrap_or(usize::MAX);
        // SAFETY: the function takes any numbers.
        let bits = unsafe { alloc::calloc(words, size_of::<u32>()) };
        if bits.is_null() {
            eprintln!("tasuki omp: no memory for {all} iterations that wait for one another");
            std::process::abort();
        }
        slot.copied.store(bits as usize, Ordering::Release);
    }
    until(|| slot.copied.load(Ordering::Acquire) != 0);
    let bits = slot.copied.load(Ordering::Acquire) as *const AtomicU32;
    let before = LOOPS.replace(Some(Loops { ticket, each, bits }));
    on_private(|| drop(before));
    INSIDE.set(true);
}

/// The thread comes to a region of its own inside of an iteration: what it is in, for [`resume`].
pub fn set_aside() -> Option<Loops> {
    INSIDE.take().then(|| LOOPS.take()).flatten()
}

/// The region has ended.
pub fn resume(loops: Option<Loops>) {
    INSIDE.set(loops.is_some());
    // A thread that ends has no such variable any more when the program's last handlers run.
    if loops.is_some() {
        LOOPS.set(loops);
    }
}

/// The iteration with these numbers, one for each loop, is through, as far as others wait for it.
pub fn post(numbers: impl Fn(usize) -> i64) {
    let Some((word, bit)) = place(numbers) else { return };
    // SAFETY: the word is one of the bits', which are there until all threads have left.
    unsafe { (*word).fetch_or(bit, Ordering::Release) };
}

/// Waits for the iteration with these numbers, if there is one.
pub fn wait(numbers: impl Fn(usize) -> i64) {
    let Some((word, bit)) = place(numbers) else { return };
    // SAFETY: as above.
    until(|| unsafe { (*word).load(Ordering::Acquire) } & bit != 0);
}

/// The thread has left the loops. The last one gives back the memory.
pub fn end() {
    if !INSIDE.take() {
        return;
    }
    let Some(loops) = LOOPS.take() else { return };
    work::leave_with(loops.ticket, |slot| {
        // SAFETY: all threads have left, and the memory is that of `begin`.
        unsafe { alloc::free(slot.copied.load(Ordering::Acquire) as *mut c_void) };
    });
    on_private(|| drop(loops));
}

/// The bit of an iteration.
fn place(numbers: impl Fn(usize) -> i64) -> Option<(*const AtomicU32, u32)> {
    if !INSIDE.get() {
        return None;
    }
    LOOPS.with_borrow(|loops| {
        let Loops { each, bits, .. } = loops.as_ref()?;
        let mut at = 0_u64;
        for (number, one) in each.iter().enumerate() {
            let steps = numbers(number).wrapping_sub(one.first).checked_div(one.step)?;
            let steps = u64::try_from(steps).ok().filter(|steps| *steps < one.total)?;
            at = at * one.total + steps;
        }
        let word = bits.wrapping_add((at / u64::from(u32::BITS)) as usize);
        Some((word, 1 << (at % u64::from(u32::BITS))))
    })
}
