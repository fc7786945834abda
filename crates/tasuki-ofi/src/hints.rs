//! What a program asks for with `fi_getinfo`, and whether this provider has it. fi_getinfo(3): a hint that is
//! not zero must be met, or there is no answer. Only fields that libfabric 1.17 has are read.

use std::ffi::{CStr, c_char};

use crate::abi::*;
use crate::limits::*;

/// What the answer takes from the hints, or would say without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Capabilities to be enabled.
    pub caps: u64,
    /// Flags of sends whose call brings none.
    pub tx_flags: u64,
    /// Flags of receives whose call brings none.
    pub rx_flags: u64,
    /// Sends that may be outstanding.
    pub tx_size: usize,
    /// Receives that may be outstanding.
    pub rx_size: usize,
    /// Which bits of tags the program uses. All 64 are significant whatever it says.
    pub tag_format: u64,
    /// `enum fi_threading`. Everything is thread-safe; a program that promises to make one call at a time
    /// pays for no locks.
    pub threading: i32,
    /// `enum fi_progress`.
    pub control_progress: i32,
    /// `enum fi_progress`.
    pub data_progress: i32,
    /// `enum fi_av_type`.
    pub av_type: i32,
    /// `enum fi_mr_mode` for programs written for libfabric before 1.5; otherwise 0: nothing is demanded of
    /// the program.
    pub mr_mode: i32,
    /// Objects that the program plans to open.
    pub counts: Counts,
}

/// Fields of `struct fi_domain_attr` that count objects. Nothing limits them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub cq_cnt: usize,
    pub ep_cnt: usize,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub cntr_cnt: usize,
    pub mr_cnt: usize,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            // Intel MPI 2021, shown atomic operations without asking, demands an order of them, which is not
            // kept, and does not start without it.
            caps: CAPS & !FI_ATOMIC,
            tx_flags: 0,
            rx_flags: 0,
            tx_size: QUEUE_SIZE,
            rx_size: QUEUE_SIZE,
            tag_format: FI_TAG_GENERIC,
            threading: FI_THREAD_SAFE,
            control_progress: FI_PROGRESS_MANUAL,
            data_progress: FI_PROGRESS_MANUAL,
            av_type: FI_AV_TABLE,
            mr_mode: 0,
            counts: Counts::default(),
        }
    }
}

/// The error names the hint that cannot be met.
type Check = Result<(), &'static str>;

fn demand(met: bool, what: &'static str) -> Check {
    if met { Ok(()) } else { Err(what) }
}

/// Compares hints with what this provider offers.
///
/// # Safety
/// Pointers in the hints are null or valid.
pub unsafe fn check(version: u32, hints: Option<&Info>) -> Result<Asked, &'static str> {
    let mut asked = Asked::default();
    let Some(hints) = hints else {
        return Ok(asked);
    };
    check_caps(hints.caps, &mut asked)?;
    demand(matches!(hints.addr_format, FI_FORMAT_UNSPEC | FI_PROV_SPECIFIC), "address format")?;
    // SAFETY: null or valid, by the contract; so are the names in them.
    unsafe {
        if let Some(attr) = hints.ep_attr.as_ref() {
            check_ep(attr, &mut asked)?;
        }
        if let Some(attr) = hints.tx_attr.as_ref() {
            check_tx(attr, &mut asked)?;
        }
        if let Some(attr) = hints.rx_attr.as_ref() {
            check_rx(attr, &mut asked)?;
        }
        if let Some(attr) = hints.domain_attr.as_ref() {
            check_domain(version, attr, &mut asked)?;
        }
        if let Some(attr) = hints.fabric_attr.as_ref() {
            demand(is_ours(attr.name), "name of the fabric")?;
        }
    }
    // Scalable registration is what is offered. With the basic one, peers name memory by its virtual address
    // and the provider chooses keys: then there is no one-sided access.
    if asked.mr_mode & FI_MR_BASIC != 0 {
        demand(hints.caps & (FI_RMA | FI_ATOMIC) == 0, "remote memory of mode FI_MR_BASIC")?;
        asked.caps &= !RMA_CAPS;
    }
    Ok(asked)
}

/// A capability that is a modifier (`FI_SEND`, `FI_READ` and the like) limits what it modifies; without one
/// there is no limit.
fn check_caps(caps: u64, asked: &mut Asked) -> Check {
    demand(caps & !CAPS == 0, "capabilities")?;
    demand(
        caps & (FI_RMA | FI_ATOMIC) != 0 || caps & RMA_DIRECTIONS == 0,
        "directions of one-sided access without FI_RMA or FI_ATOMIC",
    )?;
    if caps == 0 {
        return Ok(());
    }
    asked.caps = caps | SECONDARY_CAPS;
    if caps & (FI_MSG | FI_TAGGED) != 0 && caps & (FI_SEND | FI_RECV) == 0 {
        asked.caps |= FI_SEND | FI_RECV;
    }
    if caps & (FI_RMA | FI_ATOMIC) != 0 && caps & RMA_DIRECTIONS == 0 {
        asked.caps |= RMA_DIRECTIONS;
    }
    Ok(())
}

/// Whether a name of the hints, if there is one, is this provider's.
///
/// # Safety
/// `name` is null or zero-terminated.
unsafe fn is_ours(name: *const c_char) -> bool {
    // SAFETY: by the contract.
    name.is_null() || unsafe { CStr::from_ptr(name) } == NAME
}

