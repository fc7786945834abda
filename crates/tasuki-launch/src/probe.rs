//! Asks an MPI library for its version, in a process of its own: loading a library runs its code, and two
//! MPIs in one process, or one in this process, could disturb it.

use crate::{Environment, query::query, setting::UCX_HOOKS};
use std::{
    ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_void},
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
    time::Duration,
};

const LIMIT: Duration = Duration::from_secs(20);
/// Size of the buffer for the version text. No MPI's MPI_MAX_LIBRARY_VERSION_STRING is as large (Open MPI
/// 256, MPICH 8192).
const VERSION_BYTES: usize = 1 << 16;

/// The version text of `library`, asked by the command `probe`, which must call [`probe_main`] with the path
/// that is appended to it.
pub fn version_text(probe: &[OsString], library: &Path, env: &Environment) -> io::Result<String> {
    let mut argv = probe.to_vec();
    argv.push(library.as_os_str().to_owned());
    // A library that is asked for its version communicates with nobody.
    let (name, value) = UCX_HOOKS;
    let mut env = env.clone();
    env.push((name.into(), value.into()));
    let answer = query(&argv, &env, LIMIT)?;
    if answer.is_success() {
        return Ok(answer.stdout);
    }
    let reason = answer.stderr.lines().next().unwrap_or("it said nothing").to_owned();
    Err(io::Error::other(format!("{reason} ({})", answer.reason())))
}

/// Prints the text of `MPI_Get_library_version` of the library at `path`, and returns the exit code. For a
/// hidden subcommand of the caller: the process that runs it loads the library, and should then end.
pub fn probe_main(path: &OsStr) -> i32 {
    match library_version(path) {
        Ok(text) => {
            print!("{text}");
            0
        }
        Err(reason) => {
            eprintln!("{reason}");
            1
        }
    }
}

fn library_version(path: &OsStr) -> Result<String, String> {
    type GetLibraryVersion = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
    let path = CString::new(path.as_bytes()).map_err(|_| "the path holds a NUL byte".to_owned())?;
    // SAFETY: path is a NUL-terminated string. Loading runs the library's constructors, which is what this
    // process is for; the handle is never closed, so that nothing that was loaded disappears.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if handle.is_null() {
        return Err(loader_error());
    }
    // SAFETY: handle comes from dlopen just above, the name is NUL-terminated.
    let symbol = unsafe { libc::dlsym(handle, c"MPI_Get_library_version".as_ptr()) };
    if symbol.is_null() {
        return Err(format!(
            "{} has no MPI_Get_library_version: not an MPI 3 library",
            path.to_string_lossy()
        ));
    }
    // SAFETY: the C binding of every MPI of version 3.0 or later defines the symbol with this signature.
    let get = unsafe { std::mem::transmute::<*mut c_void, GetLibraryVersion>(symbol) };
    let mut text = vec![0_u8; VERSION_BYTES];
    let mut length: c_int = 0;
    // SAFETY: MPI lets this function be called before MPI_Init; text is larger than the text of any MPI and
    // stays NUL-terminated because its last byte is never reached.
    let code = unsafe { get(text.as_mut_ptr().cast(), &mut length) };
    if code != 0 {
        return Err(format!("MPI_Get_library_version returned {code}"));
    }
    let text =
        CStr::from_bytes_until_nul(&text).map_err(|_| "MPI_Get_library_version gave no end".to_owned())?;
    Ok(text.to_string_lossy().into_owned())
}

fn loader_error() -> String {
    // SAFETY: dlerror gives NULL or a string that is valid until the next dl* call of this thread.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "the library cannot be loaded".into();
    }
    // SAFETY: the pointer is not NULL, so it is that of a NUL-terminated string, as dlerror gives.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}
