//! Numbers of `rdma/fabric.h`, `fi_errno.h`, `fi_domain.h`, `fi_endpoint.h` and `fi_eq.h`.
#![allow(missing_docs)] // Names and meanings are those of the headers, fi_getinfo(3) and fi_endpoint(3).

pub const FI_MSG: u64 = 1 << 1;
pub const FI_RMA: u64 = 1 << 2;
pub const FI_TAGGED: u64 = 1 << 3;
pub const FI_ATOMIC: u64 = 1 << 4;
pub const FI_READ: u64 = 1 << 8;
pub const FI_WRITE: u64 = 1 << 9;
pub const FI_RECV: u64 = 1 << 10;
pub const FI_SEND: u64 = 1 << 11;
pub const FI_TRANSMIT: u64 = FI_SEND;
pub const FI_REMOTE_READ: u64 = 1 << 12;
pub const FI_REMOTE_WRITE: u64 = 1 << 13;
pub const FI_MULTI_RECV: u64 = 1 << 16;
pub const FI_REMOTE_CQ_DATA: u64 = 1 << 17;
pub const FI_MORE: u64 = 1 << 18;
pub const FI_PEEK: u64 = 1 << 19;
pub const FI_PRIORITY: u64 = 1 << 22;
pub const FI_COMPLETION: u64 = 1 << 24;
pub const FI_INJECT: u64 = 1 << 25;
pub const FI_INJECT_COMPLETE: u64 = 1 << 26;
pub const FI_TRANSMIT_COMPLETE: u64 = 1 << 27;
pub const FI_DELIVERY_COMPLETE: u64 = 1 << 28;
pub const FI_AFFINITY: u64 = 1 << 29;
pub const FI_MATCH_COMPLETE: u64 = 1 << 31;
/// Flag of `fi_getinfo`.
pub const FI_NUMERICHOST: u64 = 1 << 55;
pub const FI_LOCAL_COMM: u64 = 1 << 51;
pub const FI_REMOTE_COMM: u64 = 1 << 52;
pub const FI_SOURCE: u64 = 1 << 57;
pub const FI_DIRECTED_RECV: u64 = 1 << 59;
/// Flag of a call, which shares its bit with a capability.
pub const FI_CLAIM: u64 = 1 << 59;
/// Flag of a call.
pub const FI_DISCARD: u64 = 1 << 58;
/// Flag of `fi_query_atomic`.
pub const FI_FETCH_ATOMIC: u64 = 1 << 58;
/// Flag of `fi_query_atomic`.
pub const FI_COMPARE_ATOMIC: u64 = 1 << 59;
/// Flag of `fi_ep_bind`.
pub const FI_SELECTIVE_COMPLETION: u64 = 1 << 59;
/// Flag of `fi_av_insert`.
pub const FI_SYNC_ERR: u64 = 1 << 58;
/// Flag of `fi_av_open`.
pub const FI_SYMMETRIC: u64 = 1 << 59;

pub const FI_FORMAT_UNSPEC: u32 = 0;
pub const FI_PROV_SPECIFIC: u32 = 1 << 31;
pub const FI_ADDR_UNSPEC: u64 = u64::MAX;
pub const FI_ADDR_NOTAVAIL: u64 = u64::MAX;

pub const FI_AV_UNSPEC: i32 = 0;
pub const FI_AV_MAP: i32 = 1;
pub const FI_AV_TABLE: i32 = 2;
pub const FI_MR_BASIC: i32 = 1;
pub const FI_MR_SCALABLE: i32 = 2;
pub const FI_PROGRESS_UNSPEC: i32 = 0;
pub const FI_PROGRESS_AUTO: i32 = 1;
pub const FI_PROGRESS_MANUAL: i32 = 2;
/// Since libfabric 2.0: one thread at a time makes progress of both kinds.
pub const FI_PROGRESS_CONTROL_UNIFIED: i32 = 3;
pub const FI_THREAD_UNSPEC: i32 = 0;
pub const FI_THREAD_SAFE: i32 = 1;
pub const FI_THREAD_DOMAIN: i32 = 3;
/// The largest number of `enum fi_threading` in libfabric 1.17.
pub const FI_THREAD_ENDPOINT: i32 = 5;
pub const FI_RM_ENABLED: i32 = 2;
pub const FI_TC_UNSPEC: u32 = 0;
pub const FI_ORDER_SAS: u64 = 1 << 8;
pub const FI_EP_UNSPEC: i32 = 0;
pub const FI_EP_RDM: i32 = 3;
/// 64 fields of one bit each: all bits of a tag are significant.
pub const FI_TAG_GENERIC: u64 = 0xAAAA_AAAA_AAAA_AAAA;

