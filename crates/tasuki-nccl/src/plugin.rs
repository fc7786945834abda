//! The tables that NCCL looks for, and the functions of which versions have their own types.
#![allow(non_upper_case_globals)]

use std::ffi::{c_int, c_void};
use std::ptr::null;
use std::sync::Arc;

use crate::abi::*;
use crate::border::call;
use crate::calls;
use crate::context::{self, Context};
use crate::error::{Code, Error};
use crate::log::{Log, LogFunction};
use crate::properties;
use crate::transfers;

macro_rules! table {
    ($getProperties:expr, $init:expr, $listen:expr, $connect:expr, $isend:expr, $irecv:expr, $tail:expr) => {
        Table {
            name: c"Tasuki".as_ptr(),
            init: $init,
            devices: calls::devices,
            getProperties: $getProperties,
            listen: $listen,
            connect: $connect,
            accept: calls::accept,
            regMr: transfers::register,
            regMrDmaBuf: null(),
            deregMr: transfers::deregister,
            isend: $isend,
            irecv: $irecv,
            iflush: transfers::flush,
            test: transfers::test,
            closeSend: calls::close_comm,
            closeRecv: calls::close_comm,
            closeListen: calls::close_listener,
            getDeviceMr: null(),
            irecvConsumed: null(),
            tail: $tail,
        }
    };
}

const NO_JOINING: TailV9 = TailV9 { makeVDevice: null() };
const FINALIZE: TailV11 =
    TailV11 { makeVDevice: null(), finalize: calls::finalize, setNetAttr: set_attributes };

/// For NCCL 2.20 and newer.
#[unsafe(no_mangle)]
pub static ncclNetPlugin_v8: Table<InitV8, PropertiesV8, ListenV8, ConnectV8, SendV8, RecvV8, ()> =
    table!(properties_v8, init_v8, listen_v8, connect_v8, send_v8, recv_v8, ());

/// For NCCL 2.24 and newer.
#[unsafe(no_mangle)]
pub static ncclNetPlugin_v9: Table<InitV8, PropertiesV9<4>, ListenV8, ConnectV8, SendV9, RecvV9, TailV9> =
    table!(properties_v9, init_v8, listen_v8, connect_v8, send_v9, recv_v9, NO_JOINING);

/// For NCCL 2.26 and newer.
#[unsafe(no_mangle)]
pub static ncclNetPlugin_v10: Table<
    InitV10,
    PropertiesV9<4>,
    ListenV8,
    ConnectV10,
    SendV10,
    RecvV10,
    TailV9,
> = table!(properties_v9, init_v10, listen_v8, connect_v10, send_v10, recv_v10, NO_JOINING);

/// For NCCL 2.28 and newer.
#[unsafe(no_mangle)]
pub static ncclNetPlugin_v11: Table<
    InitV11,
    PropertiesV11,
    ListenV11,
    ConnectV11,
    SendV10,
    RecvV10,
    TailV11,
> = table!(properties_v11, init_v11, listen_v11, connect_v11, send_v10, recv_v10, FINALIZE);

/// For NCCL 2.30 and newer.
#[unsafe(no_mangle)]
pub static ncclNetPlugin_v12: Table<
    InitV11,
    PropertiesV12,
    ListenV11,
    ConnectV11,
    SendV10,
    RecvV10,
    TailV11,
> = table!(properties_v12, init_v11, listen_v11, connect_v11, send_v10, recv_v10, FINALIZE);

unsafe extern "C" fn init_v8(log: LogFunction) -> Result {
    let log = Log(log);
    call(|error| log.warn(&error.text), || context::open_for_process(log))
}

unsafe extern "C" fn init_v10(log: LogFunction, _: Profiler) -> Result {
    // SAFETY: it asks for nothing.
    unsafe { init_v8(log) }
}

unsafe extern "C" fn init_v11(
    context: *mut *mut c_void,
    _communicator: u64,
    _: Ignored,
    log: LogFunction,
    _: Profiler,
) -> Result {
    // SAFETY: NCCL gives a place to write to.
    unsafe { calls::open(context, log) }
}

unsafe extern "C" fn properties_v8(device: c_int, into: *mut PropertiesV8) -> Result {
    // SAFETY: NCCL gives a place to write to.
    unsafe { calls::properties(device, into, || properties::v8(properties::rate())) }
}

unsafe extern "C" fn properties_v9(device: c_int, into: *mut PropertiesV9<4>) -> Result {
    // SAFETY: NCCL gives a place to write to.
    unsafe { calls::properties(device, into, || properties::v9(properties::rate())) }
}

unsafe extern "C" fn properties_v11(device: c_int, into: *mut PropertiesV11) -> Result {
    // SAFETY: NCCL gives a place to write to.
    unsafe { calls::properties(device, into, || properties::v11(properties::rate())) }
}

unsafe extern "C" fn properties_v12(device: c_int, into: *mut PropertiesV12) -> Result {
    // SAFETY: NCCL gives a place to write to.
    unsafe { calls::properties(device, into, || properties::v12(properties::rate())) }
}

