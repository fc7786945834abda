//! The structures of NCCL's network interface, versions 8 to 12, as C lays them out (`plugins/net` of NCCL's
//! source). Fields have NCCL's names.
#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_void};

use crate::log::LogFunction;

/// A `ncclResult_t`.
pub(crate) type Result = c_int;

/// Memory that the host's processor can read and write: `NCCL_PTR_HOST`.
pub(crate) const PTR_HOST: c_int = 1;

/// `ncclNetProperties_v8_t`.
#[repr(C)]
pub struct PropertiesV8 {
    pub(crate) name: *const c_char,
    pub(crate) pciPath: *const c_char,
    pub(crate) guid: u64,
    pub(crate) ptrSupport: c_int,
    pub(crate) regIsGlobal: c_int,
    pub(crate) speed: c_int,
    pub(crate) port: c_int,
    pub(crate) latency: f32,
    pub(crate) maxComms: c_int,
    pub(crate) maxRecvs: c_int,
    pub(crate) netDeviceType: c_int,
    pub(crate) netDeviceVersion: c_int,
}

/// `ncclNetVDeviceProps_v9_t` with room for 4 devices, `ncclNetVDeviceProps_v12_t` with room for 8.
#[repr(C)]
pub struct VirtualDevice<const N: usize> {
    pub(crate) ndevs: c_int,
    pub(crate) devs: [c_int; N],
}

/// `ncclNetProperties_v9_t`, which is that of version 10 too; what newer versions begin with.
#[repr(C)]
pub struct PropertiesV9<const N: usize> {
    pub(crate) name: *const c_char,
    pub(crate) pciPath: *const c_char,
    pub(crate) guid: u64,
    pub(crate) ptrSupport: c_int,
    pub(crate) regIsGlobal: c_int,
    pub(crate) forceFlush: c_int,
    pub(crate) speed: c_int,
    pub(crate) port: c_int,
    pub(crate) latency: f32,
    pub(crate) maxComms: c_int,
    pub(crate) maxRecvs: c_int,
    pub(crate) netDeviceType: c_int,
    pub(crate) netDeviceVersion: c_int,
    pub(crate) vProps: VirtualDevice<N>,
    pub(crate) maxP2pBytes: usize,
    pub(crate) maxCollBytes: usize,
}

/// `ncclNetProperties_v11_t`.
#[repr(C)]
pub struct PropertiesV11 {
    pub(crate) v9: PropertiesV9<4>,
    pub(crate) maxMultiRequestSize: c_int,
}

/// `ncclNetProperties_v12_t`.
#[repr(C)]
pub struct PropertiesV12 {
    pub(crate) v9: PropertiesV9<8>,
    pub(crate) maxMultiRequestSize: c_int,
    pub(crate) railId: i16,
    pub(crate) planeId: i16,
}

/// `ncclProfilerCallback_t`, which is not called.
pub(crate) type Profiler = *const c_void;
/// A structure that is not looked at: communicator configuration, network attributes, device handles.
pub(crate) type Ignored = *mut c_void;

/// Sends: connection, bytes, length, tag, memory handle, request.
pub(crate) type SendV8 =
    unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, c_int, *mut c_void, *mut *mut c_void) -> Result;
pub(crate) type SendV9 =
    unsafe extern "C" fn(*mut c_void, *mut c_void, usize, c_int, *mut c_void, *mut *mut c_void) -> Result;
/// From version 10 on with a handle for the profiler before the request.
pub(crate) type SendV10 = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    usize,
    c_int,
    *mut c_void,
    Ignored,
    *mut *mut c_void,
) -> Result;

/// Receives: connection, number of buffers, buffers, lengths, tags, memory handles, request.
pub(crate) type RecvV8 = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    *const *mut c_void,
    *const c_int,
    *const c_int,
    *const *mut c_void,
    *mut *mut c_void,
) -> Result;
pub(crate) type RecvV9 = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    *const *mut c_void,
    *const usize,
    *const c_int,
    *const *mut c_void,
    *mut *mut c_void,
) -> Result;
/// From version 10 on with handles for the profiler before the request.
pub(crate) type RecvV10 = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    *const *mut c_void,
    *const usize,
    *const c_int,
    *const *mut c_void,
    *const Ignored,
    *mut *mut c_void,
) -> Result;

