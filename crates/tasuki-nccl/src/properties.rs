//! What NCCL is told of the one device.

use std::ffi::c_int;
use std::ptr::null;

use tasuki_engine::Options;

use crate::abi::{PTR_HOST, PropertiesV8, PropertiesV9, PropertiesV11, PropertiesV12, VirtualDevice};

/// Receives in a group, at most. NCCL groups those of one connection when many peers exchange at once.
pub(crate) const GROUP_MAX: usize = 8;

/// Connections, at most, as far as NCCL must know: more than it makes.
const CONNECTIONS: c_int = 1 << 20;

/// The longest message, bytes: NCCL is told the length of one as an int.
const MESSAGE_MAX: usize = 1 << 30;

/// The rate that NCCL assumes of a socket whose rate it cannot find out, Mbit/s.
const UNKNOWN_RATE: u32 = 10_000;

/// One NIC to NCCL: it would treat devices with the same identity as one port, and there is one device.
const GUID: u64 = 0;

/// `NCCL_NET_ID_UNDEF`: the engine has all rails, so that NCCL need not keep to one.
const NO_RAIL: i16 = -1;

/// The device's rate, Mbit/s: that of all NICs of the host's rails.
pub(crate) fn rate() -> c_int {
    let known = Options::from_env().ok().and_then(|options| options.rate_mbits().ok().flatten());
    c_int::try_from(known.unwrap_or(UNKNOWN_RATE)).unwrap_or(c_int::MAX)
}

pub(crate) fn v8(speed: c_int) -> PropertiesV8 {
    PropertiesV8 {
        name: c"tasuki".as_ptr(),
        // Not one PCI device: where the host's NICs are does not matter, as data pass host memory.
        pciPath: null(),
        guid: GUID,
        ptrSupport: PTR_HOST,
        regIsGlobal: 0,
        speed,
        port: 0,
        // NCCL then assumes that of its own sockets.
        latency: 0.0,
        maxComms: CONNECTIONS,
        maxRecvs: GROUP_MAX as c_int,
        // Nothing of the network runs on the GPU (NCCL_NET_DEVICE_HOST, NCCL_NET_DEVICE_INVALID_VERSION).
        netDeviceType: 0,
        netDeviceVersion: 0,
    }
}

pub(crate) fn v9<const N: usize>(speed: c_int) -> PropertiesV9<N> {
    let v8 = v8(speed);
    // The device is made of itself alone.
    let virtual_device = VirtualDevice { ndevs: 1, devs: [0; N] };
    PropertiesV9 {
        name: v8.name,
        pciPath: v8.pciPath,
        guid: v8.guid,
        ptrSupport: v8.ptrSupport,
        regIsGlobal: v8.regIsGlobal,
        forceFlush: 0,
        speed: v8.speed,
        port: v8.port,
        latency: v8.latency,
        maxComms: v8.maxComms,
        maxRecvs: v8.maxRecvs,
        netDeviceType: v8.netDeviceType,
        netDeviceVersion: v8.netDeviceVersion,
        vProps: virtual_device,
        maxP2pBytes: MESSAGE_MAX,
        maxCollBytes: MESSAGE_MAX,
    }
}

pub(crate) fn v11(speed: c_int) -> PropertiesV11 {
    PropertiesV11 { v9: v9(speed), maxMultiRequestSize: 1 }
}

pub(crate) fn v12(speed: c_int) -> PropertiesV12 {
    PropertiesV12 { v9: v9(speed), maxMultiRequestSize: 1, railId: NO_RAIL, planeId: NO_RAIL }
}
