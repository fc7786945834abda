//! From the loader to the program's `main`.
//!
//! The loader has run the constructors of libraries when it calls the program's entry, which calls
//! `__libc_start_main`: this one. The program's own constructors have not run yet, so that they run once, at
//! rank 0, on data that are shared already.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::sync::{Arc, OnceLock};

use tasuki_shared::{Meeting, Options, PAGE, Shared, Watch};

use crate::arguments;
use crate::heap::Heap;
use crate::image;
use crate::loan;
use crate::locals::must;
use crate::profile::{self, Profiler};
use crate::stack::{self, Stacks, on_private, on_shared};
use crate::team;
use crate::thread;
use crate::variables::{limit, of_teams, schedule, stack_bytes, threads};
use crate::world::{Control, Places, World};

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Hook = Option<unsafe extern "C" fn()>;
type Start = unsafe extern "C" fn(Main, c_int, *mut *mut c_char, Hook, Hook, Hook, *mut c_void) -> c_int;

/// The variable by which `tasuki omp` says that this is a program to be spread over hosts.
const VARIABLE: &CStr = c"TASUKI_OMP";
/// Bytes of shared memory, stacks excepted. What is not touched costs nothing.
const BYTES: usize = 64 << 30;

unsafe extern "C" {
    fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The program's `main`, for [`begin`].
static MAIN: OnceLock<Main> = OnceLock::new();

/// Called by the program's entry in the place of libc's function.
///
/// # Safety
/// As libc's, whose arguments it takes.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: Hook,
    fini: Hook,
    rtld_fini: Hook,
    stack_end: *mut c_void,
) -> c_int {
    // SAFETY: the name is a string; libc has a function of this name and type.
    let real = unsafe {
        let found = libc::dlsym(libc::RTLD_NEXT, c"__libc_start_main".as_ptr());
        std::mem::transmute::<*mut c_void, Option<Start>>(found)
    };
    let Some(real) = real else { fail("libc has no __libc_start_main") };
    // SAFETY: libraries may be looked for now.
    let wanted = is_wanted() && unsafe { uses_openmp() };
    if !wanted {
        // SAFETY: all is as the program's entry gave it.
        return unsafe { real(main, argc, argv, init, fini, rtld_fini, stack_end) };
    }
    // SAFETY: `argv` is the program's.
    unsafe { fix_addresses(argv) };
    let world = join(main as usize, real as usize).unwrap_or_else(|why| fail(&why));
    // SAFETY: no other thread uses the environment yet.
    unsafe { arguments::for_children(VARIABLE) };
    loan::prepare();
    let number = world.shared.rank() * world.per_process;
    if number > 0 {
        thread::enter_program(number, stack::new_private());
        thread::on_private_stack(true);
        team::serve(world);
        leave(world, 0);
    }
    thread::enter_program(number, stack::new_private());
    let _ = MAIN.set(main);
    // SAFETY: `argv` is the program's, and no other thread of it runs yet. The handler is the first one, so
    // that it is called last.
    unsafe {
        let argv = arguments::share(argv);
        on_exit(ended, std::ptr::null_mut());
        real(begin, argc, argv, init, fini, rtld_fini, stack_end)
    }
}

/// Whether `tasuki omp` has started this process.
pub fn is_wanted() -> bool {
    // SAFETY: the name is a string.
    unsafe { !libc::getenv(VARIABLE.as_ptr()).is_null() }
}

/// OpenMP libraries: gcc's, LLVM's as Debian and as LLVM itself name it, and that of Intel's compilers.
const LIBRARIES: [&CStr; 4] = [c"libgomp.so.1", c"libomp.so.5", c"libomp.so", c"libiomp5.so"];

/// Whether the program, or a library of it, has an OpenMP library.
unsafe fn uses_openmp() -> bool {
    // SAFETY: the name is a string; a library that is not there is not loaded.
    let found = |name: &CStr| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    LIBRARIES.iter().any(|name| !found(name).is_null())
}

/// Starts the program again if the kernel has laid it at random addresses.
///
/// # Safety
/// `argv` is the program's.
unsafe fn fix_addresses(argv: *mut *mut c_char) {
    // SAFETY: the call takes a number, which here only asks.
    let now = unsafe { libc::personality(0xffff_ffff) };
    // Functions are found now, not at their first call, which would write to the program's data.
    let bind_now = c"LD_BIND_NOW";
    // SAFETY: the name is a string, and what is found there is one.
    let is_bound = unsafe {
        let set = libc::getenv(bind_now.as_ptr());
        !set.is_null() && *set != 0
    };
    if now >= 0 && now & libc::ADDR_NO_RANDOMIZE != 0 && is_bound {
        return;
    }
    // SAFETY: the names and values are strings, the vectors are the program's.
    unsafe {
        if now < 0 || libc::personality((now | libc::ADDR_NO_RANDOMIZE) as _) < 0 {
            fail("addresses cannot be made the same on all hosts: personality(2) is forbidden here");
        }
        libc::setenv(bind_now.as_ptr(), c"1".as_ptr(), 1);
        let program = std::fs::read_link("/proc/self/exe").unwrap_or_else(|error| fail(&error.to_string()));
        let path = std::ffi::CString::new(std::os::unix::ffi::OsStrExt::as_bytes(program.as_os_str()));
        let environment = arguments::environ.cast_const().cast();
        libc::execve(path.unwrap_or_default().as_ptr(), argv.cast_const().cast(), environment);
    }
    fail(&format!("the program cannot be started again: {}", std::io::Error::last_os_error()));
}

