//! `struct fi_info`, its attributes, and `struct fi_provider`.
#![allow(missing_docs)] // Fields as in fi_getinfo(3), fi_endpoint(3), fi_domain(3), fi_fabric(3).

use std::ffi::{c_char, c_void};

use super::Ptr;
use super::fid::{Fid, FidFabric};

/// `struct fi_tx_attr`.
#[repr(C)]
pub struct TxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub tclass: u32,
}

/// `struct fi_rx_attr`.
#[repr(C)]
pub struct RxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
    pub iov_limit: usize,
}

/// `struct fi_ep_attr`.
#[repr(C)]
pub struct EpAttr {
    pub ep_type: i32,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
    pub msg_prefix_size: usize,
    pub max_order_raw_size: usize,
    pub max_order_war_size: usize,
    pub max_order_waw_size: usize,
    pub mem_tag_format: u64,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub auth_key_size: usize,
    pub auth_key: *mut u8,
}

/// `struct fi_domain_attr`, up to what 1.17 has.
#[repr(C)]
pub struct DomainAttr {
    pub domain: *mut c_void,
    pub name: *mut c_char,
    pub threading: i32,
    pub control_progress: i32,
    pub data_progress: i32,
    pub resource_mgmt: i32,
    pub av_type: i32,
    pub mr_mode: i32,
    pub mr_key_size: usize,
    pub cq_data_size: usize,
    pub cq_cnt: usize,
    pub ep_cnt: usize,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub max_ep_tx_ctx: usize,
    pub max_ep_rx_ctx: usize,
    pub max_ep_stx_ctx: usize,
    pub max_ep_srx_ctx: usize,
    pub cntr_cnt: usize,
    pub mr_iov_limit: usize,
    pub caps: u64,
    pub mode: u64,
    pub auth_key: *mut u8,
    pub auth_key_size: usize,
    pub max_err_data: usize,
    pub mr_cnt: usize,
    pub tclass: u32,
}

/// `struct fi_fabric_attr`.
#[repr(C)]
pub struct FabricAttr {
    pub fabric: *mut c_void,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}

/// `struct fi_info`. Only libfabric allocates it, because newer versions have more fields.
#[repr(C)]
pub struct Info {
    pub next: *mut Info,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: Ptr,
    pub dest_addr: Ptr,
    pub handle: *mut Fid,
    pub tx_attr: *mut TxAttr,
    pub rx_attr: *mut RxAttr,
    pub ep_attr: *mut EpAttr,
    pub domain_attr: *mut DomainAttr,
    pub fabric_attr: *mut FabricAttr,
    pub nic: *mut c_void,
}

/// The type of fi_getinfo(3), of libfabric and of a provider.
pub type GetInfo = unsafe extern "C" fn(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const Info,
    info: *mut *mut Info,
) -> i32;
/// The type of fi_fabric(3), of libfabric and of a provider.
pub type OpenFabric =
    unsafe extern "C" fn(attr: *mut FabricAttr, fabric: *mut *mut FidFabric, context: Ptr) -> i32;

/// `struct fi_provider`, which is the same in all versions.
#[repr(C)]
pub struct Provider {
    pub version: u32,
    pub fi_version: u32,
    /// For libfabric's own use.
    pub context: [Ptr; 4],
    pub name: *const c_char,
    pub getinfo: GetInfo,
    pub fabric: OpenFabric,
    pub cleanup: unsafe extern "C" fn(),
}
