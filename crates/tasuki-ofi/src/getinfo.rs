//! `fi_getinfo`: an answer, if what this provider offers fits the hints.

use std::ffi::{CStr, c_char};
use std::ptr;

use tasuki_engine::Address;

use crate::names::{self, ANYWHERE};

use crate::abi::*;
use crate::guard::{Errno, Ret};
use crate::hints::{Asked, check};
use crate::host::Host;
use crate::limits::*;
use crate::note;
use crate::provider;

/// One entry, made by the libfabric that asks, or `FI_ENODATA`.
///
/// # Safety
/// The arguments are as fi_getinfo(3) demands.
pub unsafe fn getinfo(
    host: &Host,
    version: u32,
    (node, service): (*const c_char, *const c_char),
    flags: u64,
    hints: *const Info,
    info: *mut *mut Info,
) -> Ret {
    if info.is_null() {
        return Err(Errno(FI_EINVAL));
    }
    // SAFETY: null or valid hints, as the caller promises.
    let asked = unsafe { check(version, hints.as_ref()) }.map_err(|what| {
        note!("fi_getinfo: no: {what}");
        Errno(FI_ENODATA)
    })?;
    // SAFETY: names are null or zero-terminated, the hints null or valid, as the caller promises.
    let ends = unsafe {
        let name = |text: *const c_char| (!text.is_null()).then(|| CStr::from_ptr(text));
        ends(name(node), name(service), flags, hints.as_ref())
    }?;
    let entry = host.alloc_info();
    if entry.is_null() {
        return Err(Errno(FI_ENOMEM));
    }
    // SAFETY: just allocated, and nobody else has it.
    if unsafe { fill(&mut *entry, &asked, &ends) }.is_none() {
        // SAFETY: of alloc_info; every pointer in it is libfabric's or of malloc.
        unsafe { host.free_info(entry) };
        return Err(Errno(FI_ENOMEM));
    }
    // SAFETY: the caller's place for the result.
    unsafe { info.write(entry) };
    Ok(())
}

/// The addresses of an answer: of the endpoint to be opened, and of a peer.
struct Ends {
    source: Address,
    destination: Option<Address>,
}

/// What node and service name, and what the hints say where these do not. fi_getinfo(3): with `FI_SOURCE`
/// they name the source, otherwise the destination.
///
/// # Safety
/// Addresses in the hints are null or have the lengths beside them.
unsafe fn ends(node: Option<&CStr>, service: Option<&CStr>, flags: u64, hints: Option<&Info>) -> Ret<Ends> {
    let names_source = flags & FI_SOURCE != 0;
    let named = if node.is_some() || service.is_some() {
        Some(named(node, service, flags)?)
    } else if names_source {
        return Err(Errno(FI_EINVAL));
    } else {
        None
    };
    // SAFETY: by the contract.
    let hinted =
        |of: fn(&Info) -> (Ptr, usize)| unsafe { hints.map_or(Ok(None), |hints| address_in(of(hints))) };
    let (source, destination) = match named {
        Some(source) if names_source => {
            (Some(source), hinted(|hints| (hints.dest_addr, hints.dest_addrlen))?)
        }
        Some(destination) => (hinted(|hints| (hints.src_addr, hints.src_addrlen))?, Some(destination)),
        None => (
            hinted(|hints| (hints.src_addr, hints.src_addrlen))?,
            hinted(|hints| (hints.dest_addr, hints.dest_addrlen))?,
        ),
    };
    Ok(Ends { source: source.unwrap_or_else(|| names::location(ANYWHERE)), destination })
}

/// The location that node and service name; a node may also be the hexadecimal text of a destination's
/// address.
fn named(node: Option<&CStr>, service: Option<&CStr>, flags: u64) -> Ret<Address> {
    let is_source = flags & FI_SOURCE != 0;
    if !is_source && let Some(address) = node.and_then(|node| node.to_str().ok()?.parse().ok()) {
        return Ok(address);
    }
    let at = names::resolve(node, service, flags & FI_NUMERICHOST != 0, is_source).map_err(|error| {
        note!("fi_getinfo: no: node {node:?}, service {service:?}: {error}");
        Errno(FI_ENODATA)
    })?;
    if is_source && !names::is_local(at.ip()) {
        note!("fi_getinfo: no: source {} is not an address of this host", at.ip());
        return Err(Errno(FI_ENODATA));
    }
    Ok(names::location(at))
}

/// An address of the hints; `None` if there is none, `FI_ENODATA` if it is not one of this provider's.
///
/// # Safety
/// The pointer is null or has as many bytes as said.
unsafe fn address_in((bytes, len): (Ptr, usize)) -> Ret<Option<Address>> {
    if bytes.is_null() || len == 0 {
        return Ok(None);
    }
    // SAFETY: by the contract.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), len) };
    Address::from_bytes(bytes).map(Some).map_err(|_| Errno(FI_ENODATA))
}

