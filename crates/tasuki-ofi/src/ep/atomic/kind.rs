//! Which atomic operations there are: fi_atomic(3), `fi_atomicvalid` and `fi_query_atomic`.

use tasuki_engine::{AtomicOp, Datatype};
use tasuki_tuning::rma;

use crate::abi::*;
use crate::guard::{Errno, Ret};

/// What comes back of an atomic operation, and what it takes besides its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `fi_atomic`: nothing comes back.
    Base,
    /// `fi_fetch_atomic`: the former values come back.
    Fetch,
    /// `fi_compare_atomic`: so they do, and elements are compared with a comparand.
    Compare,
}

impl Kind {
    /// The kind that these flags of `fi_query_atomic` ask for.
    pub fn of_flags(flags: u64) -> Ret<Kind> {
        match flags {
            0 => Ok(Kind::Base),
            FI_FETCH_ATOMIC => Ok(Kind::Fetch),
            FI_COMPARE_ATOMIC => Ok(Kind::Compare),
            // FI_TAGGED: atomic operations on tagged receives are not offered.
            FI_TAGGED => Err(Errno(FI_EOPNOTSUPP)),
            _ => Err(Errno(FI_EBADFLAGS)),
        }
    }

    /// The operation and its type, if there is such an operation of this kind.
    pub fn operation(self, datatype: i32, op: i32) -> Ret<(AtomicOp, Datatype)> {
        let number = |number: i32| u64::try_from(number).ok();
        let op = number(op).and_then(AtomicOp::from_number);
        let datatype = number(datatype).and_then(Datatype::from_number);
        let (Some(op), Some(datatype)) = (op, datatype) else { return Err(Errno(FI_EOPNOTSUPP)) };
        let fits = match self {
            Kind::Base => !op.compares() && op != AtomicOp::Read,
            Kind::Fetch => !op.compares(),
            Kind::Compare => op.compares(),
        };
        if fits && op.works_on(datatype) { Ok((op, datatype)) } else { Err(Errno(FI_EOPNOTSUPP)) }
    }

    /// How many elements one operation of this kind may have, and the size of each.
    pub fn attributes(self, datatype: i32, op: i32) -> Ret<AtomicAttr> {
        let (_, datatype) = self.operation(datatype, op)?;
        let size = datatype.size();
        Ok(AtomicAttr { count: self.max() / size, size })
    }

    /// Most bytes of one operation's elements.
    pub fn max(self) -> usize {
        match self {
            Kind::Base | Kind::Fetch => rma::INLINE_PUT_MAX,
            // The comparand travels beside the operand.
            Kind::Compare => rma::INLINE_PUT_MAX / 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `enum fi_datatype`.
    const FI_UINT64: i32 = 7;

    /// fi_atomic(3), "Atomic operations": which operations each kind of call may have.
    #[test]
    fn operations_are_of_the_kinds_that_the_manual_page_says() {
        for op in 0..20 {
            let of = |kind: Kind| kind.operation(FI_UINT64, op).is_ok();
            let swaps = (12..=18).contains(&op);
            assert_eq!(of(Kind::Base), op < 12 && op != 10, "operation {op}");
            assert_eq!(of(Kind::Fetch), op < 12, "operation {op}");
            assert_eq!(of(Kind::Compare), swaps, "operation {op}");
        }
    }

    #[test]
    fn bits_are_those_of_integers_and_unknown_types_are_refused() {
        for (op, kind) in [(6, Kind::Base), (7, Kind::Fetch), (9, Kind::Base), (18, Kind::Compare)] {
            for datatype in 0..10 {
                assert_eq!(kind.operation(datatype, op).is_ok(), datatype < 8, "operation {op}, {datatype}");
            }
        }
        for datatype in [-1, 10, 13, 256] {
            assert_eq!(Kind::Base.operation(datatype, 2), Err(Errno(FI_EOPNOTSUPP)));
        }
    }
}