/// Runs `body` with a context, or fails with what keeps it from being there.
fn with(
    context: std::result::Result<Arc<Context>, Error>,
    body: impl FnOnce(&Arc<Context>) -> Result,
) -> Result {
    context.map_or_else(|error| error.code as Result, |context| body(&context))
}

unsafe extern "C" fn listen_v8(device: c_int, handle: *mut c_void, into: *mut *mut c_void) -> Result {
    // SAFETY: NCCL gives a handle and a place to write to.
    with(context::of_process(), |context| unsafe { calls::listen(context, device, handle, into) })
}

unsafe extern "C" fn listen_v11(
    of: *mut c_void,
    device: c_int,
    handle: *mut c_void,
    into: *mut *mut c_void,
) -> Result {
    // SAFETY: NCCL gives the context of `init`, a handle and a place to write to.
    unsafe { with(calls::context(of), |context| calls::listen(context, device, handle, into)) }
}

unsafe extern "C" fn connect_v8(
    device: c_int,
    handle: *mut c_void,
    into: *mut *mut c_void,
    _: Ignored,
) -> Result {
    // SAFETY: NCCL gives a handle and a place to write to.
    with(context::of_process(), |context| unsafe { calls::connect(context, device, handle, into) })
}

unsafe extern "C" fn connect_v10(
    device: c_int,
    _: Ignored,
    handle: *mut c_void,
    into: *mut *mut c_void,
    offload: Ignored,
) -> Result {
    // SAFETY: as NCCL promises for this version.
    unsafe { connect_v8(device, handle, into, offload) }
}

unsafe extern "C" fn connect_v11(
    of: *mut c_void,
    device: c_int,
    handle: *mut c_void,
    into: *mut *mut c_void,
    _: Ignored,
) -> Result {
    // SAFETY: NCCL gives the context of `init`, a handle and a place to write to.
    unsafe { with(calls::context(of), |context| calls::connect(context, device, handle, into)) }
}

unsafe extern "C" fn send_v8(
    comm: *mut c_void,
    data: *mut c_void,
    len: c_int,
    tag: c_int,
    _: *mut c_void,
    request: *mut *mut c_void,
) -> Result {
    // A negative length is none that memory can have; the engine's bound is above any that an int can say.
    let Ok(len) = usize::try_from(len) else { return Code::Argument as Result };
    // SAFETY: as NCCL promises.
    unsafe { transfers::send(comm, data, len, tag, request) }
}

unsafe extern "C" fn send_v9(
    comm: *mut c_void,
    data: *mut c_void,
    len: usize,
    tag: c_int,
    _: *mut c_void,
    request: *mut *mut c_void,
) -> Result {
    // SAFETY: as NCCL promises.
    unsafe { transfers::send(comm, data, len, tag, request) }
}

unsafe extern "C" fn send_v10(
    comm: *mut c_void,
    data: *mut c_void,
    len: usize,
    tag: c_int,
    _: *mut c_void,
    _: Ignored,
    request: *mut *mut c_void,
) -> Result {
    // SAFETY: as NCCL promises.
    unsafe { transfers::send(comm, data, len, tag, request) }
}

unsafe extern "C" fn recv_v8(
    comm: *mut c_void,
    count: c_int,
    data: *const *mut c_void,
    lens: *const c_int,
    tags: *const c_int,
    _: *const *mut c_void,
    request: *mut *mut c_void,
) -> Result {
    let negative = |_| Error::new(Code::Argument, "the length of a receive is negative");
    // SAFETY: as NCCL promises: `count` lengths, of which `transfers::recv` asks.
    unsafe {
        let len = |at: usize| {
            let lens = lens.as_ref().ok_or_else(|| Error::null("the lengths"))? as *const c_int;
            usize::try_from(lens.add(at).read()).map_err(negative)
        };
        transfers::recv(comm, count, data, len, tags, request)
    }
}

unsafe extern "C" fn recv_v9(
    comm: *mut c_void,
    count: c_int,
    data: *const *mut c_void,
    lens: *const usize,
    tags: *const c_int,
    _: *const *mut c_void,
    request: *mut *mut c_void,
) -> Result {
    // SAFETY: as NCCL promises: `count` lengths, of which `transfers::recv` asks.
    unsafe {
        let len = |at: usize| {
            let lens = lens.as_ref().ok_or_else(|| Error::null("the lengths"))? as *const usize;
            Ok(lens.add(at).read())
        };
        transfers::recv(comm, count, data, len, tags, request)
    }
}

unsafe extern "C" fn recv_v10(
    comm: *mut c_void,
    count: c_int,
    data: *const *mut c_void,
    lens: *const usize,
    tags: *const c_int,
    handles: *const *mut c_void,
    _: *const Ignored,
    request: *mut *mut c_void,
) -> Result {
    // SAFETY: as NCCL promises for this version.
    unsafe { recv_v9(comm, count, data, lens, tags, handles, request) }
}

/// What NCCL says of a communicator's traffic changes nothing: the engine adapts to what it sees.
unsafe extern "C" fn set_attributes(_: *mut c_void, _: Ignored) -> Result {
    0
}
