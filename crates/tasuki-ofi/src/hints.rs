//! What a program asks for with `fi_getinfo`, and whether it can be had. Only fields that libfabric 1.17 has are read.

use std::ffi::{CStr, c_char};

use crate::abi::*;
use crate::limits::*;

/// What the answer takes over from the hints, or would say without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Capabilities to be enabled.
    pub caps: u64,
    /// Flags of sends that have none of their own.
    pub tx_flags: u64,
    /// Flags of receives that have none of their own.
    pub rx_flags: u64,
    /// Sends that may be outstanding.
    pub tx_size: usize,
    /// Receives that may be outstanding.
    pub rx_size: usize,
    /// Traffic class; accepted and not used.
    pub tclass: u32,
    /// Which bits of tags the program uses. All are significant whatever it says.
    pub tag_format: u64,
    /// `enum fi_threading`. Everything is thread-safe; who promises to make one call at a time pays for no locks.
    pub threading: i32,
    /// `enum fi_progress`.
    pub control_progress: i32,
    /// `enum fi_progress`.
    pub data_progress: i32,
    /// `enum fi_av_type`.
    pub av_type: i32,
    /// `enum fi_mr_mode`, of programs of before 1.5; else 0: memory need not be registered.
    pub mr_mode: i32,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            caps: CAPS,
            tx_flags: 0,
            rx_flags: 0,
            tx_size: QUEUE_SIZE,
            rx_size: QUEUE_SIZE,
            tclass: 0,
            tag_format: FI_TAG_GENERIC,
            threading: FI_THREAD_SAFE,
            control_progress: FI_PROGRESS_MANUAL,
            data_progress: FI_PROGRESS_MANUAL,
            av_type: FI_AV_TABLE,
            mr_mode: 0,
        }
    }
}

/// Which hint cannot be met.
type Check = Result<(), &'static str>;

fn demand(met: bool, what: &'static str) -> Check {
    if met { Ok(()) } else { Err(what) }
}

/// Compares hints with what there is.
///
/// # Safety
/// Pointers in the hints are null or valid.
pub unsafe fn check(version: u32, hints: Option<&Info>) -> Result<Asked, &'static str> {
    let mut asked = Asked::default();
    let Some(hints) = hints else {
        return Ok(asked);
    };
    demand(hints.caps & !CAPS == 0, "capabilities")?;
    if hints.caps != 0 {
        asked.caps = hints.caps | SECONDARY_CAPS;
        if hints.caps & (FI_MSG | FI_TAGGED) != 0 && hints.caps & (FI_SEND | FI_RECV) == 0 {
            asked.caps |= FI_SEND | FI_RECV;
        }
        if hints.caps & FI_RMA != 0 && hints.caps & RMA_WAYS == 0 {
            asked.caps |= RMA_WAYS;
        }
    }
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
    Ok(asked)
}

/// # Safety
/// Null or zero-terminated.
unsafe fn is_ours(name: *const c_char) -> bool {
    // SAFETY: by the contract.
    name.is_null() || unsafe { CStr::from_ptr(name) } == NAME
}

fn check_ep(attr: &EpAttr, asked: &mut Asked) -> Check {
    demand(matches!(attr.ep_type, FI_EP_UNSPEC | FI_EP_RDM), "endpoint type")?;
    demand(matches!(attr.protocol, 0 | PROTOCOL), "protocol")?;
    demand(attr.protocol_version <= 1, "protocol version")?;
    demand(attr.max_msg_size <= MAX_MSG_SIZE, "message size")?;
    // FI_SHARED_CONTEXT is the largest number.
    demand(attr.tx_ctx_cnt <= 1 && attr.rx_ctx_cnt <= 1, "contexts of an endpoint")?;
    demand(attr.auth_key_size == 0, "authorization key")?;
    if attr.mem_tag_format != 0 {
        asked.tag_format = attr.mem_tag_format;
    }
    Ok(())
}

fn check_tx(attr: &TxAttr, asked: &mut Asked) -> Check {
    demand(attr.caps & !CAPS == 0, "capabilities for sending")?;
    demand(attr.op_flags & !TX_FLAGS == 0, "flags for sending")?;
    demand(attr.msg_order & !MSG_ORDER == 0, "order of sends")?;
    demand(attr.comp_order == 0, "order of completions")?;
    demand(attr.inject_size <= INJECT_SIZE, "inject size")?;
    demand(attr.size <= QUEUE_SIZE, "outstanding sends")?;
    demand(attr.iov_limit <= IOV_LIMIT, "pieces of a message")?;
    asked.tx_flags = attr.op_flags;
    asked.tclass = attr.tclass;
    if attr.size != 0 {
        asked.tx_size = attr.size;
    }
    Ok(())
}

