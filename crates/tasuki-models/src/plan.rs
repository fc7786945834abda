//! What a check does to the program under test, and what it notes: sites, the one of them that is weakened,
//! and the thread that dies.
//!
//! loom runs all threads of a model on one thread of the system, so that this is kept per thread of the
//! system, and checks that run at the same time do not meet.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;

use loom::sync::atomic::Ordering;
use loom::thread::ThreadId;

/// What is done at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Atomic load.
    Load,
    /// Atomic store.
    Store,
    /// Atomic read-modify-write.
    Exchange,
    /// Atomic read-modify-write that sets bits, and whose result nobody uses.
    Or,
    /// Fence, of the processor or of the compiler, or a barrier in all threads.
    Fence,
    /// Waking of a thread.
    Unpark,
}

/// A place in a source file where memory is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The file, as the compiler names it.
    pub file: &'static str,
    /// Its line.
    pub line: u32,
    /// Its column.
    pub column: u32,
    /// What is done there.
    pub kind: Kind,
}

/// How a site can be made wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Defect {
    /// The ordering is one step weaker: `SeqCst` is acquire and release, these are relaxed, and a fence is
    /// none.
    Weaker,
    /// What is stored comes after what the thread does next.
    Late,
}

/// How a processor does an access that is `SeqCst`. Both give what C++ asks of such accesses and of fences
/// between two threads, and neither does what the other does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Machine {
    /// By a fence before it, as on Power.
    #[default]
    FenceBefore,
    /// By a fence after it if it writes, as on x86.
    FenceAfter,
}

/// What an interrupted thread panics with.
struct Killed;

/// A thread that dies.
#[derive(Clone, Copy)]
struct Victim {
    thread: ThreadId,
    /// Accesses that it still makes.
    left: usize,
    dead: bool,
}

#[derive(Default)]
struct Plan {
    machine: Machine,
    sites: BTreeMap<Site, BTreeSet<Defect>>,
    planted: Option<(Site, Defect)>,
    /// Stores that are late.
    late: Vec<(ThreadId, Box<dyn FnOnce()>)>,
    /// Accesses that the victim makes before it dies; none if no thread dies.
    deadline: Option<usize>,
    victim: Option<Victim>,
    /// Whether the victim has died in any execution.
    died: bool,
    /// Executions so far.
    executions: usize,
}

thread_local! {
    static PLAN: RefCell<Plan> = RefCell::default();
}

fn with<T>(work: impl FnOnce(&mut Plan) -> T) -> T {
    PLAN.with_borrow_mut(work)
}

/// Begins a check: on a machine, with this defect, and with a thread that dies after so many accesses.
pub(crate) fn begin(machine: Machine, planted: Option<(Site, Defect)>, deadline: Option<usize>) {
    with(|plan| *plan = Plan { machine, planted, deadline, ..Plan::default() });
}

/// The machine of this check.
pub(crate) fn machine() -> Machine {
    with(|plan| plan.machine)
}

/// What was noted since [`begin`].
#[derive(Default)]
pub(crate) struct Noted {
    /// Sites, and how each can be made wrong.
    pub(crate) sites: BTreeMap<Site, BTreeSet<Defect>>,
    /// Whether a thread has died.
    pub(crate) died: bool,
    pub(crate) executions: usize,
}

/// Ends a check.
pub(crate) fn end() -> Noted {
    with(|plan| Noted {
        sites: std::mem::take(&mut plan.sites),
        died: plan.died,
        executions: plan.executions,
    })
}

/// Begins an execution.
pub(crate) fn begin_execution() {
    with(|plan| {
        plan.late.clear();
        plan.executions += 1;
        plan.victim = None;
    });
}

/// The calling thread dies after as many accesses as the check says, like a process that is killed: no
/// destructor of it does anything any more, and its file locks are gone. Returns whether it lived to the end
/// of `work`.
pub(crate) fn mortal(work: impl FnOnce()) -> bool {
    let me = loom::thread::current().id();
    with(|plan| plan.victim = plan.deadline.map(|left| Victim { thread: me, left, dead: false }));
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        Ok(()) => true,
        Err(payload) if payload.is::<Killed>() => false,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// Counts an access of the calling thread, which dies instead if it has made all that it may. True if it is
/// dead already, and so makes no access any more.
pub(crate) fn step() -> bool {
    // What is torn down after a failure, or by a death, does nothing.
    if std::thread::panicking() {
        return true;
    }
    let me = loom::thread::current().id();
    let Some(victim) = with(|plan| plan.victim).filter(|victim| victim.thread == me) else { return false };
    if victim.dead || victim.left > 0 {
        with(|plan| plan.victim = Some(Victim { left: victim.left.saturating_sub(1), ..victim }));
        return victim.dead;
    }
    with(|plan| {
        plan.victim = Some(Victim { dead: true, ..victim });
        plan.died = true;
    });
    crate::file::process_died(me);
    std::panic::resume_unwind(Box::new(Killed))
}

fn site(kind: Kind, at: &'static Location<'static>) -> Site {
    Site { file: at.file(), line: at.line(), column: at.column(), kind }
}

/// Notes an access at a site and says with which ordering it is done. None: it is not done, as the thread is
/// dead or the fence is left out.
pub(crate) fn at(kind: Kind, ordering: Ordering, at: &'static Location<'static>) -> Option<Ordering> {
    if step() {
        return None;
    }
    let site = site(kind, at);
    let defects = match (kind, ordering) {
        (Kind::Store, Ordering::Relaxed) => [Some(Defect::Late), None],
        (Kind::Or, _) => [Some(Defect::Late), Some(Defect::Weaker)],
        (_, Ordering::Relaxed) => return Some(ordering),
        _ => [Some(Defect::Weaker), None],
    };
    with(|plan| {
        plan.sites.entry(site).or_default().extend(defects.into_iter().flatten());
        let planted = plan.planted == Some((site, Defect::Weaker));
        match ordering {
            ordering if !planted => Some(ordering),
            _ if kind == Kind::Fence => None,
            Ordering::SeqCst => Some(match kind {
                Kind::Load => Ordering::Acquire,
                Kind::Store => Ordering::Release,
                _ => Ordering::AcqRel,
            }),
            _ => Some(Ordering::Relaxed),
        }
    })
}

/// Whether the store at this site is late.
pub(crate) fn is_late(kind: Kind, at: &'static Location<'static>) -> bool {
    let site = site(kind, at);
    with(|plan| plan.planted == Some((site, Defect::Late)))
}

/// Puts a store off until the calling thread has made its next access.
pub(crate) fn put_off(store: Box<dyn FnOnce()>) {
    let me = loom::thread::current().id();
    with(|plan| plan.late.push((me, store)));
}

/// Makes the stores of the calling thread that are late, after its next access.
pub(crate) fn catch_up() {
    if with(|plan| plan.late.is_empty()) {
        return;
    }
    let me = loom::thread::current().id();
    let (mine, others) =
        with(|plan| std::mem::take(&mut plan.late)).into_iter().partition(|late| late.0 == me);
    with(|plan| plan.late = others);
    let mine: Vec<(ThreadId, Box<dyn FnOnce()>)> = mine;
    mine.into_iter().for_each(|(_, store)| store());
}
