//! `fi_getinfo`: what there is, if it fits what is asked for.

use std::ffi::{CStr, c_char};
use std::ptr;

use tasuki_engine::Address;

use crate::abi::*;
use crate::guard::{Errno, Ret};
use crate::hints::{Asked, check};
use crate::limits::*;
use crate::note;
use crate::provider;

/// One entry, or `FI_ENODATA`.
///
/// # Safety
/// The arguments are as fi_getinfo(3) demands.
pub unsafe fn getinfo(
    version: u32,
    node: *const c_char,
    _service: *const c_char,
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
    // SAFETY: null or zero-terminated.
    let node = unsafe { node_address(node, flags, hints.as_ref()) }?;
    let host = provider::host().ok_or(Errno(FI_ENODATA))?;
    let entry = host.alloc_info();
    if entry.is_null() {
        return Err(Errno(FI_ENOMEM));
    }
    // SAFETY: just allocated, and nobody else has it.
    if unsafe { fill(&mut *entry, &asked, node) }.is_none() {
        // SAFETY: of alloc_info; every pointer in it is libfabric's or of malloc.
        unsafe { host.free_info(entry) };
        return Err(Errno(FI_ENOMEM));
    }
    // SAFETY: the caller's place for the result.
    unsafe { info.write(entry) };
    Ok(())
}

/// The destination: of hints, or of `node`, which must be an address in hexadecimal: names and ports do not tell the secret
/// without which nobody is reached.
unsafe fn node_address(node: *const c_char, flags: u64, hints: Option<&Info>) -> Ret<Option<Address>> {
    if node.is_null() {
        let Some(hints) = hints.filter(|hints| !hints.dest_addr.is_null() && hints.dest_addrlen != 0) else {
            return Ok(None);
        };
        if hints.dest_addrlen != Address::LEN {
            return Err(Errno(FI_ENODATA));
        }
        // SAFETY: as many bytes as the caller says.
        let bytes = unsafe { std::slice::from_raw_parts(hints.dest_addr.cast::<u8>(), hints.dest_addrlen) };
        return Address::from_bytes(bytes).map(Some).map_err(|_| Errno(FI_ENODATA));
    }
    if flags & FI_SOURCE != 0 {
        return Err(Errno(FI_ENODATA));
    }
    // SAFETY: not null, so zero-terminated.
    let text = unsafe { CStr::from_ptr(node) }.to_str().map_err(|_| Errno(FI_ENODATA))?;
    text.parse().map(Some).map_err(|_| Errno(FI_ENODATA))
}

/// None if memory is out.
unsafe fn fill(info: &mut Info, asked: &Asked, node: Option<Address>) -> Option<()> {
    info.caps = asked.caps;
    info.addr_format = FI_PROV_SPECIFIC;
    if let Some(address) = node {
        info.dest_addr = duplicate(&address.to_bytes())?;
        info.dest_addrlen = Address::LEN;
    }
    // SAFETY: fi_allocinfo allocates all of these.
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
    attr.rma_iov_limit = if asked.caps & FI_RMA != 0 { IOV_LIMIT } else { 0 };
    attr.tclass = asked.tclass;
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
    attr.cq_cnt = OBJECT_COUNT;
    attr.ep_cnt = OBJECT_COUNT;
    attr.tx_ctx_cnt = OBJECT_COUNT;
    attr.rx_ctx_cnt = OBJECT_COUNT;
    attr.max_ep_tx_ctx = 1;
    attr.max_ep_rx_ctx = 1;
    attr.cntr_cnt = OBJECT_COUNT;
    attr.mr_iov_limit = IOV_LIMIT;
    attr.caps = DOMAIN_CAPS;
    attr.mr_cnt = QUEUE_SIZE;
    attr.tclass = asked.tclass;
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