fn check_rx(attr: &RxAttr, asked: &mut Asked) -> Check {
    demand(attr.caps & !CAPS == 0, "capabilities for receiving")?;
    demand(attr.op_flags & !RX_FLAGS == 0, "flags for receiving")?;
    demand(attr.msg_order & !MSG_ORDER == 0, "order of receives")?;
    demand(attr.comp_order == 0, "order of completions")?;
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
    demand(matches!(attr.av_type, FI_AV_UNSPEC..=FI_AV_TABLE), "type of address vectors")?;
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
    // Before 1.5 the mode was one of two values and not a set of demands. Afterwards hints say what a program can do, and the
    // answer what it must do: nothing.
    if version < fi_version(1, 5) || matches!(attr.mr_mode, FI_MR_BASIC | FI_MR_SCALABLE) {
        asked.mr_mode = attr.mr_mode & (FI_MR_BASIC | FI_MR_SCALABLE);
    }
    if attr.tclass != 0 {
        asked.tclass = attr.tclass;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::zeroed;
    struct Hints {
        info: Info,
        ep: EpAttr,
        tx: TxAttr,
        domain: DomainAttr,
    }

    /// Hints of zeroes, as `fi_allocinfo` gives them, changed by `set`; the answer to them.
    fn answer(version: u32, set: impl FnOnce(&mut Hints)) -> Result<Asked, &'static str> {
        // SAFETY: plain data and pointers, for which zeroes are valid.
        let mut hints: Hints = unsafe { zeroed() };
        set(&mut hints);
        let Hints { mut info, mut ep, mut tx, mut domain } = hints;
        info.ep_attr = &mut ep;
        info.tx_attr = &mut tx;
        info.domain_attr = &mut domain;
        // SAFETY: null or valid, just so.
        unsafe { check(version, Some(&info)) }
    }

    const V: u32 = fi_version(1, 17);

    #[test]
    fn nothing_asked_for_gives_everything() {
        // SAFETY: no hints.
        assert_eq!(unsafe { check(V, None) }, Ok(Asked::default()));
        assert_eq!(answer(V, |_| {}), Ok(Asked::default()));
    }

    #[test]
    fn as_mpis_ask() {
        // Open MPI 4.1.
        let asked = answer(fi_version(1, 5), |hints| {
            let Hints { info, ep, tx, domain } = hints;
            info.caps = FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_DIRECTED_RECV;
            ep.ep_type = FI_EP_RDM;
            tx.msg_order = FI_ORDER_SAS;
            tx.op_flags = FI_COMPLETION;
            (domain.threading, domain.av_type, domain.cq_data_size) = (FI_THREAD_DOMAIN, FI_AV_MAP, 4);
        });
        let asked = asked.expect("all of it is offered");
        assert_eq!(
            (asked.threading, asked.av_type, asked.mr_mode, asked.tx_flags),
            (3, FI_AV_MAP, 0, FI_COMPLETION)
        );
        assert_ne!(asked.caps & FI_DIRECTED_RECV, 0);
        assert_eq!(
            asked.caps & (FI_SEND | FI_RECV | FI_MSG),
            FI_SEND | FI_RECV,
            "untagged messages were not asked for"
        );
    }

    #[test]
    fn what_is_not_offered_is_refused() {
        // FI_ATOMIC is bit 4, FI_ORDER_RAR bit 0, FI_EP_MSG 1, FI_SHARED_CONTEXT the largest number.
        assert_eq!(answer(V, |hints| hints.info.caps = 16), Err("capabilities"));
        assert_eq!(answer(V, |hints| hints.tx.msg_order = 1), Err("order of sends"));
        assert_eq!(answer(V, |hints| hints.ep.ep_type = 1), Err("endpoint type"));
        assert_eq!(answer(V, |hints| hints.ep.tx_ctx_cnt = usize::MAX), Err("contexts of an endpoint"));
        assert_eq!(answer(V, |hints| hints.domain.cq_data_size = 9), Err("size of remote completion data"));
        assert_eq!(
            answer(V, |hints| hints.domain.name = c"eth0".as_ptr().cast_mut()),
            Err("name of the domain")
        );
        assert_eq!(answer(V, |hints| hints.tx.inject_size = 1 << 20), Err("inject size"));
    }

    #[test]
    fn one_sided_access_in_full_or_by_its_parts() {
        let caps = |caps| answer(V, |hints| hints.info.caps = caps).map(|asked| asked.caps & RMA_CAPS);
        assert_eq!(caps(FI_MSG), Ok(0), "not asked for");
        assert_eq!(caps(FI_RMA), Ok(RMA_CAPS));
        assert_eq!(caps(FI_RMA | FI_READ), Ok(FI_RMA | FI_READ));
    }

    #[test]
    fn directed_receives_must_be_asked_for() {
        // Without the capability a receive's source is to be passed over: it may be anything.
        let asked = answer(V, |hints| hints.info.caps = FI_MSG | FI_TAGGED).expect("offered");
        assert_eq!(asked.caps & FI_DIRECTED_RECV, 0);
    }

    #[test]
    fn modes_of_memory_of_old_programs() {
        let mode =
            |version, mode| answer(version, |hints| hints.domain.mr_mode = mode).map(|asked| asked.mr_mode);
        assert_eq!(mode(fi_version(1, 4), FI_MR_SCALABLE), Ok(FI_MR_SCALABLE));
        assert_eq!(mode(fi_version(1, 4), FI_MR_BASIC), Ok(FI_MR_BASIC));
        // FI_MR_LOCAL | FI_MR_PROV_KEY: what the program could do is not demanded.
        assert_eq!(mode(V, 1 << 2 | 1 << 6), Ok(0));
    }
}