fn check_ep(attr: &EpAttr, asked: &mut Asked) -> Check {
    demand(matches!(attr.ep_type, FI_EP_UNSPEC | FI_EP_RDM), "endpoint type")?;
    demand(matches!(attr.protocol, 0 | PROTOCOL), "protocol")?;
    demand(attr.protocol_version <= 1, "protocol version")?;
    demand(attr.max_msg_size <= MAX_MSG_SIZE, "message size")?;
    // No order of remote accesses is offered, of whatever size.
    let ordered = [attr.max_order_raw_size, attr.max_order_war_size, attr.max_order_waw_size];
    demand(ordered == [0; 3], "size of accesses that keep an order")?;
    // FI_SHARED_CONTEXT is the largest number, and not offered either.
    demand(attr.tx_ctx_cnt <= 1 && attr.rx_ctx_cnt <= 1, "contexts of an endpoint")?;
    demand(attr.auth_key_size == 0, "authorization key")?;
    if attr.mem_tag_format != 0 {
        asked.tag_format = attr.mem_tag_format;
    }
    Ok(())
}

fn check_tx(attr: &TxAttr, asked: &mut Asked) -> Check {
    demand(attr.caps & !asked.caps == 0, "capabilities for sending")?;
    demand(attr.op_flags & !TX_FLAGS == 0, "flags for sending")?;
    demand(attr.msg_order & !MSG_ORDER == 0, "order of sends")?;
    demand(attr.comp_order == 0, "order of completions")?;
    demand(attr.inject_size <= INJECT_SIZE, "inject size")?;
    demand(attr.size <= QUEUE_SIZE, "outstanding sends")?;
    demand(attr.iov_limit <= IOV_LIMIT, "pieces of a message")?;
    demand(attr.rma_iov_limit <= IOV_LIMIT, "pieces of remote memory")?;
    asked.tx_flags = attr.op_flags;
    if attr.size != 0 {
        asked.tx_size = attr.size;
    }
    Ok(())
}

fn check_rx(attr: &RxAttr, asked: &mut Asked) -> Check {
    demand(attr.caps & !asked.caps == 0, "capabilities for receiving")?;
    demand(attr.op_flags & !RX_FLAGS == 0, "flags for receiving")?;
    demand(attr.msg_order & !MSG_ORDER == 0, "order of receives")?;
    demand(attr.comp_order == 0, "order of completions")?;
    // What is buffered for receives that are not posted yet depends on the peers: no number can be promised.
    demand(attr.total_buffered_recv == 0, "size of buffered messages")?;
    demand(attr.size <= QUEUE_SIZE, "outstanding receives")?;
    demand(attr.iov_limit <= IOV_LIMIT, "pieces of a message")?;
    asked.rx_flags = attr.op_flags;
    if attr.size != 0 {
        asked.rx_size = attr.size;
    }
    Ok(())
}

/// # Safety
/// The name is null or zero-terminated.
unsafe fn check_domain(version: u32, attr: &DomainAttr, asked: &mut Asked) -> Check {
    // SAFETY: by the contract.
    demand(unsafe { is_ours(attr.name) }, "name of the domain")?;
    demand(attr.caps & !DOMAIN_CAPS == 0, "capabilities of the domain")?;
    demand(attr.cq_data_size <= CQ_DATA_SIZE, "size of remote completion data")?;
    demand(attr.mr_key_size <= size_of::<u64>(), "size of memory keys")?;
    demand(attr.max_ep_tx_ctx <= 1 && attr.max_ep_rx_ctx <= 1, "contexts of an endpoint")?;
    demand(attr.max_ep_stx_ctx == 0 && attr.max_ep_srx_ctx == 0, "shared contexts")?;
    demand(attr.auth_key_size == 0, "authorization key")?;
    demand(attr.mr_iov_limit <= IOV_LIMIT, "pieces of registered memory")?;
    demand(attr.max_err_data == 0, "data of errors")?;
    demand(matches!(attr.av_type, FI_AV_UNSPEC..=FI_AV_TABLE), "type of address vectors")?;
    demand(matches!(attr.threading, FI_THREAD_UNSPEC..=FI_THREAD_ENDPOINT), "threading")?;
    demand(matches!(attr.resource_mgmt, 0..=FI_RM_ENABLED), "resource management")?;
    let progress = FI_PROGRESS_UNSPEC..=FI_PROGRESS_CONTROL_UNIFIED;
    demand(progress.contains(&attr.control_progress) && progress.contains(&attr.data_progress), "progress")?;
    for (answer, hint) in [
        (&mut asked.threading, attr.threading),
        (&mut asked.control_progress, attr.control_progress),
        (&mut asked.data_progress, attr.data_progress),
        (&mut asked.av_type, attr.av_type),
    ] {
        // 0 is "unspecified" in all of these.
        if hint != 0 {
            *answer = hint;
        }
    }
    asked.counts = Counts {
        cq_cnt: attr.cq_cnt,
        ep_cnt: attr.ep_cnt,
        tx_ctx_cnt: attr.tx_ctx_cnt,
        rx_ctx_cnt: attr.rx_ctx_cnt,
        cntr_cnt: attr.cntr_cnt,
        mr_cnt: attr.mr_cnt,
    };
    // Before libfabric 1.5 the mode was one of two values and not a set of demands. Since then hints say what
    // a program can do, and the answer what it must do, which is nothing.
    if version < fi_version(1, 5) || matches!(attr.mr_mode, FI_MR_BASIC | FI_MR_SCALABLE) {
        asked.mr_mode = attr.mr_mode & (FI_MR_BASIC | FI_MR_SCALABLE);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
