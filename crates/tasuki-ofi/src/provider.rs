//! The symbol that libfabric looks for, and the libfabric that has called it.

use std::ffi::c_char;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use tasuki_engine::Siblings;

use crate::abi::{FI_ENODATA, FabricAttr, FidFabric, GetInfo, Info, Provider, Ptr};
use crate::guard::{self, Errno};
use crate::host::{Host, Level};
use crate::limits::NAME;
use crate::note;
use crate::{getinfo, object};

/// Most libfabrics of a process that may load this provider: that of an MPI, and those of libraries beside
/// it.
const LOADERS: usize = 4;
/// The function by which each of them asks: it is told nothing else that says which one it is.
const GETINFO: [GetInfo; LOADERS] = [getinfo::<0>, getinfo::<1>, getinfo::<2>, getinfo::<3>];

/// A libfabric that has loaded this provider.
struct Loader {
    host: Host,
    /// What it got from [`fi_prov_ini`], set once: its log knows this provider by the pointer. Null for the
    /// library in front of the system's, which has no log.
    provider: AtomicPtr<Provider>,
}

/// The libfabrics that have loaded this provider, in the order in which they did. Each is set once.
static OF_PROCESS: [OnceLock<Loader>; LOADERS] = [const { OnceLock::new() }; LOADERS];

/// The endpoints of the process, however many fabrics it opens: there is one provider in it.
static SIBLINGS: OnceLock<Siblings> = OnceLock::new();

/// What all endpoints of the process tell each other.
pub fn siblings() -> Siblings {
    SIBLINGS.get_or_init(Siblings::default).clone()
}

/// The libfabrics whose logs take messages of this level.
fn listening(level: Level) -> impl Iterator<Item = (&'static Host, *mut Provider)> {
    let loaders = OF_PROCESS.iter().filter_map(OnceLock::get);
    let known = loaders.map(|loader| (&loader.host, loader.provider.load(Ordering::Acquire)));
    known.filter(move |(host, provider)| !provider.is_null() && host.logs(*provider, level))
}

/// Whether a libfabric's log takes messages of this level.
pub fn logs(level: Level) -> bool {
    listening(level).next().is_some()
}

/// Writes a line to the logs of libfabrics, where they take it.
pub fn log(level: Level, text: &str) {
    listening(level).for_each(|(host, provider)| host.log(provider, level, text));
}

/// The place of a libfabric among those that have loaded this provider, where it is now if it was not before.
/// `None`: there are too many.
fn place(host: Host) -> Option<usize> {
    (0..LOADERS).find(|place| {
        let loader = || Loader { host, provider: AtomicPtr::new(ptr::null_mut()) };
        OF_PROCESS[*place].get_or_init(loader).host.is(&host)
    })
}

/// Makes `found` the one libfabric of the process; false if there is another already.
pub fn serve(found: Host) -> bool {
    OF_PROCESS[0].set(Loader { host: found, provider: AtomicPtr::new(ptr::null_mut()) }).is_ok()
}

/// Called by each libfabric once, after it has loaded this library. Null if that libfabric cannot be found.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut Provider {
    std::panic::catch_unwind(describe).unwrap_or(ptr::null_mut())
}

fn describe() -> *mut Provider {
    let Some(host) = Host::find() else {
        return ptr::null_mut();
    };
    let Some(place) = place(host) else {
        note!("more than {LOADERS} libfabrics of this process load this provider");
        return ptr::null_mut();
    };
    note!("loaded by libfabric {}.{}", host.version() >> 16, host.version() & 0xffff);
    // Never freed: libfabric keeps the pointer, and its own data in `context`, until the process ends.
    let provider = Box::into_raw(Box::new(Provider {
        version: version(),
        // libfabric's core passes over a provider whose version is below the one that the program asks for.
        fi_version: host.version(),
        context: [ptr::null_mut(); 4],
        name: NAME.as_ptr(),
        getinfo: GETINFO[place],
        fabric,
        cleanup,
    }));
    if let Some(loader) = OF_PROCESS[place].get() {
        loader.provider.store(provider, Ordering::Release);
    }
    provider
}

/// The version of this provider, in libfabric's form.
pub fn version() -> u32 {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    crate::abi::fi_version(number(env!("CARGO_PKG_VERSION_MAJOR")), number(env!("CARGO_PKG_VERSION_MINOR")))
}

/// `fi_getinfo` of the libfabric with the place `LOADER`.
unsafe extern "C" fn getinfo<const LOADER: usize>(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const Info,
    info: *mut *mut Info,
) -> i32 {
    guard::int(|| {
        let loader = OF_PROCESS[LOADER].get().ok_or(Errno(FI_ENODATA))?;
        // SAFETY: the arguments are a caller's of fi_getinfo(3), who vouches for them.
        unsafe { getinfo::getinfo(&loader.host, version, (node, service), flags, hints, info) }
    })
}

unsafe extern "C" fn fabric(attr: *mut FabricAttr, fabric: *mut *mut FidFabric, context: Ptr) -> i32 {
    // SAFETY: the arguments are a caller's of fi_fabric(3), who vouches for them.
    guard::int(|| unsafe { object::fabric::open(attr, fabric, context) })
}

unsafe extern "C" fn cleanup() {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::fi_version;

    unsafe extern "C" fn old() -> u32 {
        fi_version(1, 17)
    }

    unsafe extern "C" fn new() -> u32 {
        fi_version(2, 1)
    }

    unsafe extern "C" fn dup_old(_: *const Info) -> *mut Info {
        ptr::null_mut()
    }

    unsafe extern "C" fn dup_new(_: *const Info) -> *mut Info {
        ptr::without_provenance_mut(8)
    }

    unsafe extern "C" fn free(_: *mut Info) {}

    /// A newer libfabric has longer structures, which an older one would allocate too short.
    #[test]
    fn each_libfabric_of_a_process_gets_answers_of_its_own_making() {
        let (old, new) = (Host::of(old, dup_old, free), Host::of(new, dup_new, free));
        let (first, second) = (place(old).expect("room"), place(new).expect("room"));
        assert_ne!(first, second);
        assert_eq!([place(old), place(new)], [Some(first), Some(second)]);
        let version = |place: usize| OF_PROCESS[place].get().map(|loader| loader.host.version());
        assert_eq!([version(first), version(second)], [Some(fi_version(1, 17)), Some(fi_version(2, 1))]);
        assert!(!serve(new), "the library in front of the system's serves a process alone, or not at all");
    }
}
