//! `tasuki_options`: filling it, and reading what the program has set.

use std::ffi::c_int;
use std::path::PathBuf;
use std::time::Duration;

use tasuki_engine::Options;

use crate::code::{Code, Error};
use crate::guard;
use crate::pointer;
use crate::types::RawOptions;

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_options_init(options: *mut RawOptions, size: usize) -> c_int {
    guard::unit(|| {
        check_size(size)?;
        let from = environment()?;
        // SAFETY: the caller lets us write a structure of `size` bytes, which is the size of this one.
        unsafe { pointer::put(options, to_c(&from), "options") }
    })
}

/// The engine's options for those of C; for null, those of the environment.
///
/// # Safety
/// `options` is null or points to a `tasuki_options` whose strings are null or NUL-terminated.
pub unsafe fn read(options: *const RawOptions) -> Result<Options, Error> {
    let base = environment()?;
    if options.is_null() {
        return Ok(base);
    }
    // SAFETY: as the caller promises; every version of the structure begins with its size.
    check_size(unsafe { (&raw const (*options).size).read() })?;
    // SAFETY: the structure has the size of this crate's.
    let raw = unsafe { pointer::get(options, "options") }?;
    // SAFETY: as the caller promises.
    let (identity, rails) =
        unsafe { (pointer::string(raw.identity, "identity")?, pointer::string(raw.rails, "rails")?) };
    if raw.reserved != 0 {
        return Err(Error::invalid("options: reserved must be 0; begin with tasuki_options_init"));
    }
    if raw.expected_peers == 0 {
        return Err(Error::invalid("options: expected_peers must be at least 1"));
    }
    let mut options = base;
    if let Some(text) = identity {
        let parsed = text.parse().map_err(|_| Error::invalid(format!("identity={text} is no IP address")))?;
        options.identity = Some(parsed);
    }
    if let Some(path) = rails {
        options.rails = Some(PathBuf::from(path));
    }
    options.shm = switch(raw.shm, "shm")?;
    options.stats = switch(raw.stats, "stats")?;
    options.dump = switch(raw.dump, "dump")?;
    options.pool_bytes = raw.pool_bytes;
    options.peer_bytes = raw.peer_bytes;
    options.expected_peers = raw.expected_peers;
    options.linger = Duration::from_millis(raw.linger_ms.into());
    Ok(options)
}

fn environment() -> Result<Options, Error> {
    Options::from_env().map_err(|error| Error::new(Code::Environment, error))
}

fn check_size(size: usize) -> Result<(), Error> {
    if size == size_of::<RawOptions>() {
        return Ok(());
    }
    let ours = size_of::<RawOptions>();
    Err(Error::invalid(format!(
        "options: size is {size}, not {ours}: tasuki.h and the library are of different versions, or \
         tasuki_options_init was not called"
    )))
}

fn to_c(from: &Options) -> RawOptions {
    RawOptions {
        size: size_of::<RawOptions>(),
        // Null stands for the value of the environment, which `read` looks up again.
        identity: std::ptr::null(),
        rails: std::ptr::null(),
        pool_bytes: from.pool_bytes,
        peer_bytes: from.peer_bytes,
        expected_peers: from.expected_peers,
        linger_ms: u32::try_from(from.linger.as_millis()).unwrap_or(u32::MAX),
        shm: from.shm.into(),
        stats: from.stats.into(),
        dump: from.dump.into(),
        reserved: 0,
    }
}

fn switch(value: i32, name: &str) -> Result<bool, Error> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Error::invalid(format!("options: {name} is {value}, it must be 0 or 1"))),
    }
}
