//! What the threads of a team run: a function of the program, as the compiler made it.

use std::ffi::c_void;
use std::sync::Arc;

/// A function that gcc made of a region: all that the region uses is behind its argument.
pub type Function = unsafe extern "C" fn(*mut c_void);

/// A function that LLVM's compilers made of a region (`kmpc_micro` of LLVM's `kmp.h`): the thread's numbers,
/// in the program and in its team, by their places, and then an argument for each variable that it uses.
pub type Microtask = unsafe extern "C" fn(*const i32, *const i32);

/// Most arguments of a [`Microtask`]: what a message to the other processes holds.
pub const ARGUMENTS_MAX: usize = 200;
/// Arguments beside the numbers that go in registers; fewer are filled up.
#[cfg(target_arch = "x86_64")]
const IN_REGISTERS: usize = 4;
#[cfg(target_arch = "aarch64")]
const IN_REGISTERS: usize = 6;

/// A function with what it is called with.
#[derive(Clone)]
pub enum Call {
    Gomp(Function, *mut c_void),
    Kmpc(Microtask, Arc<[usize]>),
}

// SAFETY: the pointers are the program's, which shares what they point to among its threads on purpose.
unsafe impl Send for Call {}

impl Call {
    /// A call of a function of LLVM's.
    pub fn kmpc(function: Microtask, arguments: impl ExactSizeIterator<Item = usize>) -> Call {
        let fill = IN_REGISTERS.saturating_sub(arguments.len());
        Call::Kmpc(function, arguments.chain(std::iter::repeat_n(0, fill)).collect())
    }

    /// The address of the function, by which the region is known.
    pub fn place(&self) -> usize {
        match self {
            Call::Gomp(function, _) => *function as usize,
            Call::Kmpc(function, _) => *function as usize,
        }
    }

    /// Runs it, as a thread of this number in its team.
    ///
    /// # Safety
    /// The thread is one of the program's, on its shared stack.
    pub unsafe fn run(&self, id: u32) {
        match self {
            // SAFETY: the compiler made the function for this argument.
            Call::Gomp(function, data) => unsafe { function(*data) },
            Call::Kmpc(function, arguments) => {
                let id = id as i32;
                // SAFETY: the compiler made the function for these arguments, and as many as registers hold
                // are there.
                unsafe { invoke(*function, &id, &id, arguments.len(), arguments.as_ptr()) }
            }
        }
    }

    /// As it is told: the kind, the function, and its arguments.
    pub fn to_words(&self) -> Vec<u64> {
        match self {
            Call::Gomp(function, data) => vec![0, *function as usize as u64, *data as u64],
            Call::Kmpc(function, arguments) => {
                let head = [1, *function as usize as u64];
                head.into_iter().chain(arguments.iter().map(|argument| *argument as u64)).collect()
            }
        }
    }

    /// What was told.
    ///
    /// # Safety
    /// It was told by [`Call::to_words`] in a process whose code lies at the same addresses.
    pub unsafe fn from_words(words: &[u64]) -> Option<Call> {
        let (&[kind, function], arguments) = words.split_first_chunk()?;
        let mut arguments = arguments.iter().map(|argument| *argument as usize);
        // SAFETY: as the caller promises; null is no function.
        unsafe {
            Some(match kind {
                0 => {
                    let function = std::mem::transmute::<usize, Option<Function>>(function as usize)?;
                    Call::Gomp(function, arguments.next()? as *mut c_void)
                }
                _ => {
                    let function = std::mem::transmute::<usize, Option<Microtask>>(function as usize)?;
                    Call::kmpc(function, arguments)
                }
            })
        }
    }
}

/// Calls a function with the places of two numbers, and then with so many arguments, at least
/// [`IN_REGISTERS`], as the C calling convention has it (System V ABI for x86-64, section 3.2.3).
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn invoke(
    function: Microtask,
    number: *const i32,
    in_team: *const i32,
    count: usize,
    arguments: *const usize,
) {
    core::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov r10, rdi",
        "mov r11, r8",
        "mov rdi, rsi",
        "mov rsi, rdx",
        // Those that go on the stack: an even number of words, so that the stack stays aligned.
        "sub rcx, 4",
        "jbe 3f",
        "mov rax, rcx",
        "and rax, 1",
        "shl rax, 3",
        "sub rsp, rax",
        "2:",
        "push qword ptr [r11 + rcx * 8 + 24]",
        "sub rcx, 1",
        "jne 2b",
        "3:",
        "mov rdx, [r11]",
        "mov rcx, [r11 + 8]",
        "mov r8, [r11 + 16]",
        "mov r9, [r11 + 24]",
        "xor eax, eax",
        "call r10",
        "leave",
        "ret",
    );
}

/// As above (Procedure Call Standard for the Arm 64-bit Architecture, section 6.8.2).
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn invoke(
    function: Microtask,
    number: *const i32,
    in_team: *const i32,
    count: usize,
    arguments: *const usize,
) {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov x9, x0",
        "mov x10, x4",
        "mov x0, x1",
        "mov x1, x2",
        // Those that go on the stack: an even number of words, so that the stack stays aligned.
        "subs x11, x3, #6",
        "b.ls 3f",
        "add x12, x11, #1",
        "and x12, x12, #-2",
        "sub sp, sp, x12, lsl #3",
        "add x13, x10, #48",
        "2:",
        "sub x11, x11, #1",
        "ldr x14, [x13, x11, lsl #3]",
        "str x14, [sp, x11, lsl #3]",
        "cbnz x11, 2b",
        "3:",
        "ldp x2, x3, [x10]",
        "ldp x4, x5, [x10, #16]",
        "ldp x6, x7, [x10, #32]",
        "blr x9",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret",
    );
}
