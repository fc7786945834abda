//! Parallel regions: rank 0 tells the other processes, and each process its threads.

use std::cell::Cell;

use tasuki_profile::Wait;
use tasuki_sys::signals::{self, Held};

use crate::call::Call;
use crate::doacross;
use crate::loan;
use crate::locals::must;
use crate::loops;
use crate::plan::{Loop, Plan, Region, Settings};
use crate::stack::{self, on_own_page, on_private, on_shared};
use crate::thread::{self, ALONE, Member};
use crate::world::World;

/// Starts the threads of this process beside its first one.
pub fn start_threads(world: &'static World) -> std::io::Result<()> {
    // What is sent to the process is for its first thread: these threads are started before the program
    // blocks signals there, and have its mask in regions alone.
    let _held = Held::all();
    for local in 1..world.per_process {
        let number = world.shared.rank() * world.per_process + local;
        let name = format!("omp-{number}");
        std::thread::Builder::new().name(name).spawn(move || {
            signals::block_those_of_others();
            loan::prepare();
            thread::enter_program(number, stack::new_private());
            thread::on_private_stack(true);
            world.locals.serve(|region| take_part(world, region, local));
        })?;
    }
    Ok(())
}

/// A thread of this process runs its part of a region, on its shared stack.
fn take_part(world: &World, region: &Region, local: u32) {
    let id = world.shared.rank() * world.per_process + local;
    let Some(call) = region.call.as_ref().filter(|_| id < region.threads) else { return };
    enter(region, id);
    // Programs that it starts begin with the signals that it blocks.
    let before = signals::block(region.blocked);
    // SAFETY: each thread has a shared stack of its own, on which nothing runs between regions. The program
    // promises that its threads may call the function.
    unsafe { on_shared(world.stack(local), || call.run(id)) };
    signals::block(before);
    thread::join(ALONE);
}

fn enter(region: &Region, id: u32) {
    let threads = region.threads;
    thread::join(Member { id, threads, level: 1, outermost: (id, threads), in_task: false });
    thread::set_ticket(region.ticket);
    thread::set_settings(region.settings);
    if let Some(plan) = region.plan {
        loops::begin(plan);
    }
}

/// The program comes to a parallel region that wants so many threads (0: as many as there are), and may begin
/// with a loop. Before `main` and after it, in constructors and handlers, the thread is on a stack that other
/// processes have no part in, and what the region uses may lie there: it has one thread then.
pub fn parallel(mut call: Call, wanted: u32, plan: Option<Plan>) {
    let member = thread::member();
    let threads = threads_of_next(wanted);
    let Some(world) = World::get().filter(|_| threads > 1) else {
        return alone(&call, plan);
    };
    let place = call.place();
    // SAFETY: rank 0's first thread is on its shared stack, and here until the region ends.
    let loan = unsafe { loan::lend_call(&mut call) };
    let (ticket, own) = (thread::ticket(), thread::settings());
    let settings = Settings { schedule: Some(loops::schedule_of_run()), limit: world.limit_now(), ..own };
    let blocked = signals::blocked();
    let region = Region { call: Some(call.clone()), threads, plan, ticket, settings, blocked };
    on_private(|| {
        world.note_region(Some(place));
        must(world.shared.tell_all(&region.to_bytes()));
        must(world.shared.phase(begins(place)));
        world.locals.tell(world.per_process - 1, &region);
    });
    enter(&region, 0);
    // SAFETY: rank 0's first thread is on its shared stack. The program promises that its threads may call
    // the function.
    unsafe { on_own_page(world.stack(0), || call.run(0)) };
    thread::join(member);
    thread::set_settings(own);
    on_private(|| {
        world.timed(Wait::Barrier, || {
            world.locals.wait();
            must(world.shared.barrier());
        });
        world.note_region(None);
        must(world.shared.phase(ends(place)));
    });
    if let Some(loan) = loan {
        // SAFETY: the region has ended; the call, and what is on the stack, are there still.
        unsafe { loan.take_back_changed() };
    }
    on_private(|| drop((call, region)));
}

/// Threads of the region to which the program comes, if it wants so many.
pub fn threads_of_next(wanted: u32) -> u32 {
    let here = psm::stack_pointer() as usize;
    let is_first = |world: &&World| thread::member().level == 0 && world.shared.rank() == 0;
    let world = World::get().filter(is_first).filter(|world| world.is_shared(here));
    world.map_or(1, |world| world.team(wanted))
}

/// What a thread is in when it comes to a region of one thread, and again when that has ended.
pub struct Outer {
    member: Member,
    its_loop: Loop,
    waiting: Option<doacross::Loops>,
    settings: Settings,
}

