//! The work of libfabric's core where Tasuki is the only provider. The `libfabric.so.1` in front of the
//! system's uses it, and so keeps the system's from being loaded (`front/libfabric.c`,
//! `docs/adr/0008-a-libfabric-in-front.md`).
//!
//! `struct fi_info` has the form that it has had since FABRIC_1.3. What it points to is of malloc, as
//! libfabric's is.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::abi::*;
use crate::guard::{self, Errno, Ret};
use crate::host::Host;
use crate::limits::NAME;
use crate::note;
use crate::{getinfo, object, provider};

/// The functions that the library in front gets, in the order of `struct calls` in `front/libfabric.c`.
#[repr(C)]
pub struct Calls {
    getinfo: GetInfo,
    freeinfo: unsafe extern "C" fn(*mut Info),
    dupinfo: unsafe extern "C" fn(*const Info) -> *mut Info,
    fabric: OpenFabric,
}

static CALLS: Calls = Calls { getinfo, freeinfo, dupinfo, fabric };
/// The version of libfabric that has these structures.
const VERSION: u32 = fi_version(1, 17);

/// Called once by the library in front, with the version of libfabric that it stands for. Null if it is to
/// load the system's libfabric.
#[unsafe(no_mangle)]
pub extern "C" fn tasuki_front_calls(version: u32) -> *const Calls {
    if version != VERSION || !provider::serve(own_host()) {
        return ptr::null();
    }
    note!("called by Tasuki's libfabric in front of the system's");
    &CALLS
}

/// The libfabric that these functions are.
fn own_host() -> Host {
    Host::of(fi_version_here, dupinfo, freeinfo)
}

unsafe extern "C" fn fi_version_here() -> u32 {
    VERSION
}

unsafe extern "C" fn getinfo(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const Info,
    info: *mut *mut Info,
) -> i32 {
    guard::int(|| {
        if version > VERSION {
            return Err(Errno(FI_ENOSYS));
        }
        // SAFETY: the arguments are a caller's of fi_getinfo(3), who vouches for them.
        unsafe {
            only_tasuki(hints.as_ref())?;
            getinfo::getinfo(&own_host(), version, (node, service), flags, hints, info)?;
            complete(*info, version)
        }
    })
}

/// Checks that hints do not exclude this provider by its name, as libfabric's core does before it asks a
/// provider.
unsafe fn only_tasuki(hints: Option<&Info>) -> Ret {
    // SAFETY: attributes are null or valid, the name null or zero-terminated: fi_getinfo(3).
    let name = unsafe {
        let attr = hints.and_then(|hints| hints.fabric_attr.as_ref());
        attr.filter(|attr| !attr.prov_name.is_null()).map(|attr| CStr::from_ptr(attr.prov_name))
    };
    if name.is_none_or(names_tasuki) { Ok(()) } else { Err(Errno(FI_ENODATA)) }
}

/// Whether a provider's name in hints admits this provider. fi_getinfo(3): it is a name, or `^` and a list of
/// names that are not wanted.
fn names_tasuki(name: &CStr) -> bool {
    let own = NAME.to_bytes();
    match name.to_bytes().strip_prefix(b"^") {
        Some(unwanted) => unwanted.split(|&byte| byte == b',').all(|name| name != own),
        None => name.to_bytes() == own,
    }
}

/// Adds the provider's name and the program's version, as libfabric's core does, to an answer.
unsafe fn complete(info: *mut Info, version: u32) -> Ret {
    // SAFETY: `getinfo` has just made it; nobody else has it yet.
    let attr =
        unsafe { info.as_mut().and_then(|info| info.fabric_attr.as_mut()) }.ok_or(Errno(FI_ENODATA))?;
    // SAFETY: a zero-terminated name.
    attr.prov_name = unsafe { libc::strdup(NAME.as_ptr()) };
    attr.api_version = version;
    Ok(())
}