/// Joins the other processes, and shares the program's data with them.
fn join(main: usize, libc_start: usize) -> Result<&'static World, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let per_process = threads()?;
    let settings = (schedule()?, limit()?);
    let (num_teams, teams_limit) = of_teams()?;
    let meeting = Meeting::from_env().map_err(|error| text(&error))?;
    let endpoint = tasuki_engine::Options::from_env().map_err(|error| text(&error))?;
    let count = meeting.size as usize * per_process as usize;
    let stack_bytes = Stacks::bytes_of_each(count, stack_bytes()?);
    let stacks = count * stack_bytes;
    let data = image::data();
    // SAFETY: the program has not begun.
    let loaded = unsafe { image::addresses() };
    let control_bytes = size_of::<Control>().next_multiple_of(PAGE);
    let profiler = Profiler::from_env(meeting.rank, per_process).map(Arc::new);
    let watch = profiler.clone().map(|profiler| profiler as Arc<dyn Watch>);
    let options = Options {
        bytes: BYTES + stacks + control_bytes,
        adopt: vec![data.clone()],
        system_calls: true,
        watch,
        ..Options::default()
    };
    let shared = Shared::open(&meeting, &options, &endpoint).map_err(|error| text(&error))?;
    let control = shared.base().cast::<Control>();
    let places = Places {
        addresses: [main, data.start, data.end, libc_start, threads as fn() -> _ as usize],
        loaded,
        threads: per_process,
        stack: stack_bytes,
        profiled: profiler.is_some(),
    };
    let stacks_start = control as usize + control_bytes;
    let (heap_start, heap_end) = (stacks_start + stacks, stacks_start + stacks + BYTES);
    if meeting.rank == 0 {
        // SAFETY: the page lies at the beginning of the shared memory; others read it after the barrier.
        unsafe { (&raw mut (*control).places).write(places) };
        // SAFETY: as above.
        unsafe { (*control).of_teams.set((num_teams, teams_limit)) };
        // SAFETY: as above.
        unsafe { (*control).top.0.store(heap_start, std::sync::atomic::Ordering::Relaxed) };
    }
    must(shared.barrier());
    // SAFETY: as above.
    let first = unsafe { (&raw const (*control).places).read() };
    if first != places {
        return Err(places.refused_by(&first));
    }
    if meeting.rank > 0 {
        prepare_streams();
    }
    // SAFETY: the range is that of the program's data, and the program has not begun.
    unsafe { shared.adopt() }.map_err(|error| text(&error))?;
    // SAFETY: the shared memory lives as long as the process.
    let top = unsafe { &(*control).top.0 };
    let heap = Heap::new(heap_start, heap_end, top);
    let stacks = Stacks { first: stacks_start, bytes: stack_bytes, count };
    let first = (meeting.rank * per_process) as usize;
    stacks.guard(first..first + per_process as usize, &shared).map_err(|error| text(&error))?;
    let world =
        World::set(World::new(shared, heap, control, (stacks, data), per_process, settings, profiler));
    team::start_threads(world).map_err(|error| format!("a thread cannot be started: {error}"))?;
    Ok(world)
}

/// Makes the buffers behind `std::cout` and its like, which lie in the C++ library. The program's
/// constructors do it at rank 0, and write to its own data, which are not shared yet here.
fn prepare_streams() {
    // SAFETY: the name is a string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_ZNSt8ios_base4InitC1Ev".as_ptr()) };
    // SAFETY: `std::ios_base::Init::Init()` takes the place of an object without members.
    let make = unsafe { std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(*mut u8)>>(found) };
    if let Some(make) = make {
        let mut object = 0;
        // SAFETY: as above.
        unsafe { make(&mut object) };
    }
}

/// Runs the program's `main` on a shared stack.
unsafe extern "C" fn begin(argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) -> c_int {
    let (Some(&main), Some(world)) = (MAIN.get(), World::get()) else { fail("main is not known") };
    // SAFETY: the stack is that of rank 0's first thread, and the arguments are those that libc gave.
    unsafe { on_shared(world.stack(0), || main(argc, argv, envp)) }
}

/// The last of rank 0's exit handlers.
unsafe extern "C" fn ended(status: c_int, _: *mut c_void) {
    // SAFETY: the call takes null for all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let Some(world) = World::get() else { return };
    on_private(|| {
        if world.shared.rank() == 0 && !thread::member().is_in_parallel() {
            team::dismiss(world);
            leave(world, status);
        }
        if world.profiler.is_some() {
            let told = b"tasuki omp: no profile, as the program has ended inside of a parallel region\n";
            // Standard error may be closed, and the program ends all the same.
            let _ = std::io::stderr().write_all(told);
        }
        // The others can do nothing without this process, and are told that it is gone.
        // SAFETY: the call takes a number and does not return.
        unsafe { libc::_exit(status) }
    });
}

/// Leaves together with the other processes, and ends this one, whose streams have been flushed.
fn leave(world: &World, status: c_int) -> ! {
    profile::gather(world);
    // SAFETY: the object is used by no thread any more, and is not dropped again: the process ends here.
    let shared = unsafe { std::ptr::read(&world.shared) };
    must(shared.depart());
    // SAFETY: the call takes a number and does not return.
    unsafe { libc::_exit(status) }
}

fn fail(why: &str) -> ! {
    eprintln!("tasuki omp: {why}");
    // SAFETY: the call takes a number and does not return.
    unsafe { libc::_exit(1) }
}
