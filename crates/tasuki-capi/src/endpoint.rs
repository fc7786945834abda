//! Endpoints: the object behind a handle, and calls that open, close and describe it.

use std::collections::HashMap;
use std::ffi::{c_char, c_int};
use std::sync::{Mutex, PoisonError};

use tasuki_engine::{Claim, Endpoint, OpenError};

use crate::code::{Code, Error};
use crate::guard;
use crate::options;
use crate::pointer;
use crate::types::RawOptions;

/// What `tasuki_endpoint *` points to.
pub struct Handle {
    pub endpoint: Endpoint,
    claims: Mutex<Claims>,
}

/// Claimed messages, by the names that C knows.
#[derive(Default)]
struct Claims {
    last: u64,
    open: HashMap<u64, Claim>,
}

impl Handle {
    /// Gives a claim a name, which is never 0.
    pub fn name_claim(&self, claim: Claim) -> u64 {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.last += 1;
        let name = claims.last;
        claims.open.insert(name, claim);
        name
    }

    /// Takes out the claim with this name.
    pub fn take_claim(&self, name: u64) -> Result<Claim, Error> {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims
            .open
            .remove(&name)
            .ok_or_else(|| Error::new(Code::Claim, format!("no message is claimed as {name}")))
    }
}

/// The object behind a handle.
///
/// # Safety
/// `endpoint` is null, or `tasuki_open` gave it and it was not closed.
pub unsafe fn handle<'a>(endpoint: *const Handle) -> Result<&'a Handle, Error> {
    // SAFETY: as the caller promises.
    unsafe { pointer::get(endpoint, "endpoint") }
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_open(options: *const RawOptions, endpoint: *mut *mut Handle) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for a place to write to.
        unsafe { pointer::put(endpoint, std::ptr::null_mut(), "endpoint") }?;
        // SAFETY: `tasuki.h` asks for null or valid options.
        let options = unsafe { options::read(options) }?;
        let opened = Endpoint::open(&options).map_err(|error| match error {
            OpenError::Variable(error) => Error::new(Code::Environment, error),
            error => Error::new(Code::Open, error),
        })?;
        let handle = Box::new(Handle { endpoint: opened, claims: Mutex::default() });
        // SAFETY: as above.
        unsafe { pointer::put(endpoint, Box::into_raw(handle), "endpoint") }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_close(endpoint: *mut Handle) {
    guard::unit(|| {
        if !endpoint.is_null() {
            // SAFETY: `tasuki_open` made the handle from a box, and `tasuki.h` asks that nobody uses it any
            // more.
            drop(unsafe { Box::from_raw(endpoint) });
        }
        Ok(())
    });
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_describe(endpoint: *const Handle, buffer: *mut c_char, size: usize) -> c_int {
    // SAFETY: `tasuki.h` asks for an open endpoint, and for `size` bytes at `buffer`.
    guard::call(|| unsafe { pointer::write_text(&handle(endpoint)?.endpoint.describe(), buffer, size) })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub extern "C" fn tasuki_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
