//! Calls for addresses and peers.

use std::ffi::{c_char, c_int, c_void};

use tasuki_engine::{Address, Peer};

use crate::code::{Code, Error};
use crate::endpoint::{Handle, handle};
use crate::guard;
use crate::pointer;
use crate::types::RawPeer;

/// Length of an address as text, bytes, with the NUL.
const TEXT_LEN: usize = 2 * Address::LEN + 1;

type Bytes = [u8; Address::LEN];

/// # Safety
/// `into` is null or has room for an address.
unsafe fn give(address: &Address, into: *mut c_void) -> Result<(), Error> {
    // SAFETY: as the caller promises; bytes need no alignment.
    unsafe { pointer::put(into.cast::<Bytes>(), address.to_bytes(), "address") }
}

fn bad(error: impl ToString) -> Error {
    Error::new(Code::Address, error)
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_address(endpoint: *const Handle, address: *mut c_void) -> c_int {
    // SAFETY: `tasuki.h` asks for an open endpoint and room for an address.
    guard::unit(|| unsafe { give(&handle(endpoint)?.endpoint.address(), address) })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_address_text(endpoint: *const Handle, text: *mut c_char) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        let address = unsafe { handle(endpoint) }?.endpoint.address();
        // SAFETY: `tasuki.h` asks for room for an address in text.
        unsafe { pointer::write_text(&format!("{address:x}"), text, TEXT_LEN) }.map(|_| ())
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_address_parse(text: *const c_char, address: *mut c_void) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for a string.
        let text = unsafe { pointer::string(text, "text") }?.ok_or_else(|| pointer::null("text"))?;
        let parsed: Address = text.trim().parse().map_err(bad)?;
        // SAFETY: `tasuki.h` asks for room for an address.
        unsafe { give(&parsed, address) }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_add_peer(
    endpoint: *const Handle,
    address: *const c_void,
    peer: *mut RawPeer,
) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint and an address.
        let (handle, bytes) =
            unsafe { (handle(endpoint)?, pointer::get(address.cast::<Bytes>(), "address")?) };
        if peer.is_null() {
            return Err(pointer::null("peer"));
        }
        let address = Address::from_bytes(bytes).map_err(bad)?;
        let Peer(number) = handle.endpoint.add_peer(&address);
        // SAFETY: `tasuki.h` asks for a place to write to.
        unsafe { pointer::put(peer, number, "peer") }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_peer_address(
    endpoint: *const Handle,
    peer: RawPeer,
    address: *mut c_void,
) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        let found = known(unsafe { handle(endpoint) }?, peer)?;
        // SAFETY: `tasuki.h` asks for room for an address.
        unsafe { give(&found, address) }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_peer_failure(
    endpoint: *const Handle,
    peer: RawPeer,
    buffer: *mut c_char,
    size: usize,
) -> c_int {
    guard::call(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        let handle = unsafe { handle(endpoint) }?;
        known(handle, peer)?;
        let reason = handle.endpoint.failure_reason(Peer(peer)).unwrap_or_default();
        // SAFETY: `tasuki.h` asks for `size` bytes at `buffer`.
        unsafe { pointer::write_text(&reason, buffer, size) }
    })
}

fn known(handle: &Handle, peer: RawPeer) -> Result<Address, Error> {
    handle
        .endpoint
        .peer_address(Peer(peer))
        .ok_or_else(|| Error::new(Code::Peer, format!("peer {peer} is unknown: add its address first")))
}
