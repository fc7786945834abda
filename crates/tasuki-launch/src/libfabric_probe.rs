//! Asks the libfabric of an MPI for its version and whether it takes Tasuki's provider, in a process of its
//! own.

use crate::{Environment, Flavour, Mpi, Provider, front, libfabric, program::with_variable, query::query};
use std::{
    ffi::{CString, OsString, c_char, c_int, c_void},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
    time::Duration,
};

const LIMIT: Duration = Duration::from_secs(20);

/// What an MPI's libfabric says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Libfabric {
    /// Its version: major and minor.
    pub version: (u32, u32),
    /// What `fi_getinfo` returned with Tasuki's provider as the only one: 0, or a negative error number
    /// (fi_errno(3)); -61 (no data) if it did not take the provider.
    pub getinfo: i32,
}

impl Mpi {
    /// Loads this MPI's libraries as its ranks would, and asks the libfabric among them. `probe` is a command
    /// that calls [`libfabric_probe_main`] with the paths that are appended to it.
    pub fn ask_libfabric(
        &self,
        probe: &[OsString],
        env: &Environment,
        provider: &Provider,
    ) -> io::Result<Libfabric> {
        let mut argv = probe.to_vec();
        argv.extend(self.libfabric_libraries().into_iter().map(PathBuf::into_os_string));
        let env = with_variable(env, "FI_PROVIDER", Provider::NAME.into());
        let env = with_variable(&env, "FI_PROVIDER_PATH", provider.folder.clone().into_os_string());
        let env = front::environment(self, provider, &env);
        let answer = query(&argv, &env, LIMIT)?;
        let odd = || {
            let said = answer.stderr.lines().next().unwrap_or("it said nothing");
            io::Error::other(format!("{said} ({})", answer.reason()))
        };
        let line = answer.stdout.lines().last().ok_or_else(odd)?;
        let mut numbers = line.split(' ').map(str::parse::<i64>);
        let mut next = || numbers.next()?.ok();
        match (next(), next(), next()) {
            (Some(major), Some(minor), Some(getinfo)) => {
                Ok(Libfabric { version: (major as u32, minor as u32), getinfo: getinfo as i32 })
            }
            _ => Err(odd()),
        }
    }

    /// The libraries to load so that this MPI's libfabric is loaded: its own library, Open MPI's component,
    /// or the file that Intel MPI opens by itself.
    fn libfabric_libraries(&self) -> Vec<PathBuf> {
        match self.flavour {
            Flavour::Intel => {
                let beside = self.library_folder().join("libfabric.so.1");
                let places = [
                    beside,
                    self.prefix().join("libfabric/lib/libfabric.so.1"),
                    self.prefix().join("opt/mpi/libfabric/lib/libfabric.so.1"),
                ];
                let found = places.into_iter().find(|path| path.exists());
                vec![found.unwrap_or_else(|| PathBuf::from("libfabric.so.1"))]
            }
            _ => [self.library.clone()].into_iter().chain(libfabric::component(&self.library)).collect(),
        }
    }
}

/// Loads `libraries` one after the other and prints `MAJOR MINOR GETINFO` of the libfabric among them;
/// returns the exit code. For a hidden subcommand of the caller: the process should then end.
pub fn libfabric_probe_main(libraries: &[PathBuf]) -> i32 {
    match ask(libraries) {
        Ok((version, getinfo)) => {
            // FI_VERSION(major, minor) = major << 16 | minor (fi_fabric(3)).
            println!("{} {} {getinfo}", version >> 16, version & 0xffff);
            0
        }
        Err(reason) => {
            eprintln!("{reason}");
            1
        }
    }
}

type FiVersion = unsafe extern "C" fn() -> u32;
/// fi_getinfo(3): version, node, service, flags, hints, info.
type FiGetinfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const c_void, *mut *mut c_void) -> c_int;

fn ask(libraries: &[PathBuf]) -> Result<(u32, c_int), String> {
    libraries.iter().try_for_each(|library| load(library))?;
    // SAFETY: libfabric has exported fi_version with this signature since 1.0 (fi_version(3)).
    let version = unsafe { std::mem::transmute::<*mut c_void, FiVersion>(symbol(c"fi_version")?) };
    // SAFETY: libfabric exports fi_getinfo with this signature too. Its symbol versions differ only in the
    // fields of fi_info, which is opaque here.
    let getinfo = unsafe { std::mem::transmute::<*mut c_void, FiGetinfo>(symbol(c"fi_getinfo")?) };
    // SAFETY: fi_version takes nothing and may be called at any time.
    let version = unsafe { version() };
    let mut info = ptr::null_mut();
    // SAFETY: without node, service and hints everything available is listed (fi_getinfo(3)); info is a place
    // for the list's head. The list is never freed: the process ends.
    let code = unsafe { getinfo(version, ptr::null(), ptr::null(), 0, ptr::null(), &mut info) };
    Ok((version, code))
}

fn load(library: &Path) -> Result<(), String> {
    let path =
        CString::new(library.as_os_str().as_bytes()).map_err(|_| "the path holds a NUL byte".to_owned())?;
    // SAFETY: path is NUL-terminated; loading runs the library's constructors, which is what this process is
    // for.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL) };
    if handle.is_null() { Err(format!("{} cannot be loaded", library.display())) } else { Ok(()) }
}

fn symbol(name: &std::ffi::CStr) -> Result<*mut c_void, String> {
    // SAFETY: name is NUL-terminated; RTLD_DEFAULT looks through everything that was loaded globally.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() {
        Err(format!("no libfabric is loaded: {} is missing", name.to_string_lossy()))
    } else {
        Ok(found)
    }
}
