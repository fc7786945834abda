//! Loops whose iterations are shared out, and parallel regions, as values.

use crate::call::Call;

/// How iterations are shared out. The numbers are those of `omp_sched_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Thread by thread, decided beforehand.
    Static = 1,
    /// To whoever asks.
    Dynamic = 2,
    /// To whoever asks, less and less.
    Guided = 3,
}

/// What loops with the schedule of the run get: the kind, as in `omp_sched_t`, and the chunk.
pub type Schedule = (u32, i64);

/// What the regions and loops of a thread are like if they do not say. Each thread of a region begins with
/// those of the thread that came to it, and each task has its own.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What loops with the schedule of the run get; `None`: what `OMP_SCHEDULE` says.
    pub schedule: Option<Schedule>,
    /// Threads of regions; 0: as many as may be.
    pub wanted: u32,
    /// Threads that a region has at most; 0: no limit but that of `OMP_THREAD_LIMIT`.
    pub limit: u32,
    /// Of the league around this place: the team, counted from 0, and how many there are.
    pub team: (u32, u32),
    /// Where tasks find their copies of what they reduce (`gomp::reductions`); 0: there is none.
    pub reductions: usize,
}

impl Settings {
    /// Nothing is set.
    pub const NONE: Settings = Settings { schedule: None, wanted: 0, limit: 0, team: (0, 1), reductions: 0 };
}

/// A loop, the same in all threads of a team.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Plan {
    /// The first value; values of unsigned loops in the same bits.
    pub start: i64,
    /// From one value to the next.
    pub step: i64,
    /// Iterations.
    pub total: u64,
    /// Iterations at a time; 0: as many as there are, divided by the threads.
    pub chunk: u64,
    pub kind: Kind,
    /// Parts of the iterations are done in order.
    pub ordered: bool,
}

impl Plan {
    /// A loop of `long`: values from `start` on, before `end`.
    pub fn signed(start: i64, end: i64, step: i64) -> Plan {
        Plan::of(start, i128::from(end) - i128::from(start), step)
    }

    /// A loop of `unsigned long long`, which goes up or down.
    pub fn unsigned(up: bool, start: u64, end: u64, step: u64) -> Plan {
        // A step down is a negative number in the same bits.
        let way = i128::from(end) - i128::from(start);
        if up && step as i64 <= 0 {
            // Steps of 2^63 and more come once at most.
            return Plan { total: u64::from(way > 0), ..Plan::of(start as i64, 0, 1) };
        }
        Plan::of(start as i64, way, step as i64)
    }

    fn of(start: i64, way: i128, step: i64) -> Plan {
        let size = i128::from(step);
        let total =
            if size == 0 || (way > 0) != (size > 0) { 0 } else { (way + size - size.signum()) / size };
        Plan::counted(start, step, total as u64)
    }

    /// A loop of so many iterations.
    pub fn counted(start: i64, step: i64, total: u64) -> Plan {
        Plan { start, step, total, chunk: 0, kind: Kind::Static, ordered: false }
    }

    /// As told; a chunk below 1 stands for 1, but for static loops, which have parts as large as can be then.
    pub fn schedule(self, kind: Kind, chunk: i64) -> Plan {
        let least = if kind == Kind::Static { 0 } else { 1 };
        // More than all iterations are no more than all.
        Plan { kind, chunk: (chunk.max(least) as u64).min(self.total.max(1)), ..self }
    }

    pub fn ordered(self) -> Plan {
        Plan { ordered: true, ..self }
    }

    pub fn value(&self, iteration: u64) -> i64 {
        self.start.wrapping_add((iteration as i64).wrapping_mul(self.step))
    }
}

/// A loop as the thread in it sees it.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    pub plan: Plan,
    /// The number of the construct; `None`: its iterations are decided beforehand, and nothing is shared.
    pub ticket: Option<u64>,
    /// Chunks of a static loop that this thread has had.
    pub had: u64,
    /// The iterations that the thread has now.
    pub now: (u64, u64),
}

impl Loop {
    /// No loop.
    pub const NONE: Loop = Loop {
        plan: Plan { start: 0, step: 1, total: 0, chunk: 0, kind: Kind::Static, ordered: false },
        ticket: None,
        had: 0,
        now: (0, 0),
    };
}

/// A parallel region, as rank 0 tells the others.
#[derive(Clone)]
pub struct Region {
    /// What its threads run; `None`: the program ends.
    pub call: Option<Call>,
    /// Threads of the team.
    pub threads: u32,
    /// The loop in which the region begins, if it does.
    pub plan: Option<Plan>,
    /// The number of the first construct that shares out work.
    pub ticket: u64,
    /// What its threads begin with.
    pub settings: Settings,
    /// The signals that they block, as the thread does that has come to it.
    pub blocked: u64,
}

impl Region {
    /// Words of a region that is told, before those of its call.
    const WORDS: usize = 16;

    /// As it is told: words of 8 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let plan = self.plan.unwrap_or(Loop::NONE.plan);
        let Settings { schedule, wanted, limit, team, reductions } = self.settings;
        let schedule = schedule.unwrap_or((1, 0));
        let words: [u64; Region::WORDS] = [
            self.threads.into(),
            self.ticket,
            self.plan.is_some().into(),
            plan.start as u64,
            plan.step as u64,
            plan.total,
            plan.chunk,
            plan.kind as u64,
            plan.ordered.into(),
            schedule.0.into(),
            schedule.1 as u64,
            wanted.into(),
            limit.into(),
            u64::from(team.0) << 32 | u64::from(team.1),
            reductions as u64,
            self.blocked,
        ];
        let call = self.call.as_ref().map_or_else(Vec::new, Call::to_words);
        words.into_iter().chain(call).flat_map(u64::to_le_bytes).collect()
    }

    /// What was told.
    ///
    /// # Safety
    /// It was told by [`Region::to_bytes`] in a process of the same program whose code lies at the same
    /// addresses.
    pub unsafe fn from_bytes(bytes: &[u8]) -> Option<Region> {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (head, call) = words.split_first_chunk::<{ Region::WORDS }>()?;
        let [threads, ticket, is_loop, start, step, total, chunk, kind, ordered, run_kind, run_chunk, ..] =
            *head;
        let [.., wanted, limit, team, reductions, blocked] = *head;
        let schedule = Some((run_kind as u32, run_chunk as i64));
        let team = ((team >> 32) as u32, team as u32);
        let (wanted, limit, reductions) = (wanted as u32, limit as u32, reductions as usize);
        let settings = Settings { schedule, wanted, limit, team, reductions };
        let kind = [Kind::Static, Kind::Dynamic, Kind::Guided].into_iter().find(|one| *one as u64 == kind)?;
        let plan = Plan { start: start as i64, step: step as i64, total, chunk, kind, ordered: ordered != 0 };
        let plan = (is_loop != 0).then_some(plan);
        // SAFETY: as the caller promises.
        let call = unsafe { Call::from_words(call) };
        Some(Region { call, threads: threads as u32, plan, ticket, settings, blocked })
    }
}
