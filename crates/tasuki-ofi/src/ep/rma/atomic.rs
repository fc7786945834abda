//! Atomic operations: one for each pair of a place of the peer and a place for former values.

use tasuki_engine::{AtomicArgs, AtomicOp, Buffer, Datatype, Endpoint, Peer};

use super::operation::{Access, Rma};
use super::pairs::{Place, pair};
use crate::abi::{FI_ATOMIC, FI_EINVAL, FI_EMSGSIZE};
use crate::ep::errno;
use crate::ep::wiring::Wiring;
use crate::guard::{Errno, Ret};
use crate::limits::IOV_LIMIT;

/// An atomic operation as a program asks for it.
pub struct Atomic<'a> {
    /// What is done.
    pub op: AtomicOp,
    /// The type of all elements.
    pub datatype: Datatype,
    /// The operands of all elements; none for an operation that only reads.
    pub operand: Vec<u8>,
    /// The comparands of all elements, if the operation compares.
    pub comparand: Vec<u8>,
    /// Places for the former values of all elements; `None` if they are not wanted.
    pub result: Option<&'a [Buffer]>,
    /// Most bytes of elements in one operation.
    pub max: usize,
}

impl Rma {
    /// Begins an atomic operation with this peer, which is not gone.
    ///
    /// # Safety
    /// The places for former values are as fi_atomic(3) demands until the operation completes.
    pub unsafe fn begin_atomic(
        &self,
        (engine, wiring): (&Endpoint, &Wiring),
        peer: Peer,
        atomic: &Atomic<'_>,
        places: &[Place],
        access: &Access,
    ) -> Ret<usize> {
        // Without places for former values, the pairs are cut as the peer's places are.
        let here = atomic.result.map_or_else(|| vec![unplaced(atomic.operand.len())], <[Buffer]>::to_vec);
        let len = here.iter().map(|piece| piece.len).sum::<usize>();
        let fits = |bytes: &[u8], there: bool| bytes.len() == if there { len } else { 0 };
        let reads = atomic.op == AtomicOp::Read;
        if len == 0 || !fits(&atomic.operand, !reads) || !fits(&atomic.comparand, atomic.op.compares()) {
            return Err(Errno(FI_EINVAL));
        }
        if places.len() > IOV_LIMIT {
            return Err(Errno(FI_EINVAL));
        }
        if len > atomic.max {
            return Err(Errno(FI_EMSGSIZE));
        }
        let pairs = pair(&here, places)?;
        let number = self.begun(FI_ATOMIC, wiring, pairs.len(), None, access);
        let mut at = 0;
        for (index, &(buffer, Place { addr: offset, key, .. })) in pairs.iter().enumerate() {
            let part = at..at + buffer.len;
            at = part.end;
            let args = AtomicArgs {
                peer,
                key,
                offset,
                op: atomic.op,
                datatype: atomic.datatype,
                len: buffer.len,
                operand: atomic.operand.get(part.clone()).unwrap_or_default(),
                comparand: atomic.comparand.get(part).unwrap_or_default(),
                result: atomic.result.is_some().then_some(buffer),
                quiet: false,
                context: number,
            };
            // SAFETY: by the contract.
            if let Err(error) = unsafe { engine.atomic(&args) } {
                let left = pairs.len() - index;
                return self.give_up(wiring, number, left, index == 0, errno::of_post(error));
            }
        }
        Ok(0)
    }
}

/// So many bytes that lie nowhere.
fn unplaced(len: usize) -> Buffer {
    Buffer { ptr: std::ptr::null_mut(), len }
}