/// `ncclNet_vN_t`: all versions have these functions in this order, and differ in the types of some. What
/// newer ones have besides is `Tail`.
#[repr(C)]
pub struct Table<Init, Properties, Listen, Connect, Send, Recv, Tail> {
    pub(crate) name: *const c_char,
    pub(crate) init: Init,
    pub(crate) devices: unsafe extern "C" fn(*mut c_int) -> Result,
    pub(crate) getProperties: unsafe extern "C" fn(c_int, *mut Properties) -> Result,
    pub(crate) listen: Listen,
    pub(crate) connect: Connect,
    pub(crate) accept: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, Ignored) -> Result,
    pub(crate) regMr:
        unsafe extern "C" fn(*mut c_void, *mut c_void, usize, c_int, *mut *mut c_void) -> Result,
    /// Null: this plug-in does not say `NCCL_PTR_DMABUF`.
    pub(crate) regMrDmaBuf: *const c_void,
    pub(crate) deregMr: unsafe extern "C" fn(*mut c_void, *mut c_void) -> Result,
    pub(crate) isend: Send,
    pub(crate) irecv: Recv,
    pub(crate) iflush: unsafe extern "C" fn(
        *mut c_void,
        c_int,
        *const *mut c_void,
        *const c_int,
        *const *mut c_void,
        *mut *mut c_void,
    ) -> Result,
    pub(crate) test: unsafe extern "C" fn(*mut c_void, *mut c_int, *mut c_int) -> Result,
    pub(crate) closeSend: unsafe extern "C" fn(*mut c_void) -> Result,
    pub(crate) closeRecv: unsafe extern "C" fn(*mut c_void) -> Result,
    pub(crate) closeListen: unsafe extern "C" fn(*mut c_void) -> Result,
    /// Null, as the next: nothing of this plug-in runs on a GPU.
    pub(crate) getDeviceMr: *const c_void,
    pub(crate) irecvConsumed: *const c_void,
    pub(crate) tail: Tail,
}

// SAFETY: a table is constant, and the strings that it points to are.
unsafe impl<I, P, L, C, S, R, T> Sync for Table<I, P, L, C, S, R, T> {}

/// The end of the table from version 9 on. Null: devices cannot be joined, as there is one.
#[repr(C)]
pub struct TailV9 {
    pub(crate) makeVDevice: *const c_void,
}

/// The end of the table from version 11 on.
#[repr(C)]
pub struct TailV11 {
    pub(crate) makeVDevice: *const c_void,
    pub(crate) finalize: unsafe extern "C" fn(*mut c_void) -> Result,
    pub(crate) setNetAttr: unsafe extern "C" fn(*mut c_void, Ignored) -> Result,
}

/// Functions whose types differ between versions.
pub(crate) type InitV8 = unsafe extern "C" fn(LogFunction) -> Result;
pub(crate) type InitV10 = unsafe extern "C" fn(LogFunction, Profiler) -> Result;
pub(crate) type InitV11 =
    unsafe extern "C" fn(*mut *mut c_void, u64, Ignored, LogFunction, Profiler) -> Result;
pub(crate) type ListenV8 = unsafe extern "C" fn(c_int, *mut c_void, *mut *mut c_void) -> Result;
pub(crate) type ListenV11 = unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, *mut *mut c_void) -> Result;
pub(crate) type ConnectV8 = unsafe extern "C" fn(c_int, *mut c_void, *mut *mut c_void, Ignored) -> Result;
pub(crate) type ConnectV10 =
    unsafe extern "C" fn(c_int, Ignored, *mut c_void, *mut *mut c_void, Ignored) -> Result;
pub(crate) type ConnectV11 =
    unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, *mut *mut c_void, Ignored) -> Result;
