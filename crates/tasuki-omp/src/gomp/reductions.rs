//! Reductions of tasks: `task.c` of gcc 12. Each thread of a team has a copy of the variables. The program
//! has a list of words for each place where a reduction begins:
//!
//! * 0: how many variables. 1: bytes of a thread's copy of them. 2: the alignment, and then where the copies
//!   are. 4: the next list of the same place, or of the place around it. 5: not 0 in the first list of a
//!   place. 6: the end of the copies.
//! * From 7 on, three words for each variable: where it is, and where in a thread's copy.
//!
//! The program adds the copies up and gives them back. Tasks run where they are made: all of a thread's use
//! one copy.

use std::ffi::{c_uint, c_void};
use std::iter;

use crate::alloc;
use crate::call::{Call, Function};
use crate::plan::Settings;
use crate::{team, thread};

/// Words of a list.
const COUNT: usize = 0;
const BYTES: usize = 1;
const COPIES: usize = 2;
const NEXT: usize = 4;
const IS_FIRST: usize = 5;
const END: usize = 6;
const VARIABLES: usize = 7;
/// Words of a variable.
const EACH: usize = 3;

/// A list of words, which the program has on a stack that hosts share.
#[derive(Clone, Copy)]
struct List(*mut usize);

impl List {
    fn get(self, word: usize) -> usize {
        // SAFETY: who makes one promises that it has these words.
        unsafe { *self.0.add(word) }
    }

    fn set(self, word: usize, to: usize) {
        // SAFETY: as above; the thread that sets it is the only one that uses it then.
        unsafe { *self.0.add(word) = to };
    }

    /// The list that follows.
    fn following(self) -> Option<List> {
        List::at(self.get(NEXT))
    }

    fn at(address: usize) -> Option<List> {
        (address != 0).then_some(List(address as *mut usize))
    }

    /// Those of the same place, and the first of the place around it.
    fn place(self) -> (impl Iterator<Item = List>, Option<List>) {
        let follows = |list: &List| list.following().filter(|next| next.get(IS_FIRST) == 0);
        let around = iter::successors(Some(self), follows).last().and_then(List::following);
        (iter::successors(Some(self), follows), around)
    }

    /// Where this thread's copy of a variable is, and the variable: by its place, or by that in any copy.
    fn find(self, place: usize, thread: usize) -> Option<(usize, usize)> {
        let words = |at: usize| (self.get(VARIABLES + EACH * at), self.get(VARIABLES + EACH * at + 1));
        let (copies, bytes) = (self.get(COPIES), self.get(BYTES));
        let mut variables = (0..self.get(COUNT)).map(words);
        let is_copy = (copies..self.get(END)).contains(&place);
        let found = if is_copy {
            let inside = (place - copies) % bytes;
            variables.find(|(_, at)| *at == inside).or(Some((place, inside)))
        } else {
            variables.find(|(variable, _)| *variable == place)
        };
        found.map(|(variable, at)| (copies + thread * bytes + at, variable))
    }
}

/// A reduction begins, for so many threads: their copies are zeros, and lie in memory that hosts share.
///
/// # Safety
/// The compiler has made the lists, the last of which is followed by none.
pub unsafe fn register(lists: *mut usize, threads: u32) {
    let around = thread::settings().reductions;
    let first = List(lists);
    let mut list = first;
    loop {
        let bytes = list.get(BYTES) * threads as usize;
        // SAFETY: the function takes any numbers.
        let copies = unsafe { alloc::memalign(list.get(COPIES).max(16), bytes) }.cast::<u8>();
        if copies.is_null() {
            eprintln!("tasuki omp: no memory for {bytes} bytes of a reduction of tasks");
            std::process::abort();
        }
        // SAFETY: the memory is as large.
        unsafe { copies.write_bytes(0, bytes) };
        list.set(COPIES, copies as usize);
        list.set(END, copies as usize + bytes);
        list.set(IS_FIRST, 0);
        let Some(next) = list.following() else { break };
        list = next;
    }
    list.set(NEXT, around);
    first.set(IS_FIRST, 1);
    thread::set_settings(Settings { reductions: lists as usize, ..thread::settings() });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_taskgroup_reduction_register(lists: *mut usize) {
    // SAFETY: the compiler has made the lists.
    unsafe { register(lists, thread::member().threads) };
}

/// It is over, and the program has added the copies up.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_taskgroup_reduction_unregister(lists: *mut usize) {
    let (place, around) = List(lists).place();
    for list in place {
        // SAFETY: the memory is that of `register`, and nobody uses it any more.
        unsafe { alloc::free(list.get(COPIES) as *mut c_void) };
    }
    let own = thread::settings();
    if own.reductions == lists as usize {
        let reductions = around.map_or(0, |list| list.0 as usize);
        thread::set_settings(Settings { reductions, ..own });
    }
}

/// Puts this thread's copies in the place of so many variables, or of copies of them, and of the first ones
/// the variables themselves behind all of these.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_task_reduction_remap(count: usize, of_variables: usize, places: *mut usize) {
    let all = || iter::successors(List::at(thread::settings().reductions), |list| list.following());
    let thread = thread::member().id as usize;
    for at in 0..count {
        // SAFETY: the program gives so many words, and as many behind them as it wants variables.
        unsafe {
            let Some((copy, variable)) = all().find_map(|list| list.find(*places.add(at), thread)) else {
                continue;
            };
            *places.add(at) = copy;
            if at < of_variables {
                *places.add(count + at) = variable;
            }
        }
    }
}

/// A region whose threads and their tasks have copies; returns how many threads it had.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_parallel_reductions(
    function: Function,
    data: *mut c_void,
    threads: c_uint,
    _flags: c_uint,
) -> c_uint {
    let threads = team::threads_of_next(threads);
    let around = thread::settings();
    // SAFETY: the first word of what the region uses is the place of the lists.
    unsafe { register(*data.cast::<*mut usize>(), threads) };
    team::parallel(Call::Gomp(function, data), threads, None);
    thread::set_settings(around);
    threads
}
