//! The functions that Python calls, with ctypes. They give 0 or a number, or -1, and then the calling thread
//! asks for the reason. A panic in one of them ends the process.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;
use std::time::Duration;

use tasuki_engine::Buffer;

use crate::error::Error;
use crate::group::Group;
use crate::net::Deadline;
use crate::operation::{Memory, Operation};
use crate::states::State;

/// The engine's tag of a message from rank to rank, by PyTorch's tag.
const MESSAGE: u64 = 1 << 61;

thread_local! {
    /// Why this thread's last call has failed.
    static REASON: RefCell<String> = const { RefCell::new(String::new()) };
}

fn told(result: Result<i64, Error>) -> i64 {
    result.unwrap_or_else(|error| {
        REASON.with(|reason| *reason.borrow_mut() = error.to_string());
        -1
    })
}

/// Copies text with a zero behind it into memory of `len` bytes, as much as fits.
///
/// # Safety
/// The memory can be written.
unsafe fn copy_text(text: &str, into: *mut c_char, len: usize) {
    let bytes = text.as_bytes();
    let bytes = &bytes[..bytes.len().min(len.saturating_sub(1))];
    if len > 0 {
        // SAFETY: there are at least `bytes.len() + 1` bytes, which are not Rust's.
        unsafe {
            into.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            into.add(bytes.len()).write(0);
        }
    }
}

/// Why the calling thread's last call has failed, as text of at most `len` bytes with the zero at its end.
///
/// # Safety
/// `into` can be written for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_reason(into: *mut c_char, len: usize) {
    // SAFETY: as the caller promises.
    REASON.with(|reason| unsafe { copy_text(&reason.borrow(), into, len) });
}

/// Opens the endpoint of a rank; null if that fails.
#[unsafe(no_mangle)]
pub extern "C" fn tasuki_torch_open(rank: u32, size: u32) -> *mut Group {
    match Group::open(rank as usize, size as usize) {
        Ok(group) => Box::into_raw(Box::new(group)),
        Err(error) => {
            told(Err(error));
            null_mut()
        }
    }
}

/// The address by which the other ranks reach this one, as text.
///
/// # Safety
/// The group is open, and `into` can be written for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_address(group: *const Group, into: *mut c_char, len: usize) -> i64 {
    // SAFETY: as the caller promises.
    let address = unsafe { &*group }.net().address();
    // SAFETY: likewise.
    told(address.map(|address| unsafe { copy_text(&address, into, len) }).map(|()| 0))
}

/// Tells the addresses of all ranks, in their order, one in a line.
///
/// # Safety
/// The group is open, and `addresses` is text with a zero at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_connect(group: *const Group, addresses: *const c_char) -> i64 {
    // SAFETY: as the caller promises.
    let (group, text) = unsafe { (&*group, CStr::from_ptr(addresses)) };
    let text = text.to_str().map_err(|_| Error::Usage("the addresses are no text"));
    told(text.and_then(|text| group.net().connect(&text.lines().collect::<Vec<_>>())).map(|()| 0))
}

/// Queues a collective operation: `what` is its kind, root, element and reduction. Gives its number.
///
/// # Safety
/// The group is open, `what` has four numbers, and the memory is there and left alone until the operation is
/// done or has failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_start(
    group: *const Group,
    what: *const [u32; 4],
    input: *mut u8,
    input_len: usize,
    output: *mut u8,
    output_len: usize,
    timeout_ms: u64,
) -> i64 {
    // SAFETY: as the caller promises.
    let (group, what) = unsafe { (&*group, *what) };
    let memory = (Memory { ptr: input, len: input_len }, Memory { ptr: output, len: output_len });
    let operation = Operation::new(what, memory, (group.net().rank, group.net().size));
    let timeout = Duration::from_millis(timeout_ms);
    // SAFETY: as the caller promises.
    told(operation.and_then(|operation| unsafe { group.start(operation, timeout) }).map(|name| name as i64))
}

/// Waits until a collective operation is done.
///
/// # Safety
/// The group is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_wait(group: *const Group, number: u64) -> i64 {
    // SAFETY: as the caller promises.
    told(unsafe { &*group }.wait(number).map(|()| 0))
}

/// Whether a collective operation is done: 1 or 0.
///
/// # Safety
/// The group is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_test(group: *const Group, number: u64) -> i64 {
    // SAFETY: as the caller promises.
    told(unsafe { &*group }.is_done(number).map(i64::from))
}

/// Sends a message to a rank, or receives one of a rank (of any if it is negative). Gives its name.
///
/// # Safety
/// The group is open, and the memory is there and left alone until the operation is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_message(
    group: *const Group,
    is_send: c_int,
    rank: i64,
    tag: u32,
    memory: *mut u8,
    len: usize,
) -> i64 {
    // SAFETY: as the caller promises.
    let net = unsafe { &*group }.net();
    let (buffer, tag, rank) =
        (Buffer { ptr: memory, len }, MESSAGE + u64::from(tag), usize::try_from(rank).ok());
    let posted = if is_send != 0 {
        // SAFETY: as the caller promises.
        rank.ok_or(Error::Usage("there is no such rank")).and_then(|to| unsafe { net.send(to, tag, buffer) })
    } else {
        // SAFETY: as the caller promises.
        unsafe { net.recv(rank, tag, buffer) }
    };
    told(posted.map(|name| name as i64))
}

/// Waits until a message has been sent or received, and gives the other side's rank. If that fails the group
/// is broken.
///
/// # Safety
/// The group is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_finish(
    group: *const Group,
    name: u64,
    rank: i64,
    timeout_ms: u64,
) -> i64 {
    // SAFETY: as the caller promises.
    let net = unsafe { &*group }.net();
    let about = usize::try_from(rank).ok();
    let result = net.finish(name, about, Deadline::after(Duration::from_millis(timeout_ms)));
    if result.is_err() {
        // The memory is the caller's again.
        net.give_up();
    }
    told(result.map(|rank| rank as i64))
}

/// Whether a message has been sent or received: the other side's rank plus 1, or 0. Once it has been, its
/// name is forgotten.
///
/// # Safety
/// The group is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_look(group: *const Group, name: u64) -> i64 {
    // SAFETY: as the caller promises.
    let net = unsafe { &*group }.net();
    told(match net.look(name) {
        State::Pending(_) => Ok(0),
        State::Done(rank) => Ok(rank as i64 + 1),
        State::Failed(error) => Err(error),
    })
}

/// Closes a group. What is under way fails; when this returns, no memory of the program is in use.
///
/// # Safety
/// The group came from `tasuki_torch_open`, and no call for it is under way or follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_close(group: *mut Group) {
    // SAFETY: as the caller promises.
    drop(unsafe { Box::from_raw(group) });
}

/// Fails all that is under way in a group; it stays open for calls.
///
/// # Safety
/// The group is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_torch_abort(group: *const Group) {
    // SAFETY: as the caller promises.
    unsafe { &*group }.net().give_up();
}