impl Outer {
    /// The region begins.
    pub fn leave() -> Outer {
        let member = thread::member();
        thread::join(Member { id: 0, threads: 1, level: member.level + 1, in_task: false, ..member });
        let (its_loop, waiting) = (thread::current_loop(), doacross::set_aside());
        Outer { member, its_loop, waiting, settings: thread::settings() }
    }

    /// The region has ended.
    pub fn resume(self) {
        thread::join(self.member);
        thread::set_loop(self.its_loop);
        doacross::resume(self.waiting);
        thread::set_settings(self.settings);
    }
}

/// A region inside of another one, or on one thread.
fn alone(call: &Call, plan: Option<Plan>) {
    let outer = Outer::leave();
    if let Some(plan) = plan {
        loops::begin(plan);
    }
    // SAFETY: the program promises that its threads may call the function.
    unsafe { call.run(0) };
    outer.resume();
}

/// Runs a league of so many teams, one after the other, whose regions have so many threads at most. 0: as
/// `omp_set_num_teams` and `omp_set_teams_thread_limit` say, or else one team, of as many threads as may be.
pub fn league(teams: u32, limit: u32, mut run: impl FnMut()) {
    let of_teams = World::get().map_or((0, 0), |world| world.of_teams().get());
    let own = thread::settings();
    let or = |this: u32, other: u32| if this > 0 { this } else { other };
    let (teams, limit) = (or(or(teams, of_teams.0), 1), or(limit, of_teams.1));
    for team in 0..teams {
        thread::set_settings(of_team(own, (team, teams), limit));
        run();
    }
    thread::set_settings(own);
}

/// What a team of a league begins with, where a thread has `own`.
fn of_team(own: Settings, team: (u32, u32), limit: u32) -> Settings {
    let limit = [own.limit, limit].into_iter().filter(|limit| *limit > 0).min().unwrap_or(0);
    Settings { limit, team, ..own }
}

thread_local! {
    /// What this thread had before the league that it is in by [`next_of_league`].
    static BEFORE: Cell<Settings> = const { Cell::new(Settings::NONE) };
}

/// The first or the next one of so many teams is this thread's, in what would be a device's code; false if
/// there is none any more. 0: one team, or as many threads as may be.
pub fn next_of_league(teams: u32, limit: u32, first: bool) -> bool {
    if first {
        BEFORE.set(thread::settings());
    }
    let before = BEFORE.get();
    let team = if first { 0 } else { thread::settings().team.0 + 1 };
    let is_there = team < teams.max(1);
    thread::set_settings(if is_there { of_team(before, (team, teams.max(1)), limit) } else { before });
    is_there
}

/// What the processes beside rank 0 do until the program ends.
pub fn serve(world: &'static World) {
    loop {
        let told = must(world.shared.hear());
        // SAFETY: rank 0 tells nothing else, and code lies at the same addresses there.
        let Some(region) = (unsafe { Region::from_bytes(&told) }) else { return };
        let Some(place) = region.call.as_ref().map(Call::place) else { return };
        world.note_region(Some(place));
        must(world.shared.phase(begins(place)));
        world.locals.tell(world.per_process - 1, &region);
        take_part(world, &region, 0);
        world.timed(Wait::Barrier, || {
            world.locals.wait();
            // What threads here have printed comes before what rank 0 prints next.
            // SAFETY: the call takes null for all streams.
            unsafe { libc::fflush(std::ptr::null_mut()) };
            must(world.shared.barrier());
        });
        world.note_region(None);
        // The time until rank 0 comes to another region is none of this one's.
        must(world.shared.phase(ends(place)));
    }
}

/// The phase of the program with which a region begins, known by the address of its function.
fn begins(place: usize) -> u64 {
    place as u64
}

/// The phase that follows a region.
fn ends(place: usize) -> u64 {
    // No function has an address in the kernel's half.
    begins(place) | 1 << 63
}

/// The program ends: the other processes may end, too.
pub fn dismiss(world: &World) {
    let region =
        Region { call: None, threads: 0, plan: None, ticket: 0, settings: Settings::NONE, blocked: 0 };
    must(world.shared.tell_all(&region.to_bytes()));
}

impl World {
    /// Threads that a region has at most, as the thread has it that comes to it.
    pub fn limit_now(&self) -> u32 {
        let set = thread::settings().limit;
        self.threads().min(self.limit).min(if set > 0 { set } else { u32::MAX })
    }

    /// Threads of the next team if the program wants so many; 0: as many as there may be.
    pub fn team(&self, wanted: u32) -> u32 {
        let wanted = if wanted > 0 { wanted } else { thread::settings().wanted };
        let most = self.limit_now();
        if wanted == 0 { most } else { wanted.min(most) }
    }
}
