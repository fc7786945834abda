//! Calls for put and get, and for the memory that they reach.

use std::ffi::{c_int, c_void};

use tasuki_engine::{Peer, RemoteArgs};

use crate::code::Error;
use crate::endpoint::{Handle, handle};
use crate::guard;
use crate::pointer;
use crate::post::check_flags;
use crate::types::{QUIET, RawPeer};

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_register(
    endpoint: *const Handle,
    memory: *mut c_void,
    len: usize,
    key: *mut u64,
) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        let handle = unsafe { handle(endpoint) }?;
        let memory = pointer::buffer(memory.cast(), len)?;
        if key.is_null() {
            // Checked first, so that no memory is registered under a key that nobody learns.
            return Err(pointer::null("key"));
        }
        // SAFETY: `tasuki.h` asks that the memory stays valid, and warns that it changes.
        let given = unsafe { handle.endpoint.register(memory) }?;
        // SAFETY: `tasuki.h` asks for a place to write to.
        unsafe { pointer::put(key, given, "key") }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_unregister(endpoint: *const Handle, key: u64) -> c_int {
    // SAFETY: `tasuki.h` asks for an open endpoint.
    guard::unit(|| Ok(unsafe { handle(endpoint) }?.endpoint.unregister(key)?))
}

/// The arguments of a put or a get.
struct Transfer {
    peer: RawPeer,
    key: u64,
    offset: u64,
    bytes: *mut c_void,
    len: usize,
    flags: u32,
    context: u64,
}

impl Transfer {
    fn args(&self) -> Result<RemoteArgs, Error> {
        check_flags(self.flags, QUIET)?;
        Ok(RemoteArgs {
            peer: Peer(self.peer),
            key: self.key,
            offset: self.offset,
            buffer: pointer::buffer(self.bytes.cast(), self.len)?,
            data: None,
            quiet: self.flags & QUIET != 0,
            context: self.context,
        })
    }
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_put(
    endpoint: *const Handle,
    peer: RawPeer,
    key: u64,
    offset: u64,
    bytes: *const c_void,
    len: usize,
    flags: u32,
    context: u64,
) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        let handle = unsafe { handle(endpoint) }?;
        let args = Transfer { peer, key, offset, bytes: bytes.cast_mut(), len, flags, context }.args()?;
        // SAFETY: `tasuki.h` asks that the bytes stay as they are until the completion.
        Ok(unsafe { handle.endpoint.put(&args) }?)
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_get(
    endpoint: *const Handle,
    peer: RawPeer,
    key: u64,
    offset: u64,
    bytes: *mut c_void,
    len: usize,
    flags: u32,
    context: u64,
) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        let handle = unsafe { handle(endpoint) }?;
        let args = Transfer { peer, key, offset, bytes, len, flags, context }.args()?;
        // SAFETY: `tasuki.h` asks that nobody uses the memory until the completion.
        Ok(unsafe { handle.endpoint.get(&args) }?)
    })
}
