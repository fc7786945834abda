//! Answers to hints as programs give them.

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
    // FI_MULTICAST is bit 5, FI_ORDER_RAR bit 0, FI_EP_MSG 1, FI_SHARED_CONTEXT the largest number.
    assert_eq!(answer(V, |hints| hints.info.caps = 32), Err("capabilities"));
    assert_eq!(answer(V, |hints| hints.tx.msg_order = 1), Err("order of sends"));
    assert_eq!(answer(V, |hints| hints.ep.ep_type = 1), Err("endpoint type"));
    assert_eq!(answer(V, |hints| hints.ep.tx_ctx_cnt = usize::MAX), Err("contexts of an endpoint"));
    assert_eq!(answer(V, |hints| hints.domain.cq_data_size = 9), Err("size of remote completion data"));
    assert_eq!(answer(V, |hints| hints.domain.name = c"eth0".as_ptr().cast_mut()), Err("name of the domain"));
    assert_eq!(answer(V, |hints| hints.tx.inject_size = 1 << 20), Err("inject size"));
}

/// In rdma/fabric.h bits 0 to 8 are orders of accesses and messages among each other, 32 to 39 those of
/// remote memory alone and of atomic operations alone. A request of several packets may be overtaken by one
/// of a single packet, so that none of them holds but sends after sends (bit 8).
#[test]
fn no_order_is_promised_but_that_of_messages() {
    let order = |bit: u32| answer(V, |hints| hints.tx.msg_order = 1 << bit).is_ok();
    assert_eq!((0..64).filter(|bit| order(*bit)).collect::<Vec<_>>(), [8]);
    let size = |set: fn(&mut EpAttr)| answer(V, |hints| set(&mut hints.ep)).is_ok();
    assert!(!size(|ep| ep.max_order_raw_size = 8) && !size(|ep| ep.max_order_war_size = 8));
    assert!(!size(|ep| ep.max_order_waw_size = 8));
}

#[test]
fn one_sided_access_in_full_or_by_its_parts() {
    let caps = |caps| answer(V, |hints| hints.info.caps = caps).map(|asked| asked.caps & RMA_CAPS);
    assert_eq!(caps(FI_MSG), Ok(0), "not asked for");
    assert_eq!(caps(FI_RMA), Ok(FI_RMA | RMA_DIRECTIONS));
    assert_eq!(caps(FI_ATOMIC), Ok(FI_ATOMIC | RMA_DIRECTIONS));
    assert_eq!(caps(FI_RMA | FI_ATOMIC), Ok(RMA_CAPS));
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
