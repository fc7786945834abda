//! The interface that carries the identity address.

use tasuki_cluster::IDENTITY_INTERFACE;
use tasuki_sys::netlink::{Netlink, NetlinkError};

/// Makes the identity interface if it is not there and returns its index.
///
/// A `dummy` is what the kernel offers for this; where its driver is missing, a bridge without ports serves:
/// it is up, has no neighbours, and programs that skip loopback interfaces accept it. It is not `lo`
/// because Open MPI and libfabric pass loopback interfaces over when they look for addresses.
pub fn ensure(netlink: &mut Netlink) -> Result<u32, NetlinkError> {
    let made = match netlink.add_dummy(IDENTITY_INTERFACE) {
        Err(error) if error.is_unsupported() => netlink.add_bridge(IDENTITY_INTERFACE),
        result => result,
    };
    match made {
        Err(error) if !error.is_exists() => return Err(error),
        _ => {}
    }
    Ok(netlink.link(IDENTITY_INTERFACE)?.index)
}
