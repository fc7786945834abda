//! Binding queues, counters and address vectors to an endpoint, and enabling it.

use super::Ep;
use super::wiring::Plan;
use crate::abi::*;
use crate::guard::{self, Errno, Ret, lock};
use crate::object::av::Av;
use crate::object::cntr::Cntr;
use crate::object::cq::Cq;

/// `fi_control`, whose only command is `FI_ENABLE`.
pub unsafe extern "C" fn control(fid: *mut Fid, command: i32, _: Ptr) -> i32 {
    guard::int(|| {
        if command != FI_ENABLE {
            return Err(Errno(FI_ENOSYS));
        }
        // SAFETY: only endpoints have this table.
        unsafe { guard::object::<Ep, Fid>(fid) }?.enable()
    })
}

/// `fi_ep_bind`.
pub unsafe extern "C" fn bind(fid: *mut Fid, other: *mut Fid, flags: u64) -> i32 {
    guard::int(|| {
        // SAFETY: only endpoints have this table.
        let ep = unsafe { guard::object::<Ep, Fid>(fid) }?;
        if ep.shared.wiring.get().is_some() {
            return Err(Errno(FI_EOPBADSTATE));
        }
        let mut plan = lock(&ep.plan);
        // SAFETY: null, or an object of this provider and of the class that it says.
        unsafe {
            match other.as_ref().ok_or(Errno(FI_EINVAL))?.fclass {
                FI_CLASS_CQ => bind_queue(ep, &mut plan, guard::object(other)?, flags),
                FI_CLASS_CNTR => bind_counter(ep, &mut plan, guard::object(other)?, flags),
                FI_CLASS_AV => bind_space(ep, &mut plan, guard::object(other)?),
                // There are no events, because endpoints have no connections.
                FI_CLASS_EQ => Ok(()),
                _ => Err(Errno(FI_EINVAL)),
            }
        }
    })
}

fn bind_queue(ep: &Ep, plan: &mut Plan, cq: &Cq, flags: u64) -> Ret {
    if flags & (FI_TRANSMIT | FI_RECV) == 0 || flags & !(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION) != 0
    {
        return Err(Errno(FI_EBADFLAGS));
    }
    let targets = [(&mut plan.tx, FI_TRANSMIT), (&mut plan.rx, FI_RECV)];
    if targets.iter().any(|(target, direction)| flags & direction != 0 && target.queue.is_some()) {
        return Err(Errno(FI_EINVAL));
    }
    for (target, direction) in targets {
        if flags & direction != 0 {
            target.queue = Some(cq.shared.clone());
            target.selective = flags & FI_SELECTIVE_COMPLETION != 0;
        }
    }
    cq.shared.members.add(&ep.shared);
    Ok(())
}

fn bind_counter(ep: &Ep, plan: &mut Plan, cntr: &Cntr, flags: u64) -> Ret {
    const COUNTED: u64 = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
    // Operations of peers on this side's memory are not counted: that takes the capability FI_RMA_EVENT,
    // which is not offered. libfabric's own tests ask for it beside what is counted; a counter that would
    // count nothing is refused.
    if flags & COUNTED == 0 || flags & !(COUNTED | FI_REMOTE_READ | FI_REMOTE_WRITE) != 0 {
        return Err(Errno(FI_EBADFLAGS));
    }
    let slots = [
        (FI_SEND, &mut plan.tx.counter),
        (FI_RECV, &mut plan.rx.counter),
        (FI_READ, &mut plan.reads),
        (FI_WRITE, &mut plan.writes),
    ];
    // fi_endpoint(3): one counter for each type of operation.
    if slots.iter().any(|(flag, slot)| flags & flag != 0 && slot.is_some()) {
        return Err(Errno(FI_EINVAL));
    }
    for (flag, slot) in slots {
        if flags & flag != 0 {
            *slot = Some(cntr.shared.clone());
        }
    }
    if flags & (FI_SEND | FI_RECV) != 0 {
        cntr.shared.count_messages();
    }
    cntr.shared.members.add(&ep.shared);
    Ok(())
}

fn bind_space(ep: &Ep, plan: &mut Plan, av: &Av) -> Ret {
    if plan.space.is_some() {
        return Err(Errno(FI_EINVAL));
    }
    av.shared.members.add(&ep.shared);
    plan.space = Some(av.shared.clone());
    Ok(())
}