unsafe extern "C" fn fabric(attr: *mut FabricAttr, fabric: *mut *mut FidFabric, context: Ptr) -> i32 {
    guard::int(|| {
        // SAFETY: null or a caller's attributes; names are null or zero-terminated: fi_fabric(3).
        let attr_given = unsafe { attr.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        if attr_given.prov_name.is_null() || attr_given.name.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: not null, so zero-terminated.
        if unsafe { CStr::from_ptr(attr_given.prov_name) } != NAME {
            return Err(Errno(FI_ENODEV));
        }
        // SAFETY: as above.
        unsafe { object::fabric::open(attr, fabric, context) }
    })
}

/// `fi_dupinfo`: a copy of one entry, without those that follow it in the list. For null: an entry of zeroes
/// with all attributes.
unsafe extern "C" fn dupinfo(info: *const Info) -> *mut Info {
    // SAFETY: null, or an entry as `Calls::getinfo` or the caller made it: its pointers are null or valid.
    unsafe {
        let copy = allocate::<Info>(info);
        let Some(entry) = copy.as_mut() else { return copy };
        let complete = match info.as_ref() {
            Some(info) => duplicate(entry, info),
            None => blank(entry),
        };
        if complete.is_none() {
            freeinfo(copy);
            return ptr::null_mut();
        }
        copy
    }
}

/// Gives an entry all attributes, zeroed; `None` if memory is out.
unsafe fn blank(entry: &mut Info) -> Option<()> {
    // SAFETY: null stands for zeroes.
    unsafe {
        entry.tx_attr = some(allocate(ptr::null()))?;
        entry.rx_attr = some(allocate(ptr::null()))?;
        entry.ep_attr = some(allocate(ptr::null()))?;
        entry.domain_attr = some(allocate(ptr::null()))?;
        entry.fabric_attr = some(allocate(ptr::null()))?;
    }
    Some(())
}

/// Replaces the pointers of `entry`, a plain copy of `from`, by copies of what they point to; `None` if
/// memory is out.
unsafe fn duplicate(entry: &mut Info, from: &Info) -> Option<()> {
    entry.next = ptr::null_mut();
    entry.src_addr = ptr::null_mut();
    entry.dest_addr = ptr::null_mut();
    entry.tx_attr = ptr::null_mut();
    entry.rx_attr = ptr::null_mut();
    entry.ep_attr = ptr::null_mut();
    entry.domain_attr = ptr::null_mut();
    entry.fabric_attr = ptr::null_mut();
    // It describes a device, and would be another provider's: this one has no devices.
    entry.nic = ptr::null_mut();
    // Attributes are copied plainly at first, and their own pointers are made null before anything can fail,
    // so that `freeinfo` frees nothing of the original.
    // SAFETY: pointers of `from` are null or valid, with the lengths beside them.
    unsafe {
        entry.src_addr = bytes(from.src_addr, from.src_addrlen)?;
        entry.dest_addr = bytes(from.dest_addr, from.dest_addrlen)?;
        entry.tx_attr = copied(from.tx_attr)?;
        entry.rx_attr = copied(from.rx_attr)?;
        entry.ep_attr = copied(from.ep_attr)?;
        if let (Some(ep), Some(from)) = (entry.ep_attr.as_mut(), from.ep_attr.as_ref()) {
            ep.auth_key = ptr::null_mut();
            ep.auth_key = bytes(from.auth_key.cast(), from.auth_key_size)?.cast();
        }
        entry.domain_attr = copied(from.domain_attr)?;
        if let (Some(domain), Some(from)) = (entry.domain_attr.as_mut(), from.domain_attr.as_ref()) {
            domain.name = ptr::null_mut();
            domain.auth_key = ptr::null_mut();
            domain.name = text(from.name)?;
            domain.auth_key = bytes(from.auth_key.cast(), from.auth_key_size)?.cast();
        }
        entry.fabric_attr = copied(from.fabric_attr)?;
        if let (Some(fabric), Some(from)) = (entry.fabric_attr.as_mut(), from.fabric_attr.as_ref()) {
            fabric.name = ptr::null_mut();
            fabric.prov_name = ptr::null_mut();
            fabric.name = text(from.name)?;
            fabric.prov_name = text(from.prov_name)?;
        }
    }
    Some(())
}

unsafe extern "C" fn freeinfo(info: *mut Info) {
    let mut next = info;
    // SAFETY: entries are of `dupinfo`, or of libfabric's, which allocates in the same way; their pointers
    // are null or of malloc, and nobody uses them any more.
    while let Some(entry) = unsafe { next.as_mut() } {
        let current = next;
        next = entry.next;
        // SAFETY: as above.
        unsafe {
            if let Some(ep) = entry.ep_attr.as_ref() {
                libc::free(ep.auth_key.cast());
            }
            if let Some(domain) = entry.domain_attr.as_ref() {
                libc::free(domain.name.cast());
                libc::free(domain.auth_key.cast());
            }
            if let Some(fabric) = entry.fabric_attr.as_ref() {
                libc::free(fabric.name.cast());
                libc::free(fabric.prov_name.cast());
            }
            let attributes = [entry.tx_attr.cast(), entry.rx_attr.cast(), entry.ep_attr.cast()];
            let more = [entry.domain_attr.cast(), entry.fabric_attr.cast(), entry.src_addr, entry.dest_addr];
            for part in attributes.into_iter().chain(more).chain([current.cast()]) {
                libc::free(part);
            }
        }
    }
}

/// A plain copy, of malloc, of what `from` points to, or zeroes if it is null. Null if memory is out.
unsafe fn allocate<T>(from: *const T) -> *mut T {
    // SAFETY: calloc takes any size; `from` is null or a T, of which just as many bytes were allocated.
    unsafe {
        let copy = libc::calloc(1, size_of::<T>()).cast::<T>();
        if !copy.is_null() && !from.is_null() {
            ptr::copy_nonoverlapping(from, copy, 1);
        }
        copy
    }
}

fn some<T>(pointer: *mut T) -> Option<*mut T> {
    (!pointer.is_null()).then_some(pointer)
}

/// A plain copy, or null for null; `None` if memory is out.
unsafe fn copied<T>(from: *mut T) -> Option<*mut T> {
    // SAFETY: null or a T, as the caller says.
    if from.is_null() { Some(from) } else { some(unsafe { allocate(from) }) }
}

/// A copy of `len` bytes, or null if there are none; `None` if memory is out.
unsafe fn bytes(from: *const c_void, len: usize) -> Option<*mut c_void> {
    if from.is_null() || len == 0 {
        return Some(ptr::null_mut());
    }
    // SAFETY: malloc takes any size; both places have `len` bytes.
    unsafe {
        let copy = some(libc::malloc(len))?;
        ptr::copy_nonoverlapping(from.cast::<u8>(), copy.cast(), len);
        Some(copy)
    }
}

/// A copy of a text, or null for null; `None` if memory is out.
unsafe fn text(from: *const c_char) -> Option<*mut c_char> {
    // SAFETY: null or zero-terminated.
    if from.is_null() { Some(ptr::null_mut()) } else { some(unsafe { libc::strdup(from) }) }
}
