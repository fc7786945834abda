//! The libfabric that has loaded this provider, and the three of its functions that a provider needs.
//!
//! There is no dependency at link time: MPIs bring a libfabric of their own under any name, and load it with RTLD_LOCAL, so that
//! its symbols are not to be found by name. A process may even hold several. The right one is that which calls us: it is on
//! the stack while it calls `fi_prov_ini`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;
use std::ptr;

use crate::abi::Info;
use crate::note;

/// Functions of the loaded libfabric.
#[derive(Clone, Copy)]
pub struct Host {
    version: unsafe extern "C" fn() -> u32,
    dup_info: unsafe extern "C" fn(*const Info) -> *mut Info,
    free_info: unsafe extern "C" fn(*mut Info),
}

unsafe extern "C" {
    /// glibc: return addresses of the callers of this function, innermost first.
    fn backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
}

impl Host {
    /// One that consists of these.
    pub fn of(
        version: unsafe extern "C" fn() -> u32,
        dup_info: unsafe extern "C" fn(*const Info) -> *mut Info,
        free_info: unsafe extern "C" fn(*mut Info),
    ) -> Host {
        Host { version, dup_info, free_info }
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

    /// From the first libraries on the stack that are not this one.
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

    /// From whatever is global in the process: a program that is linked with libfabric.
    fn by_name() -> Option<Host> {
        // SAFETY: null is the program itself and what is global beside it; nothing is loaded.
        Host::of_handle(unsafe { libc::dlopen(ptr::null(), libc::RTLD_NOW) })
    }

    fn of_library(path: *const c_char) -> Option<Host> {
        // SAFETY: the path is the loader's own; RTLD_NOLOAD only counts a further user of what is loaded already. The handle is
        // kept: the library must not go away before this one.
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
        // SAFETY: the types are those of rdma/fabric.h. Without a version, dlsym gives the newest of several symbols of a name,
        // which is that whose structures providers see.
        unsafe {
            Some(Host {
                version: mem::transmute::<*mut c_void, unsafe extern "C" fn() -> u32>(version),
                dup_info: mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Info) -> *mut Info>(dup),
                free_info: mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Info)>(free),
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
