//! Variables of `threadprivate` that a thread lets others see by their places: `copyin` and `copyprivate` of
//! arrays and structures, and pointers to them. They lie in thread-local storage, which is each process's
//! own: others are given a copy in shared memory, and what they write there comes back.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;

use crate::alloc;
use crate::call::Call;
use crate::stack::on_private;
use crate::world::World;

/// Words that are looked at behind the argument of a region of gcc's: the compiler's structure, whose size is
/// not told, and what else is on the stack behind it.
const WORDS: usize = 128;

thread_local! {
    /// Where this thread's variables of the program lie; libraries have others.
    static OWN: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// The copy that others see; 0: none yet.
    static COPY: Cell<usize> = const { Cell::new(0) };
}

/// Addresses that point to a thread's own variables, and to the copy for now.
pub struct Loan {
    /// Where the addresses lie.
    changed: Vec<*mut usize>,
    /// The copy when it was made.
    before: Vec<u8>,
}

/// Finds out where this thread's variables lie.
pub fn prepare() {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
        // SAFETY: the loader gives its own structures, and `into` is that of `prepare`.
        let (info, into) = unsafe { (&*info, &mut *into.cast::<(usize, usize)>()) };
        // SAFETY: as above.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let start = info.dlpi_tls_data as usize;
        if let Some(storage) = headers.iter().find(|header| header.p_type == libc::PT_TLS)
            && start > 0
        {
            *into = (start, start + storage.p_memsz as usize);
        }
        // The first one is the program.
        1
    }
    let mut own = (0, 0);
    // SAFETY: the function is called before this one returns, with the place of `own`.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut own).cast()) };
    OWN.set(own);
}

/// Lends those of these words that are addresses of this thread's own variables; `None` if none is.
///
/// # Safety
/// The words are there and nobody else uses them now. The thread is on its shared stack.
unsafe fn lend(words: impl Iterator<Item = *mut usize> + Clone) -> Option<Loan> {
    let own = own();
    // SAFETY: as the caller promises.
    let is_own = |word: &*mut usize| own.contains(&unsafe { word.read() });
    if own.is_empty() || !words.clone().any(|word| is_own(&word)) {
        return None;
    }
    if COPY.get() == 0 {
        // SAFETY: the function takes any number.
        COPY.set(unsafe { alloc::malloc(own.len()) } as usize);
    }
    let copy = COPY.get();
    assert!(copy > 0, "no memory for threadprivate variables");
    // SAFETY: both have so many bytes; the variables are this thread's.
    unsafe { (copy as *mut u8).copy_from_nonoverlapping(own.start as *const u8, own.len()) };
    Some(on_private(|| {
        let mut loan = Loan { changed: Vec::new(), before: vec![0; own.len()] };
        // SAFETY: as above.
        unsafe { loan.before.as_mut_ptr().copy_from_nonoverlapping(own.start as *const u8, own.len()) };
        for word in words.filter(is_own) {
            // SAFETY: as the caller promises.
            unsafe {
                loan.changed.push(word);
                word.write(word.read() - own.start + copy);
            }
        }
        loan
    }))
}

/// Lends what is in a list of so many words.
///
/// # Safety
/// The words are there and nobody else uses them now. The thread is on its shared stack.
pub unsafe fn lend_list(words: *mut usize, count: usize) -> Option<Loan> {
    // SAFETY: as the caller promises.
    unsafe { lend((0..count).map(|at| words.add(at))) }
}

/// Lends what other threads see of this thread's own variables by the arguments of a call. To be called
/// before there are copies of the call.
///
/// # Safety
/// The thread is on its shared stack, and stays where it is until it takes back what it has lent.
pub unsafe fn lend_call(call: &mut Call) -> Option<Loan> {
    match call {
        // SAFETY: as the caller promises, the stack does not change but by the region.
        Call::Gomp(_, data) => unsafe { lend_behind(*data) },
        // SAFETY: the words are those of the call.
        Call::Kmpc(_, arguments) => unsafe { lend_arguments(Arc::get_mut(arguments)?) },
    }
}

/// Lends what is in a list of a function's arguments, and in variables on the stack to which these point.
///
/// # Safety
/// As [`lend_list`].
unsafe fn lend_arguments(words: &mut [usize]) -> Option<Loan> {
    let (first, count) = (words.as_mut_ptr(), words.len());
    let own = (0..count).map(|at| first.wrapping_add(at));
    // SAFETY: the words are those of the list.
    let behind = own.clone().filter_map(|word| on_stack(unsafe { word.read() })).map(|(word, _)| word);
    // SAFETY: as the caller promises; a variable on the stack to which an argument points is there.
    unsafe { lend(own.chain(behind)) }
}

/// Lends what is behind an argument that gcc has put on the stack.
///
/// # Safety
/// As [`lend_list`], for what is on the stack there.
pub unsafe fn lend_behind(argument: *mut c_void) -> Option<Loan> {
    let (first, count) = on_stack(argument as usize)?;
    // SAFETY: as the caller promises.
    unsafe { lend_list(first, WORDS.min(count)) }
}

/// The word at an address if it is one on a stack of the program's, and how many there are to the stack's
/// end.
fn on_stack(address: usize) -> Option<(*mut usize, usize)> {
    let end = World::get()?.stacks.around(address)?.end;
    let is_word = address.is_multiple_of(size_of::<usize>());
    is_word.then(|| (address as *mut usize, (end - address) / size_of::<usize>()))
}

impl Loan {
    /// Addresses of the copy are those of the variables again, also where the program has moved them on in
    /// the meantime. What it has put in their place stays.
    ///
    /// # Safety
    /// The words are there and nobody else uses them now.
    pub unsafe fn take_back(self) {
        let (own, copy) = (own(), COPY.get());
        for word in &self.changed {
            // SAFETY: as the caller promises.
            let now = unsafe { word.read() };
            if (copy..=copy + own.len()).contains(&now) {
                // SAFETY: as above.
                unsafe { word.write(now - copy + own.start) };
            }
        }
        on_private(|| drop(self));
    }

    /// As [`Loan::take_back`], and what others have written is written to the variables.
    ///
    /// # Safety
    /// As [`Loan::take_back`], and nobody uses the copy any more.
    pub unsafe fn take_back_changed(self) {
        let (own, copy) = (own(), COPY.get() as *const u8);
        for (at, before) in self.before.iter().enumerate() {
            // SAFETY: the copy has as many bytes as the variables, which are this thread's.
            unsafe {
                let now = copy.add(at).read();
                if now != *before {
                    ((own.start + at) as *mut u8).write(now);
                }
            }
        }
        // SAFETY: as the caller promises.
        unsafe { self.take_back() };
    }
}

fn own() -> Range<usize> {
    let (start, end) = OWN.get();
    start..end
}
