//! Calls that poll and wait for completions.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use tasuki_engine::{Completion, Peer, RemoteDone};

use crate::code::{Code, Error, remote_status, status};
use crate::endpoint::{Handle, handle};
use crate::guard;
use crate::pointer;
use crate::types::{ANY_SOURCE, DATA, GET, LAST, MULTI, PUT, RECV, RawCompletion, SEND, TAGGED};
use tasuki_tuning::c_interface;

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_poll(
    endpoint: *const Handle,
    completions: *mut RawCompletion,
    max: usize,
) -> c_int {
    guard::call(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        let handle = unsafe { handle(endpoint) }?;
        handle.endpoint.progress();
        // SAFETY: `tasuki.h` asks for room for `max` completions.
        unsafe { take(handle, completions, max) }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_wait(
    endpoint: *const Handle,
    completions: *mut RawCompletion,
    max: usize,
    timeout_ms: c_int,
) -> c_int {
    guard::call(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        let handle = unsafe { handle(endpoint) }?;
        if max == 0 {
            return Err(Error::invalid("max is 0: no completion could be told"));
        }
        let start = Instant::now();
        // A negative time is no limit.
        let limit = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        loop {
            handle.endpoint.progress();
            // SAFETY: `tasuki.h` asks for room for `max` completions.
            let count = unsafe { take(handle, completions, max) }?;
            let waited = start.elapsed();
            let left = limit.map(|limit| limit.saturating_sub(waited));
            if count > 0 || left.is_some_and(|left| left.is_zero()) {
                return Ok(count);
            }
            if waited > c_interface::SPIN {
                handle.endpoint.wait(left);
            }
        }
    })
}

/// # Safety
/// `into` is null or has room for `max` completions.
unsafe fn take(handle: &Handle, into: *mut RawCompletion, max: usize) -> Result<c_int, Error> {
    if into.is_null() && max > 0 {
        return Err(pointer::null("completions"));
    }
    let max = max.min(c_int::MAX as usize);
    let mut count = 0;
    let mut tell = |completion: RawCompletion| {
        // SAFETY: at most `max` completions are told, so that this is inside of the caller's memory.
        unsafe { into.add(count).write(completion) };
        count += 1;
    };
    let told = handle.endpoint.poll_many(max, |completion| to_c(&completion).into_iter().for_each(&mut tell));
    if told < max {
        handle.endpoint.poll_remote(max - told, |done| tell(remote_to_c(&done)));
    }
    Ok(count as c_int)
}

fn flag(set: bool, flag: u32) -> u32 {
    if set { flag } else { 0 }
}

const EMPTY: RawCompletion = RawCompletion {
    context: 0,
    kind: SEND,
    status: 0,
    peer: ANY_SOURCE,
    flags: 0,
    tag: 0,
    data: 0,
    bytes: std::ptr::null_mut(),
    len: 0,
    total: 0,
};

fn remote_to_c(done: &RemoteDone) -> RawCompletion {
    let Peer(peer) = done.peer;
    RawCompletion {
        context: done.context,
        kind: if done.get { GET } else { PUT },
        status: remote_status(done.result),
        peer,
        flags: LAST,
        len: done.len,
        total: done.len,
        ..EMPTY
    }
}

/// A completion in C's form; `None` if this interface does not tell it.
fn to_c(completion: &Completion) -> Option<RawCompletion> {
    Some(match *completion {
        Completion::Send { context, peer: Peer(peer), tagged, .. } => {
            RawCompletion { context, peer, flags: flag(tagged, TAGGED) | LAST, ..EMPTY }
        }
        Completion::Recv {
            context,
            source: Peer(peer),
            tagged,
            tag,
            data,
            ptr,
            len,
            total,
            last,
            multi,
            ..
        } => RawCompletion {
            context,
            kind: RECV,
            status: if total > len { Code::Truncated as i32 } else { 0 },
            peer,
            flags: flag(tagged, TAGGED) | flag(data.is_some(), DATA) | flag(multi, MULTI) | flag(last, LAST),
            tag,
            data: data.unwrap_or(0),
            bytes: if len == 0 { std::ptr::null_mut() } else { ptr.cast() },
            len,
            total,
        },
        Completion::Error { context, tagged, send, failure, peer, last, multi, .. } => RawCompletion {
            context,
            kind: if send { SEND } else { RECV },
            status: status(failure),
            peer: peer.map_or(ANY_SOURCE, |Peer(peer)| peer),
            flags: flag(tagged, TAGGED) | flag(multi, MULTI) | flag(last, LAST),
            ..EMPTY
        },
        // This interface's puts carry no data. A libfabric program that was given a key may send a put that
        // does.
        Completion::Put { .. } => return None,
    })
}
