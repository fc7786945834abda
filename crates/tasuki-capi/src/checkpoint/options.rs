//! `tasuki_checkpoint_options`: filling it, and reading what the program has set.

use std::ffi::c_int;
use std::path::PathBuf;
use std::time::Duration;

use nix::unistd::gethostname;
use tasuki_checkpoint::Options;
use tasuki_interval::FAILURES;
use tasuki_tuning::variables::{CHECKPOINT, CHECKPOINT_EVERY, CHECKPOINT_FAILURES, Variable};

use crate::code::{Code, Error};
use crate::guard;
use crate::pointer;
use crate::types::RawCheckpointOptions;

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_options_init(
    options: *mut RawCheckpointOptions,
    size: usize,
) -> c_int {
    guard::unit(|| {
        check_size(size)?;
        // SAFETY: the caller lets us write a structure of `size` bytes, which is the size of this one.
        unsafe { pointer::put(options, defaults()?, "options") }
    })
}

/// Seconds that a variable of the environment names; 0 if it is not set.
fn seconds(variable: &Variable) -> Result<u64, Error> {
    let Ok(text) = std::env::var(variable.name) else { return Ok(0) };
    let number = text.parse().ok().filter(|seconds| *seconds > 0);
    number.ok_or_else(|| {
        let text = format!("{}={text}: not {}", variable.name, variable.values);
        Error::new(Code::Environment, text)
    })
}

fn defaults() -> Result<RawCheckpointOptions, Error> {
    let failures = seconds(&CHECKPOINT_FAILURES)?;
    Ok(RawCheckpointOptions {
        size: size_of::<RawCheckpointOptions>(),
        folder: std::ptr::null(),
        host: std::ptr::null(),
        every_seconds: seconds(&CHECKPOINT_EVERY)?,
        failures_seconds: if failures == 0 { FAILURES.as_secs() } else { failures },
        copies: 1,
        keep: 2,
    })
}

fn check_size(size: usize) -> Result<(), Error> {
    if size == size_of::<RawCheckpointOptions>() {
        return Ok(());
    }
    Err(Error::invalid("options: size is not that of this version; call tasuki_checkpoint_options_init"))
}

/// What the program asks for; without options, what the environment does.
///
/// # Safety
/// `options` is null or points to a `tasuki_checkpoint_options` whose strings are null or NUL-terminated.
pub unsafe fn read(options: *const RawCheckpointOptions) -> Result<Options, Error> {
    let mut raw = defaults()?;
    if !options.is_null() {
        // SAFETY: as the caller promises; every version of the structure begins with its size.
        check_size(unsafe { (&raw const (*options).size).read() })?;
        // SAFETY: the structure has the size of this crate's.
        raw = *unsafe { pointer::get(options, "options") }?;
    }
    // SAFETY: as the caller promises.
    let (folder, host) =
        unsafe { (pointer::string(raw.folder, "folder")?, pointer::string(raw.host, "host")?) };
    // Hosts that were installed from one image have one name; what runs since one start of a kernel is one
    // host.
    let name = || gethostname().map_or("localhost".into(), |name| name.to_string_lossy().into_owned());
    let start = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let machine = if host.is_none() { start().trim().to_owned() } else { String::new() };
    let host = host.map_or_else(name, str::to_owned);
    let folder = folder.map(str::to_owned).or_else(|| std::env::var(CHECKPOINT.name).ok());
    let Some(folder) = folder.filter(|folder| !folder.is_empty()) else {
        let text = format!(
            "no folder for checkpoints: set {} to one on a disk of each host, as /var/tmp/my-program",
            CHECKPOINT.name
        );
        return Err(Error::new(Code::Environment, text));
    };
    if raw.failures_seconds == 0 || raw.keep < 1 || !(0..=1).contains(&raw.copies) {
        return Err(Error::invalid("options: failures_seconds and keep are at least 1, copies is 0 or 1"));
    }
    Ok(Options {
        folder: PathBuf::from(folder.replace("%h", &host)),
        host,
        machine,
        every: (raw.every_seconds > 0).then(|| Duration::from_secs(raw.every_seconds)),
        failures: Duration::from_secs(raw.failures_seconds),
        copies: raw.copies == 1,
        keep: raw.keep as usize,
    })
}
