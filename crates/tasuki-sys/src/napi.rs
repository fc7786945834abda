//! Interrupt delay in the kernel itself, for any NIC whose driver polls (NAPI): after a poll the interrupt
//! stays off, and a timer polls again (Documentation/networking/napi.rst). It is set for a whole device
//! through sysfs since Linux 5.9, and for each instance through the generic netlink family `netdev` since
//! Linux 6.13.

use crate::generic::{Attributes, Generic};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Commands and attributes of include/uapi/linux/netdev.h.
const NAPI_GET: u8 = 11;
const NAPI_SET: u8 = 14;
const IFINDEX: u16 = 1;
const ID: u16 = 2;
const DEFER_HARD_IRQS: u16 = 5;
const GRO_FLUSH_TIMEOUT: u16 = 6;

/// How long received frames may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deferral {
    /// Time until the timer polls, nanoseconds (`gro_flush_timeout`); 0: there is no timer.
    pub flush_ns: u64,
    /// How often in a row the timer may poll in vain before the interrupt is turned on again
    /// (`napi_defer_hard_irqs`); 0: the interrupt never stays off.
    pub defer_irqs: u32,
}

/// One receiving instance of a device, mostly one per queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its number in the kernel. A device that goes down and up again may get other numbers.
    pub id: u32,
    /// Its delay, which a delay set for the whole device overwrites; `None`: this kernel has no delays of
    /// instances.
    pub deferral: Option<Deferral>,
}

fn file(interface: &str, name: &str) -> PathBuf {
    Path::new("/sys/class/net").join(interface).join(name)
}

fn number<T: std::str::FromStr>(interface: &str, name: &str) -> io::Result<T> {
    let text = fs::read_to_string(file(interface, name))?;
    text.trim().parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("{name} is {text:?}")))
}

/// The delay of a device, read from the `/sys` that the calling thread sees. [`io::ErrorKind::NotFound`]: the
/// device or the setting is not there.
pub fn deferral(interface: &str) -> io::Result<Deferral> {
    Ok(Deferral {
        flush_ns: number(interface, "gro_flush_timeout")?,
        defer_irqs: number(interface, "napi_defer_hard_irqs")?,
    })
}

/// Sets the delay of a device, and with it that of all its instances.
pub fn set_deferral(interface: &str, wanted: Deferral) -> io::Result<()> {
    // The timer is set first: with interrupts deferred and no timer, the device would not be polled at all.
    let timer = || fs::write(file(interface, "gro_flush_timeout"), wanted.flush_ns.to_string());
    let defer = || fs::write(file(interface, "napi_defer_hard_irqs"), wanted.defer_irqs.to_string());
    match wanted.flush_ns {
        0 => defer().and_then(|()| timer()),
        _ => timer().and_then(|()| defer()),
    }
}

/// Has threads of the kernel poll a device, one for each instance (Linux 5.12 or newer).
pub fn poll_by_threads(interface: &str) -> io::Result<()> {
    fs::write(file(interface, "threaded"), "1")
}

/// The receiving instances of a device, given by its index in the thread's network namespace. `None`: this
/// kernel does not list them (before Linux 6.8).
pub fn instances(index: u32) -> io::Result<Option<Vec<Instance>>> {
    let Some(mut generic) = Generic::open("netdev")? else { return Ok(None) };
    let answers = match generic.dump(NAPI_GET, Attributes::default().word(IFINDEX, index)) {
        Ok(answers) => answers,
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOENT)) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let instance = |answer: &Attributes| {
        let deferral = answer.number(GRO_FLUSH_TIMEOUT).zip(answer.number(DEFER_HARD_IRQS));
        let deferral = deferral.map(|(flush_ns, irqs)| Deferral { flush_ns, defer_irqs: irqs as u32 });
        Some(Instance { id: answer.number(ID)? as u32, deferral })
    };
    Ok(Some(answers.iter().filter_map(instance).collect()))
}

/// Sets the delay of one instance.
pub fn set_instance(id: u32, wanted: Deferral) -> io::Result<()> {
    let mut generic = Generic::open("netdev")?.ok_or(io::ErrorKind::Unsupported)?;
    let attributes = Attributes::default()
        .word(ID, id)
        .word(DEFER_HARD_IRQS, wanted.defer_irqs)
        .long(GRO_FLUSH_TIMEOUT, wanted.flush_ns);
    generic.change(NAPI_SET, attributes)
}