/// Fills in an entry of `fi_allocinfo`; `None` if memory is out.
///
/// # Safety
/// The attributes of the entry are null or valid.
unsafe fn fill(info: &mut Info, asked: &Asked, ends: &Ends) -> Option<()> {
    info.caps = asked.caps;
    info.addr_format = FI_PROV_SPECIFIC;
    info.src_addr = duplicate(&ends.source.to_bytes())?;
    info.src_addrlen = Address::LEN;
    if let Some(address) = ends.destination {
        info.dest_addr = duplicate(&address.to_bytes())?;
        info.dest_addrlen = Address::LEN;
    }
    // SAFETY: by the contract; fi_allocinfo allocates all of these.
    unsafe {
        fill_tx(info.tx_attr.as_mut()?, asked);
        fill_rx(info.rx_attr.as_mut()?, asked);
        fill_ep(info.ep_attr.as_mut()?, asked);
        fill_domain(info.domain_attr.as_mut()?, asked)?;
        let fabric = info.fabric_attr.as_mut()?;
        // The core fills in the provider's name and the version asked for.
        fabric.name = duplicate(NAME.to_bytes_with_nul())?.cast();
        fabric.prov_version = provider::version();
    }
    Some(())
}

fn fill_tx(attr: &mut TxAttr, asked: &Asked) {
    attr.caps = asked.caps & TX_CAPS;
    attr.op_flags = asked.tx_flags;
    attr.msg_order = MSG_ORDER;
    attr.inject_size = INJECT_SIZE;
    attr.size = asked.tx_size;
    attr.iov_limit = IOV_LIMIT;
    attr.rma_iov_limit = if asked.caps & (FI_RMA | FI_ATOMIC) != 0 { IOV_LIMIT } else { 0 };
    // Packets carry no class but that of `TASUKI_PRIORITY`: whatever class a program wishes, the answer says
    // that it has none. (libfabric's own tests wish for some, and do without.)
    attr.tclass = FI_TC_UNSPEC;
}

fn fill_rx(attr: &mut RxAttr, asked: &Asked) {
    attr.caps = asked.caps & RX_CAPS;
    attr.op_flags = asked.rx_flags;
    attr.msg_order = MSG_ORDER;
    attr.size = asked.rx_size;
    attr.iov_limit = IOV_LIMIT;
}

fn fill_ep(attr: &mut EpAttr, asked: &Asked) {
    attr.ep_type = FI_EP_RDM;
    attr.protocol = PROTOCOL;
    attr.protocol_version = 1;
    attr.max_msg_size = MAX_MSG_SIZE;
    attr.mem_tag_format = asked.tag_format;
    attr.tx_ctx_cnt = 1;
    attr.rx_ctx_cnt = 1;
}

fn fill_domain(attr: &mut DomainAttr, asked: &Asked) -> Option<()> {
    attr.name = duplicate(NAME.to_bytes_with_nul())?.cast();
    attr.threading = asked.threading;
    attr.control_progress = asked.control_progress;
    attr.data_progress = asked.data_progress;
    attr.resource_mgmt = FI_RM_ENABLED;
    attr.av_type = asked.av_type;
    attr.mr_mode = asked.mr_mode;
    attr.mr_key_size = size_of::<u64>();
    attr.cq_data_size = CQ_DATA_SIZE;
    attr.cq_cnt = OBJECT_COUNT.max(asked.counts.cq_cnt);
    attr.ep_cnt = OBJECT_COUNT.max(asked.counts.ep_cnt);
    attr.tx_ctx_cnt = OBJECT_COUNT.max(asked.counts.tx_ctx_cnt);
    attr.rx_ctx_cnt = OBJECT_COUNT.max(asked.counts.rx_ctx_cnt);
    attr.max_ep_tx_ctx = 1;
    attr.max_ep_rx_ctx = 1;
    attr.cntr_cnt = OBJECT_COUNT.max(asked.counts.cntr_cnt);
    attr.mr_iov_limit = IOV_LIMIT;
    attr.caps = DOMAIN_CAPS;
    attr.mr_cnt = QUEUE_SIZE.max(asked.counts.mr_cnt);
    attr.tclass = FI_TC_UNSPEC;
    Some(())
}

/// A copy of malloc, for `fi_freeinfo` to free.
fn duplicate(bytes: &[u8]) -> Option<Ptr> {
    // SAFETY: malloc takes any size.
    let copy = unsafe { libc::malloc(bytes.len()) };
    if copy.is_null() {
        return None;
    }
    // SAFETY: as many bytes as were allocated, just now.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), copy.cast(), bytes.len()) };
    Some(copy)
}
