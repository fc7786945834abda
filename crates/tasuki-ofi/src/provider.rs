//! The symbol that libfabric looks for, and the libfabric that has called it.

use std::ffi::c_char;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use tasuki_engine::Siblings;

use crate::abi::{FabricAttr, FidFabric, Info, Provider, Ptr};
use crate::host::{Host, Level};
use crate::limits::NAME;
use crate::note;
use crate::{getinfo, guard, object};

static HOST: OnceLock<Host> = OnceLock::new();
/// What libfabric got from [`fi_prov_ini`], set once: its log knows this provider by the pointer.
static PROVIDER: AtomicPtr<Provider> = AtomicPtr::new(ptr::null_mut());

/// The endpoints of the process, however many fabrics it opens: there is one provider in it.
static SIBLINGS: OnceLock<Siblings> = OnceLock::new();

/// What all endpoints of the process tell each other.
pub fn siblings() -> Siblings {
    SIBLINGS.get_or_init(Siblings::default).clone()
}

/// Whether libfabric's log takes messages of this level.
pub fn logs(level: Level) -> bool {
    let provider = PROVIDER.load(Ordering::Acquire);
    !provider.is_null() && host().is_some_and(|host| host.logs(provider, level))
}

/// Writes a line to libfabric's log, if that takes it.
pub fn log(level: Level, text: &str) {
    let provider = PROVIDER.load(Ordering::Acquire);
    if let Some(host) = host().filter(|_| !provider.is_null()) {
        host.log(provider, level, text);
    }
}

/// The libfabric that has loaded this provider.
pub fn host() -> Option<&'static Host> {
    HOST.get()
}

/// Makes `found` the host; false if there is one already.
pub fn serve(found: Host) -> bool {
    HOST.set(found).is_ok()
}

/// Called once by libfabric after it has loaded this library. Null if that libfabric cannot be found.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut Provider {
    std::panic::catch_unwind(describe).unwrap_or(ptr::null_mut())
}

fn describe() -> *mut Provider {
    let Some(found) = Host::find() else {
        return ptr::null_mut();
    };
    let host = HOST.get_or_init(|| found);
    note!("loaded by libfabric {}.{}", host.version() >> 16, host.version() & 0xffff);
    // Never freed: libfabric keeps the pointer, and its own data in `context`, until the process ends.
    let provider = Box::into_raw(Box::new(Provider {
        version: version(),
        // libfabric's core passes over a provider whose version is below the one that the program asks for.
        fi_version: host.version(),
        context: [ptr::null_mut(); 4],
        name: NAME.as_ptr(),
        getinfo,
        fabric,
        cleanup,
    }));
    PROVIDER.store(provider, Ordering::Release);
    provider
}

/// The version of this provider, in libfabric's form.
pub fn version() -> u32 {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    crate::abi::fi_version(number(env!("CARGO_PKG_VERSION_MAJOR")), number(env!("CARGO_PKG_VERSION_MINOR")))
}

unsafe extern "C" fn getinfo(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const Info,
    info: *mut *mut Info,
) -> i32 {
    // SAFETY: the arguments are a caller's of fi_getinfo(3), who vouches for them.
    guard::int(|| unsafe { getinfo::getinfo(version, node, service, flags, hints, info) })
}

unsafe extern "C" fn fabric(attr: *mut FabricAttr, fabric: *mut *mut FidFabric, context: Ptr) -> i32 {
    // SAFETY: the arguments are a caller's of fi_fabric(3), who vouches for them.
    guard::int(|| unsafe { object::fabric::open(attr, fabric, context) })
}

unsafe extern "C" fn cleanup() {}
