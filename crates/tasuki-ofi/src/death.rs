//! What becomes of this process when a peer has died.
//!
//! A provider reports errors, and by the MPI standard an MPI aborts the job upon the first error, unless the
//! program has asked for errors to be returned. In fact MPIs go on after errors inside of their collective
//! operations: Open MPI 5 (`coll/han`) passes bytes that it never received on to all ranks of its host,
//! MPICH's MPI_Reduce_scatter_block and Intel MPI's MPI_Allgather, MPI_Gather and MPI_Scatter return
//! MPI_SUCCESS with a buffer that nobody has written, and some operations wait for ever. A rank that was told
//! of a failure therefore holds results that nobody can trust, and nothing that a provider can tell it
//! changes that. So below an MPI the process ends.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Once;

use tasuki_engine::Address;

use crate::log;
use tasuki_tuning::provider;

/// What is done when a peer has died: as the variable [`VARIABLE`] says, or as is right for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerFailure {
    /// The process ends.
    Abort,
    /// Operations with the peer fail: fi_cq(3).
    Report,
}

/// The variable of the environment by which users choose.
const VARIABLE: &str = "TASUKI_PEER_FAILURE";

impl PeerFailure {
    /// What the environment says. If it says nothing: [`PeerFailure::Abort`] below an MPI, otherwise
    /// [`PeerFailure::Report`].
    pub fn from_env() -> Result<PeerFailure, String> {
        match std::env::var(VARIABLE) {
            Ok(text) if !text.is_empty() => Self::read(&text),
            _ if has_mpi() => Ok(PeerFailure::Abort),
            _ => Ok(PeerFailure::Report),
        }
    }

    fn read(text: &str) -> Result<PeerFailure, String> {
        match text {
            "abort" => Ok(PeerFailure::Abort),
            "report" => Ok(PeerFailure::Report),
            _ => Err(format!("{VARIABLE}={text}: must be abort or report")),
        }
    }
}

/// Ends the process because this peer has died. During the grace time the other threads go on, so that peers
/// that need them are served.
pub fn end(peer: &Address) {
    static TOLD: Once = Once::new();
    std::thread::sleep(provider::GRACE);
    TOLD.call_once(|| {
        log::say(&format!(
            "ends, since its peer {peer} has died: after that an MPI may go on with wrong results. \
             ({VARIABLE}=report: errors are reported to the MPI instead; for programs that handle them, see \
             docs/guide/run.md.)"
        ));
    });
    // Nothing is wrong with this process: neither a core file nor a signal handler's account of its stack
    // would help.
    // SAFETY: signal takes a number and an action; a limit is plain data.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(libc::SIGABRT, libc::SIG_DFL);
        libc::abort()
    }
}

/// Whether an MPI is part of this process.
fn has_mpi() -> bool {
    let mut found = false;
    // SAFETY: the callback has the type that dl_iterate_phdr(3) asks for, and gets the pointer to `found`,
    // which outlives the call. dlsym takes any name.
    unsafe {
        libc::dl_iterate_phdr(Some(notice), (&raw mut found).cast());
        found || !libc::dlsym(libc::RTLD_DEFAULT, c"MPI_Init".as_ptr()).is_null()
    }
}

/// Sets the flag behind `found` if this library is an MPI's.
unsafe extern "C" fn notice(library: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader gives a valid description, whose name is null or zero-terminated.
    let name: *const c_char = unsafe { (*library).dlpi_name };
    // SAFETY: as above.
    if !name.is_null() && is_mpi(unsafe { CStr::from_ptr(name) }.to_bytes()) {
        // SAFETY: a bool of `has_mpi`.
        unsafe { found.cast::<bool>().write(true) };
    }
    0
}

/// Whether this is the path of an MPI's library: `libmpi.so.40`, `libmpi.so.12`, `libmpich.so.12`,
/// `libmpi_abi.so.0`.
fn is_mpi(path: &[u8]) -> bool {
    let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let stem = file.split(|&byte| byte == b'.').next().unwrap_or_default();
    matches!(stem, b"libmpi" | b"libmpich" | b"libmpi_abi")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_read_and_nonsense_is_named() {
        assert_eq!(PeerFailure::read("abort"), Ok(PeerFailure::Abort));
        assert_eq!(PeerFailure::read("report"), Ok(PeerFailure::Report));
        let error = PeerFailure::read("1").expect_err("neither");
        assert_eq!(error, "TASUKI_PEER_FAILURE=1: must be abort or report");
    }

    // Names of the five MPIs' libraries, and of other libraries that begin alike.
    #[test]
    fn an_mpi_is_known_by_its_library() {
        for path in ["/usr/lib/x86_64-linux-gnu/libmpi.so.40", "/opt/lib/libmpi.so.12.3.0", "libmpich.so.12"]
        {
            assert!(is_mpi(path.as_bytes()), "{path}");
        }
        for path in
            ["", "/usr/lib/libmpfr.so.6", "/opt/libmpi/libfabric.so.1", "linux-vdso.so.1", "libmpi4py.so"]
        {
            assert!(!is_mpi(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn this_test_has_none() {
        assert!(!has_mpi());
    }
}
