//! The interface that carries the identity address.

use tasuki_cluster::IDENTITY_INTERFACE;
use tasuki_sys::netlink::{Netlink, NetlinkError};

/// Makes the identity interface if it does not exist, and returns its index.
///
/// The kernel offers `dummy` interfaces for this. Where that driver is missing, a bridge without ports
/// serves: it is up, has no neighbours, and programs that skip loopback interfaces accept it. `lo` is not
/// used because Open MPI and libfabric skip loopback interfaces when they look for addresses.
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
