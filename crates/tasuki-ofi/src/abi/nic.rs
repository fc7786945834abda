//! `struct fid_nic`: what `fi_info` says of a device.
#![allow(missing_docs)] // Fields as in fi_nic(3).

use std::ffi::c_char;

use super::Ptr;
use super::fid::Fid;

/// `struct fi_device_attr`.
#[repr(C)]
pub struct DeviceAttr {
    pub name: *mut c_char,
    pub device_id: *mut c_char,
    pub device_version: *mut c_char,
    pub vendor_id: *mut c_char,
    pub driver: *mut c_char,
    pub firmware: *mut c_char,
}

/// `struct fi_pci_attr`.
#[repr(C)]
pub struct PciAttr {
    pub domain_id: u16,
    pub bus_id: u8,
    pub device_id: u8,
    pub function_id: u8,
}

/// `struct fi_bus_attr`, whose union has one member.
#[repr(C)]
pub struct BusAttr {
    pub bus_type: i32,
    pub pci: PciAttr,
}

/// `struct fi_link_attr`.
#[repr(C)]
pub struct LinkAttr {
    pub address: *mut c_char,
    pub mtu: usize,
    pub speed: usize,
    pub state: i32,
    pub network_type: *mut c_char,
}

/// `struct fid_nic`.
#[repr(C)]
pub struct FidNic {
    pub fid: Fid,
    pub device_attr: *mut DeviceAttr,
    pub bus_attr: *mut BusAttr,
    pub link_attr: *mut LinkAttr,
    pub prov_attr: Ptr,
}