pub const FI_CLASS_FABRIC: usize = 1;
pub const FI_CLASS_DOMAIN: usize = 2;
pub const FI_CLASS_EP: usize = 3;
pub const FI_CLASS_AV: usize = 11;
pub const FI_CLASS_MR: usize = 12;
pub const FI_CLASS_EQ: usize = 13;
pub const FI_CLASS_CQ: usize = 14;
pub const FI_CLASS_CNTR: usize = 15;

/// Command of `fi_control`.
pub const FI_ENABLE: i32 = 6;
pub const FI_GET_RAW_MR: i32 = 8;
pub const FI_MAP_RAW_MR: i32 = 9;
pub const FI_UNMAP_KEY: i32 = 10;
/// Command of `fi_control`.
pub const FI_GETWAITOBJ: i32 = 16;

/// Level of `fi_getopt`, `fi_setopt`.
pub const FI_OPT_ENDPOINT: i32 = 0;
pub const FI_OPT_MIN_MULTI_RECV: i32 = 0;
pub const FI_OPT_CM_DATA_SIZE: i32 = 1;
pub const FI_OPT_TX_SIZE: i32 = 6;
pub const FI_OPT_RX_SIZE: i32 = 7;

pub const FI_CQ_FORMAT_UNSPEC: i32 = 0;
pub const FI_CQ_FORMAT_CONTEXT: i32 = 1;
pub const FI_CQ_FORMAT_MSG: i32 = 2;
pub const FI_CQ_FORMAT_DATA: i32 = 3;
pub const FI_CQ_FORMAT_TAGGED: i32 = 4;
pub const FI_CNTR_EVENTS_COMP: i32 = 0;
pub const FI_WAIT_NONE: i32 = 0;
pub const FI_WAIT_UNSPEC: i32 = 1;
pub const FI_WAIT_YIELD: i32 = 5;

pub const FI_EINTR: i32 = libc::EINTR;
pub const FI_EAGAIN: i32 = libc::EAGAIN;
pub const FI_ENOMEM: i32 = libc::ENOMEM;
pub const FI_EACCES: i32 = libc::EACCES;
pub const FI_EBUSY: i32 = libc::EBUSY;
pub const FI_EINVAL: i32 = libc::EINVAL;
pub const FI_ENODEV: i32 = libc::ENODEV;
pub const FI_EADDRNOTAVAIL: i32 = libc::EADDRNOTAVAIL;
pub const FI_ENOSYS: i32 = libc::ENOSYS;
pub const FI_ENOMSG: i32 = libc::ENOMSG;
pub const FI_ENODATA: i32 = libc::ENODATA;
pub const FI_EMSGSIZE: i32 = libc::EMSGSIZE;
pub const FI_ENOPROTOOPT: i32 = libc::ENOPROTOOPT;
pub const FI_EOPNOTSUPP: i32 = libc::EOPNOTSUPP;
pub const FI_ECONNRESET: i32 = libc::ECONNRESET;
pub const FI_ESHUTDOWN: i32 = libc::ESHUTDOWN;
pub const FI_ETIMEDOUT: i32 = libc::ETIMEDOUT;
pub const FI_ECANCELED: i32 = libc::ECANCELED;
pub const FI_EOTHER: i32 = 256;
pub const FI_ETOOSMALL: i32 = 257;
pub const FI_EOPBADSTATE: i32 = 258;
pub const FI_EAVAIL: i32 = 259;
pub const FI_EBADFLAGS: i32 = 260;
pub const FI_ENOCQ: i32 = 263;
pub const FI_ETRUNC: i32 = 265;
pub const FI_ENOKEY: i32 = 266;
pub const FI_ENOAV: i32 = 267;
