//! Calls that look for messages that have arrived and that no receive was posted for.

use std::ffi::{c_int, c_void};

use tasuki_engine::{Found, Peer, Probe};

use crate::code::Error;
use crate::endpoint::{Handle, handle};
use crate::guard;
use crate::pointer;
use crate::post::{check_flags, report, source};
use crate::types::{DATA, QUIET, RawFound, RawPeer, TAGGED};

/// # Safety
/// `endpoint` is null or open; `into` is null or may be written.
unsafe fn look(
    endpoint: *const Handle,
    probe: &Probe,
    reserve: bool,
    into: *mut RawFound,
) -> Result<c_int, Error> {
    // SAFETY: as the caller promises.
    let handle = unsafe { handle(endpoint) }?;
    if into.is_null() {
        // Checked first, so that no message is claimed under a name that nobody learns.
        return Err(pointer::null("found"));
    }
    handle.endpoint.progress();
    let found = if reserve {
        handle.endpoint.claim(probe).map(|(claim, found)| (handle.name_claim(claim), found))
    } else {
        handle.endpoint.peek(probe).map(|found| (0, found))
    };
    let Some((claim, found)) = found else { return Ok(0) };
    // SAFETY: as the caller promises.
    unsafe { pointer::put(into, to_c(&found, probe.tag.is_some(), claim), "found") }?;
    Ok(1)
}

fn to_c(found: &Found, tagged: bool, claim: u64) -> RawFound {
    let Peer(source) = found.source;
    let data = if found.data.is_some() { DATA } else { 0 };
    RawFound {
        source,
        flags: data | if tagged { TAGGED } else { 0 },
        tag: found.tag,
        data: found.data.unwrap_or(0),
        len: found.len,
        claim,
    }
}

fn untagged(from: RawPeer) -> Probe {
    Probe { source: source(from), tag: None, ignore: 0 }
}

fn tagged(from: RawPeer, tag: u64, ignore: u64) -> Probe {
    Probe { source: source(from), tag: Some(tag), ignore }
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_probe(
    endpoint: *const Handle,
    source: RawPeer,
    found: *mut RawFound,
) -> c_int {
    // SAFETY: `tasuki.h` asks for an open endpoint and a place for what is found.
    guard::call(|| unsafe { look(endpoint, &untagged(source), false, found) })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_tprobe(
    endpoint: *const Handle,
    source: RawPeer,
    tag: u64,
    ignore: u64,
    found: *mut RawFound,
) -> c_int {
    // SAFETY: `tasuki.h` asks for an open endpoint and a place for what is found.
    guard::call(|| unsafe { look(endpoint, &tagged(source, tag, ignore), false, found) })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_claim(
    endpoint: *const Handle,
    source: RawPeer,
    found: *mut RawFound,
) -> c_int {
    // SAFETY: `tasuki.h` asks for an open endpoint and a place for what is found.
    guard::call(|| unsafe { look(endpoint, &untagged(source), true, found) })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_tclaim(
    endpoint: *const Handle,
    source: RawPeer,
    tag: u64,
    ignore: u64,
    found: *mut RawFound,
) -> c_int {
    // SAFETY: `tasuki.h` asks for an open endpoint and a place for what is found.
    guard::call(|| unsafe { look(endpoint, &tagged(source, tag, ignore), true, found) })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_recv_claimed(
    endpoint: *const Handle,
    claim: u64,
    bytes: *mut c_void,
    len: usize,
    flags: u32,
    context: u64,
) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        let handle = unsafe { handle(endpoint) }?;
        check_flags(flags, QUIET)?;
        let buffer = pointer::buffer(bytes.cast(), len)?;
        let claim = handle.take_claim(claim)?;
        // SAFETY: `tasuki.h` asks that the memory is the library's until the completion.
        Ok(unsafe { handle.endpoint.recv_claimed(claim, &[buffer], report(flags), context) }?)
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_discard_claimed(endpoint: *const Handle, claim: u64) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        let handle = unsafe { handle(endpoint) }?;
        let claim = handle.take_claim(claim)?;
        Ok(handle.endpoint.discard_claimed(claim)?)
    })
}
