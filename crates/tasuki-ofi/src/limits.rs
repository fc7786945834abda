//! What this provider offers: names, numbers and capabilities. Answers to `fi_getinfo` and checks of calls
//! use them.

use std::ffi::CStr;

use crate::abi::*;

/// Name of the provider, its fabric and its domain.
pub const NAME: &CStr = c"tasuki";
/// Largest message, bytes. It is larger than any memory, because some MPIs cut longer messages into pieces; a
/// quarter of the type's range leaves MPIs room to add to it.
pub const MAX_MSG_SIZE: usize = usize::MAX >> 2;
/// Largest message for `fi_inject`, bytes. Injected messages are copied.
pub const INJECT_SIZE: usize = 4096;
/// Most pieces of memory in one message, one remote access or one registration.
pub const IOV_LIMIT: usize = 16;
/// Operations that may be outstanding in either direction. There is no limit in fact; programs size tables by
/// this.
pub const QUEUE_SIZE: usize = 65536;
/// Objects of a kind in a domain. There is no limit in fact.
pub const OBJECT_COUNT: usize = 1024;
/// Bytes of remote completion data.
pub const CQ_DATA_SIZE: usize = 8;
/// A receive of several messages (`FI_MULTI_RECV`) ends when fewer bytes than this are free in its buffer,
/// unless the program says otherwise.
pub const MIN_MULTI_RECV: usize = 64;
/// Number of the protocol, which is this provider's own.
pub const PROTOCOL: u32 = FI_PROV_SPECIFIC | 0x7461;

/// Capabilities that a program must ask for.
pub const PRIMARY_CAPS: u64 = FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV | RMA_CAPS;
/// Capabilities of one-sided access.
pub const RMA_CAPS: u64 = FI_RMA | FI_ATOMIC | RMA_DIRECTIONS;
/// What `FI_RMA` or `FI_ATOMIC` alone stands for.
pub const RMA_DIRECTIONS: u64 = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
/// Capabilities that are there whether a program asks for them or not.
pub const SECONDARY_CAPS: u64 = FI_MULTI_RECV | FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM;
/// All capabilities.
pub const CAPS: u64 = PRIMARY_CAPS | SECONDARY_CAPS;
/// Capabilities of a transmit context.
pub const TX_CAPS: u64 = FI_MSG | FI_TAGGED | FI_SEND | FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE;
/// Capabilities of a receive context.
pub const RX_CAPS: u64 = FI_MSG
    | FI_TAGGED
    | FI_RECV
    | FI_DIRECTED_RECV
    | FI_MULTI_RECV
    | FI_SOURCE
    | FI_RMA
    | FI_ATOMIC
    | FI_REMOTE_READ
    | FI_REMOTE_WRITE;
/// Capabilities of a domain.
pub const DOMAIN_CAPS: u64 = FI_LOCAL_COMM | FI_REMOTE_COMM;

/// Flags of sends and of one-sided access, of a call and as an endpoint's default. `FI_FENCE` is not among
/// them: nothing waits for what was posted before.
pub const TX_FLAGS: u64 = FI_COMPLETION
    | FI_INJECT
    | FI_INJECT_COMPLETE
    | FI_TRANSMIT_COMPLETE
    | FI_DELIVERY_COMPLETE
    | FI_MATCH_COMPLETE
    | FI_REMOTE_CQ_DATA
    | FI_MORE
    | FI_PRIORITY
    | FI_AFFINITY;
/// Flags of receives as an endpoint's default.
pub const RX_FLAGS: u64 =
    FI_COMPLETION | FI_TRANSMIT_COMPLETE | FI_MULTI_RECV | FI_MORE | FI_AFFINITY | FI_PRIORITY;
/// Flags of a call that receives.
pub const RX_CALL_FLAGS: u64 = RX_FLAGS | FI_PEEK | FI_CLAIM | FI_DISCARD;
/// Messages of one sender to one receiver are matched in the order in which they were sent.
pub const MSG_ORDER: u64 = FI_ORDER_SAS;
