//! Loops that are shared out: which iterations a thread gets next.

use std::sync::atomic::Ordering;

use crate::doacross;
use crate::plan::{Kind, Loop, Plan, Schedule};
use crate::thread::{self, Member};
use crate::work;
use crate::world::{Slot, World};

/// The loop with the schedule that `OMP_SCHEDULE` or `omp_set_schedule` say.
pub fn runtime(plan: Plan) -> Plan {
    let (kind, chunk) = schedule_of_run();
    let kind = match kind {
        2 => Kind::Dynamic,
        3 => Kind::Guided,
        _ => Kind::Static,
    };
    plan.schedule(kind, chunk)
}

/// What `OMP_SCHEDULE` or `omp_set_schedule` say, as this thread has it.
pub fn schedule_of_run() -> Schedule {
    thread::settings().schedule.or_else(|| World::get().map(|world| world.schedule)).unwrap_or((1, 0))
}

/// A thread comes to a loop.
pub fn begin(plan: Plan) {
    let member = thread::member();
    let shared = member.threads > 1 && (plan.kind != Kind::Static || plan.ordered);
    let ticket = shared.then(work::next_ticket);
    thread::set_loop(Loop { plan, ticket, had: 0, now: (0, 0) });
}

/// The next values for this thread, the last one not included; `None` at the end.
pub fn next() -> Option<(i64, i64)> {
    let plan = thread::current_loop().plan;
    next_part().map(|(from, to)| (plan.value(from), plan.value(to)))
}

/// The next iterations for this thread, counted from 0, the last one not included; `None` at the end.
pub fn next_part() -> Option<(u64, u64)> {
    let mut this = thread::current_loop();
    let member = thread::member();
    if this.plan.ordered {
        pass_turn(&this);
    }
    let got = match this.plan.kind {
        _ if member.threads == 1 => (this.had == 0 && this.plan.total > 0).then_some((0, this.plan.total)),
        Kind::Static => of_static(&this, member),
        Kind::Dynamic => of_dynamic(&this),
        Kind::Guided => of_guided(&this, member),
    };
    this.had += 1;
    this.now = got.unwrap_or((0, 0));
    thread::set_loop(this);
    got
}

/// The next value alone, of a loop whose chunks are of one iteration where threads share it out.
pub fn next_one() -> Option<i64> {
    let mut this = thread::current_loop();
    if thread::member().threads > 1 {
        return next().map(|(value, _)| value);
    }
    let value = (this.had < this.plan.total).then(|| this.plan.value(this.had))?;
    this.had += 1;
    thread::set_loop(this);
    Some(value)
}

/// A thread leaves a loop.
pub fn end() {
    let this = thread::current_loop();
    if let Some(ticket) = this.ticket {
        work::leave(ticket);
    }
    thread::set_loop(Loop::NONE);
    doacross::end();
}

/// Waits until all iterations before those of this thread have been in order.
pub fn wait_for_turn() {
    let this = thread::current_loop();
    let (Some(ticket), Some(world)) = (this.ticket, World::get()) else { return };
    let slot = world.slot(ticket);
    work::until(|| slot.turn.load(Ordering::Acquire) == this.now.0);
}

/// The iterations of this thread are over: the turn is that of the ones that follow.
fn pass_turn(this: &Loop) {
    let (Some(ticket), Some(world)) = (this.ticket, World::get()) else { return };
    if this.now.1 > this.now.0 {
        wait_for_turn();
        world.slot(ticket).turn.store(this.now.1, Ordering::Release);
    }
}

fn of_static(this: &Loop, member: Member) -> Option<(u64, u64)> {
    let (total, threads, id) = (this.plan.total, u64::from(member.threads), u64::from(member.id));
    if this.plan.chunk == 0 {
        let (each, more) = (total / threads, total % threads);
        let from = id * each + id.min(more);
        let to = from + each + u64::from(id < more);
        return (this.had == 0 && to > from).then_some((from, to));
    }
    let round = this.had.checked_mul(threads)?.checked_add(id)?;
    let from = round.checked_mul(this.plan.chunk).filter(|&from| from < total)?;
    Some((from, total.min(from.saturating_add(this.plan.chunk))))
}

fn of_dynamic(this: &Loop) -> Option<(u64, u64)> {
    let slot = World::get()?.slot(this.ticket?);
    let total = this.plan.total;
    // A look first: at the end most threads only read.
    if slot.next.load(Ordering::Relaxed) >= total {
        return None;
    }
    if total >= FEW {
        return of_many(slot, this);
    }
    let from = slot.next.fetch_add(this.plan.chunk, Ordering::Relaxed);
    (from < total).then(|| (from, total.min(from + this.plan.chunk)))
}

/// Of so many iterations threads do not count beyond the end, by a chunk each: the sum might not fit in the
/// counter.
const FEW: u64 = 1 << 48;

/// As [`of_dynamic`], of so many.
fn of_many(slot: &Slot, this: &Loop) -> Option<(u64, u64)> {
    let (total, chunk) = (this.plan.total, this.plan.chunk);
    let end = |from: u64| total.min(from.saturating_add(chunk));
    let take = |from: u64| (from < total).then(|| end(from));
    slot.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok().map(|from| (from, end(from)))
}

fn of_guided(this: &Loop, member: Member) -> Option<(u64, u64)> {
    let slot = World::get()?.slot(this.ticket?);
    let total = this.plan.total;
    let mut from = slot.next.load(Ordering::Relaxed);
    loop {
        let left = total.checked_sub(from).filter(|&left| left > 0)?;
        let most = left.div_ceil(u64::from(member.threads)).max(this.plan.chunk).min(left);
        match slot.next.compare_exchange_weak(from, from + most, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some((from, from + most)),
            Err(now) => from = now,
        }
    }
}
