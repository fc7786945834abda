//! The libfabric that has loaded this provider, and those of its functions that the provider needs.
//!
//! There is no dependency at link time: MPIs bring a libfabric of their own under any name, and load it with
//! RTLD_LOCAL, so that its symbols cannot be found by name. A process may even hold several libfabrics. The
//! right one is the caller of this provider: it is on the stack while it calls `fi_prov_ini`.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem;
use std::ptr;

use crate::abi::{Info, Provider};
use crate::note;

/// Functions of the loaded libfabric.
#[derive(Clone, Copy)]
pub struct Host {
    version: unsafe extern "C" fn() -> u32,
    dup_info: unsafe extern "C" fn(*const Info) -> *mut Info,
    free_info: unsafe extern "C" fn(*mut Info),
    /// Its log; the library in front of the system's has none.
    log: Option<Log>,
}

/// `fi_log_enabled` and `fi_log` of `rdma/providers/fi_log.h`: provider, level, subsystem, ...
#[derive(Clone, Copy)]
#[repr(C)]
struct Log {
    enabled: unsafe extern "C" fn(*const Provider, c_int, c_int) -> c_int,
    log: unsafe extern "C" fn(*const Provider, c_int, c_int, *const c_char, c_int, *const c_char, ...),
}

/// `enum fi_log_level`.
#[derive(Clone, Copy)]
#[repr(i32)]
pub enum Level {
    Warn = 0,
    Info = 2,
}

/// `FI_LOG_CORE` of `enum fi_log_subsys`.
const CORE: c_int = 0;

unsafe extern "C" {
    /// glibc: return addresses of the callers of this function, innermost first.
    fn backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
}

impl Host {
    /// A libfabric of these functions, without a log.
    pub fn of(
        version: unsafe extern "C" fn() -> u32,
        dup_info: unsafe extern "C" fn(*const Info) -> *mut Info,
        free_info: unsafe extern "C" fn(*mut Info),
    ) -> Host {
        Host { version, dup_info, free_info, log: None }
    }

    /// Whether it is this other libfabric: a process may hold several.
    pub fn is(&self, other: &Host) -> bool {
        ptr::fn_addr_eq(self.dup_info, other.dup_info)
    }

    /// Finds the library that is calling; to be used inside a call of it.
    pub fn find() -> Option<Host> {
        Host::of_caller().or_else(Host::by_name).or_else(|| {
            note!("no libfabric exports fi_version, fi_dupinfo and fi_freeinfo in this process");
            None
        })
    }

    /// Its `fi_version()`.
    pub fn version(&self) -> u32 {
        // SAFETY: takes nothing, returns a constant.
        unsafe { (self.version)() }
    }

    /// `fi_allocinfo()`: zeroes, with all attributes; null if memory is out.
    pub fn alloc_info(&self) -> *mut Info {
        // SAFETY: fi_allocinfo() is defined as fi_dupinfo(NULL).
        unsafe { (self.dup_info)(ptr::null()) }
    }

    /// `fi_freeinfo()`.
    ///
    /// # Safety
    /// `info` is of [`Host::alloc_info`] and not freed; its pointers are null or of malloc.
    pub unsafe fn free_info(&self, info: *mut Info) {
        // SAFETY: by the contract.
        unsafe { (self.free_info)(info) }
    }

    /// Whether `FI_LOG_LEVEL` asks for messages of this level.
    pub fn logs(&self, provider: *const Provider, level: Level) -> bool {
        // SAFETY: the provider is the one that libfabric got from `fi_prov_ini`, which is never freed.
        self.log.is_some_and(|log| unsafe { (log.enabled)(provider, level as c_int, CORE) } != 0)
    }

    /// Writes a line to libfabric's log, if that is asked for.
    pub fn log(&self, provider: *const Provider, level: Level, text: &str) {
        let (Some(log), Ok(text)) = (self.log, CString::new(text)) else { return };
        if self.logs(provider, level) {
            // SAFETY: as for `logs`; the format takes one string, which is zero-terminated.
            unsafe {
                let (function, format) = (c"tasuki".as_ptr(), c"%s\n".as_ptr());
                (log.log)(provider, level as c_int, CORE, function, 0, format, text.as_ptr());
            }
        }
    }

    /// From the first library on the stack that is not this one and exports the functions.
    fn of_caller() -> Option<Host> {
        let mut addresses = [ptr::null_mut(); 32];
        // SAFETY: the buffer has as many entries as said.
        let count = unsafe { backtrace(addresses.as_mut_ptr(), addresses.len() as c_int) };
        let own = base(Host::of_caller as *const c_void).map(|(base, _)| base);
        let callers = addresses.iter().take(count.max(0) as usize);
        let mut libraries =
            callers.filter_map(|&address| base(address)).filter(|(base, _)| Some(*base) != own);
        libraries.find_map(|(_, path)| Host::of_library(path))
    }

    /// From the global symbols of the process: those of a program that is linked with libfabric.
    fn by_name() -> Option<Host> {
        // SAFETY: null is the program itself and what is global beside it; nothing is loaded.
        Host::of_handle(unsafe { libc::dlopen(ptr::null(), libc::RTLD_NOW) })
    }

    fn of_library(path: *const c_char) -> Option<Host> {
        // SAFETY: the path is the loader's own; RTLD_NOLOAD only counts a further user of what is loaded
        // already. The handle is kept: the library must not go away before this one.
        Host::of_handle(unsafe { libc::dlopen(path, libc::RTLD_NOW | libc::RTLD_NOLOAD) })
    }

    fn of_handle(handle: *mut c_void) -> Option<Host> {
        if handle.is_null() {
            return None;
        }
        let symbol = |name: &CStr| {
            // SAFETY: the handle is of dlopen and was not closed.
            let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        let (version, dup, free) = (symbol(c"fi_version")?, symbol(c"fi_dupinfo")?, symbol(c"fi_freeinfo")?);
        let log = symbol(c"fi_log_enabled").zip(symbol(c"fi_log"));
        // SAFETY: the types are those of rdma/fabric.h and rdma/providers/fi_log.h. Without a version, dlsym
        // gives the newest of several symbols of a name, which is the one whose structures providers see.
        unsafe {
            Some(Host {
                version: mem::transmute::<*mut c_void, unsafe extern "C" fn() -> u32>(version),
                dup_info: mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Info) -> *mut Info>(dup),
                free_info: mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Info)>(free),
                log: log.map(|(enabled, log)| mem::transmute::<[*mut c_void; 2], Log>([enabled, log])),
            })
        }
    }
}

/// Where the library with this address begins, and its path.
fn base(address: *const c_void) -> Option<(usize, *const c_char)> {
    // SAFETY: plain data, for which zeroes are valid.
    let mut found: libc::Dl_info = unsafe { mem::zeroed() };
    // SAFETY: dladdr takes any address and writes only into `found`.
    let known = unsafe { libc::dladdr(address, &mut found) } != 0;
    (known && !found.dli_fname.is_null()).then_some((found.dli_fbase as usize, found.dli_fname))
}
