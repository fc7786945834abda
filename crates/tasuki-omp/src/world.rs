//! What belongs to the program in this process.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tasuki_shared::{NODES_MAX, Shared};

use crate::heap::Heap;
use crate::locals::Locals;
use crate::plan::Schedule;
use crate::profile::Profiler;
use crate::stack::Stacks;

/// Constructs that share out work which may be under way at a time, because threads run ahead (`nowait`).
pub const SLOTS: u64 = 64;

/// What the processes of a program must agree on before they share data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Places {
    /// `main`, the program's data, a function of libc, a function of this library.
    pub addresses: [usize; 5],
    /// A number for the addresses that the loader has written into the program's data.
    pub loaded: u64,
    /// Threads of each process.
    pub threads: u32,
    /// Bytes of each stack.
    pub stack: usize,
    /// A profile is made.
    pub profiled: bool,
}

/// Why hosts with different processors cannot share what the loader has written.
const OTHER_FUNCTIONS: &str = "the loader has chosen other functions of libraries for this host's processor \
    and kernel than for rank 0's, and the program keeps their addresses in its data, which hosts share: link \
    it with -Wl,-z,relro,-z,now, which puts them elsewhere, or use hosts with equal processors and kernels";

impl Places {
    /// Why a process with these cannot share data with rank 0, which has others.
    pub fn refused_by(&self, first: &Places) -> String {
        if *self == (Places { loaded: self.loaded, ..*first }) {
            return OTHER_FUNCTIONS.to_owned();
        }
        format!(
            "this host is not like that of rank 0: the program, its libraries, the number of threads or the \
             size of their stacks (OMP_STACKSIZE, ulimit -s) differ ({self:x?} here, {first:x?} there). Use \
             the same program and libraries on all hosts"
        )
    }
}

/// A page of its own for what one construct shares out.
#[repr(C, align(4096))]
pub struct Slot {
    /// How often this slot has been used up.
    pub used: AtomicU64,
    /// The next iteration that nobody has.
    pub next: AtomicU64,
    /// The iteration whose turn it is in an ordered loop.
    pub turn: AtomicU64,
    /// Threads that have come, of which the first one takes a `single`.
    pub came: AtomicU32,
    /// Threads that are through.
    pub left: AtomicU32,
    /// What a `single` hands to all (`copyprivate`).
    pub copied: AtomicUsize,
}

/// What leagues of teams are like if they do not say, for all threads (OpenMP 5.1, 2.4.1: `nteams-var` and
/// `teams-thread-limit-var`, of which each device has one).
#[repr(C)]
pub struct OfTeams {
    /// Teams; 0: it is not set.
    pub teams: AtomicU32,
    /// Threads that a region of a team has at most; 0: it is not set.
    pub limit: AtomicU32,
}

impl OfTeams {
    pub fn get(&self) -> (u32, u32) {
        (self.teams.load(Ordering::Relaxed), self.limit.load(Ordering::Relaxed))
    }

    pub fn set(&self, (teams, limit): (u32, u32)) {
        self.teams.store(teams, Ordering::Relaxed);
        self.limit.store(limit, Ordering::Relaxed);
    }
}

/// The first pages of the shared memory.
#[repr(C, align(4096))]
pub struct Control {
    /// Written by rank 0 at the start.
    pub places: Places,
    /// Written by rank 0 at the start, and by the program.
    pub of_teams: OfTeams,
    /// The first of the program's threadprivate variables whose copies are made by functions; 0: none.
    pub registered: AtomicUsize,
    /// The end of what was taken of the heap.
    pub top: TopPage,
    /// Where constructs share out work.
    pub slots: [Slot; SLOTS as usize],
    /// What processes leave for rank 0 at the end, by rank.
    pub parcels: [Parcel; NODES_MAX],
}

/// Memory that a process leaves for rank 0; nothing as long as the address is 0.
#[repr(C)]
pub struct Parcel {
    pub address: AtomicUsize,
    pub bytes: AtomicUsize,
}

/// The heap's end, in a page of its own.
#[repr(C, align(4096))]
pub struct TopPage(pub AtomicUsize);

/// The program in this process.
pub struct World {
    pub shared: Shared,
    pub heap: Heap,
    /// The first of the shared memory.
    control: *mut Control,
    /// The shared stacks, one for each thread of the program. The heap follows them.
    pub stacks: Stacks,
    /// The program's data.
    data: Range<usize>,
    /// Threads of each process.
    pub per_process: u32,
    /// This process's threads.
    pub locals: Locals,
    /// `OMP_SCHEDULE`, for threads that have no other.
    pub schedule: Schedule,
    /// `OMP_THREAD_LIMIT`: threads that a region has at most.
    pub limit: u32,
    /// Records what happens, if a profile is asked for.
    pub profiler: Option<Arc<Profiler>>,
}

// SAFETY: the pointer is to shared memory that lives as long as the process, and what is behind it is used as
// its fields say.
unsafe impl Send for World {}
// SAFETY: as above.
unsafe impl Sync for World {}

static WORLD: OnceLock<World> = OnceLock::new();

impl World {
    /// The program; `None` before it has begun.
    pub fn get() -> Option<&'static World> {
        WORLD.get()
    }

    /// The program begins.
    pub fn set(world: World) -> &'static World {
        WORLD.get_or_init(|| world)
    }

    pub fn new(
        shared: Shared,
        heap: Heap,
        control: *mut Control,
        (stacks, data): (Stacks, Range<usize>),
        per_process: u32,
        (schedule, limit): (Schedule, u32),
        profiler: Option<Arc<Profiler>>,
    ) -> World {
        World {
            shared,
            heap,
            control,
            stacks,
            data,
            per_process,
            locals: Locals::default(),
            schedule,
            limit,
            profiler,
        }
    }

    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// Whether memory of the program at this address is the same in all processes.
    pub fn is_shared(&self, address: usize) -> bool {
        self.data.contains(&address) || (self.stacks.first..self.heap.range().end).contains(&address)
    }

    /// All threads of all processes.
    pub fn threads(&self) -> u32 {
        self.per_process * self.shared.size()
    }

    /// Where a construct shares out work.
    pub fn slot(&self, ticket: u64) -> &Slot {
        // SAFETY: the control page lives as long as the process, and slots are used by atomic operations.
        unsafe { &(*self.control).slots[(ticket % SLOTS) as usize] }
    }

    /// What leagues of teams are like if they do not say.
    pub fn of_teams(&self) -> &OfTeams {
        // SAFETY: the control pages live as long as the process, and this is used by atomic operations.
        unsafe { &(*self.control).of_teams }
    }

    /// See [`Control::registered`].
    pub fn registered(&self) -> &AtomicUsize {
        // SAFETY: as above.
        unsafe { &(*self.control).registered }
    }

    /// What a process leaves for rank 0.
    pub fn parcel(&self, rank: u32) -> &Parcel {
        // SAFETY: the control pages live as long as the process, and parcels are used by atomic operations.
        unsafe { &(*self.control).parcels[rank as usize] }
    }

    /// The shared stack of a thread of this process.
    pub fn stack(&self, local: u32) -> Range<usize> {
        self.stacks.of((self.shared.rank() * self.per_process + local) as usize)
    }
}
