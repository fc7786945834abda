//! What each thread knows of itself.

use std::cell::Cell;

use crate::plan::{Loop, Settings};
use crate::world::World;

/// The team in which a thread runs.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// This thread in its team, counted from 0.
    pub id: u32,
    /// Threads of the team.
    pub threads: u32,
    /// Parallel regions around this place; those of one thread count.
    pub level: u32,
    /// This thread in the outermost of these regions, and the threads of that one: those inside of it are of
    /// one thread. Outside of all, as in a region of one thread.
    pub outermost: (u32, u32),
    /// The thread is in a task that the program has made, and in no region inside of it.
    pub in_task: bool,
}

impl Member {
    /// Whether one of the regions around this place has more than one thread.
    pub fn is_in_parallel(&self) -> bool {
        self.outermost.1 > 1
    }
}

/// A thread outside of parallel regions.
pub const ALONE: Member = Member { id: 0, threads: 1, level: 0, outermost: (0, 1), in_task: false };

thread_local! {
    static OF_PROGRAM: Cell<bool> = const { Cell::new(false) };
    static ON_PRIVATE_STACK: Cell<bool> = const { Cell::new(false) };
    static PRIVATE_STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static MEMBER: Cell<Member> = const { Cell::new(ALONE) };
    static TICKET: Cell<u64> = const { Cell::new(0) };
    static WANTED: Cell<u32> = const { Cell::new(0) };
    static LOOP: Cell<Loop> = const { Cell::new(Loop::NONE) };
    static SETTINGS: Cell<Settings> = const { Cell::new(Settings::NONE) };
    static OWNER: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread runs the program's code, and what it allocates is shared.
pub fn is_of_program() -> bool {
    OF_PROGRAM.get() && !ON_PRIVATE_STACK.get()
}

/// This thread runs the program's code from now on, as one of this number among all threads of all processes.
/// Its calls of this library run on a private stack.
pub fn enter_program(number: u32, private_stack: (usize, usize)) {
    NUMBER.set(number);
    PRIVATE_STACK.set(private_stack);
    OF_PROGRAM.set(true);
}

/// The number of this thread among all threads of all processes.
pub fn number() -> u32 {
    NUMBER.get()
}

/// A number that no other thread of any process has, and that is not 0: for what a thread owns.
pub fn owner() -> u32 {
    if OF_PROGRAM.get() {
        return NUMBER.get() + 1;
    }
    if OWNER.get() == 0 {
        // A thread of a library. The kernel's numbers have 22 bits at most (`PID_MAX_LIMIT`), ranks have 6.
        let rank = World::get().map_or(0, |world| world.shared.rank());
        // SAFETY: the call takes nothing, and gives a number.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        OWNER.set(1 << 31 | rank << 22 | thread);
    }
    OWNER.get()
}

/// The private stack, unless the thread is on it already, or has none.
pub fn private_stack() -> Option<(usize, usize)> {
    let stack = PRIVATE_STACK.get();
    (stack.1 > 0 && !ON_PRIVATE_STACK.get()).then_some(stack)
}

/// Notes whether this thread is on its private stack.
pub fn on_private_stack(on: bool) {
    ON_PRIVATE_STACK.set(on);
}

/// This thread's place in its team.
pub fn member() -> Member {
    MEMBER.get()
}

/// This thread is in another team now; returns what it was in.
pub fn join(member: Member) -> Member {
    MEMBER.replace(member)
}

/// The number of the next construct that shares out work, the same in all threads of a team.
pub fn ticket() -> u64 {
    TICKET.get()
}

/// Sets that number.
pub fn set_ticket(ticket: u64) {
    TICKET.set(ticket);
}

/// The loop in which this thread is.
pub fn current_loop() -> Loop {
    LOOP.get()
}

/// This thread is in this loop now.
pub fn set_loop(to: Loop) {
    LOOP.set(to);
}

/// What regions and loops of this thread are like if they do not say.
pub fn settings() -> Settings {
    SETTINGS.get()
}

/// Sets it.
pub fn set_settings(to: Settings) {
    SETTINGS.set(to);
}

/// Runs a task, whose changes of the settings are its own.
pub fn in_task<T>(run: impl FnOnce() -> T) -> T {
    let around = begin_task();
    let result = run();
    end_task(around);
    result
}

/// What a thread has when it comes to a task, and again when that is over.
pub type AroundTask = (Settings, bool);

/// A task begins.
pub fn begin_task() -> AroundTask {
    let member = member();
    join(Member { in_task: true, ..member });
    (settings(), member.in_task)
}

/// It is over.
pub fn end_task((before, in_task): AroundTask) {
    join(Member { in_task, ..member() });
    set_settings(before);
}

/// The next region of this thread is to have so many threads (`num_threads` of LLVM's compilers).
pub fn push_wanted(threads: u32) {
    WANTED.set(threads);
}

/// What was pushed for the region that begins; 0: nothing.
pub fn take_pushed() -> u32 {
    WANTED.take()
}
