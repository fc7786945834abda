//! Atomic operations on a region's memory, as libfabric's fi_atomic(3) defines them.
//!
//! Every element is changed by one atomic instruction of the processor (or a loop of compare and exchange),
//! so that an operation is atomic towards operations of all peers, whichever endpoint of the process they
//! reach, and towards the program's own atomic instructions. Elements are aligned to their size for that.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use tasuki_tuning::rma;

use super::operations::{AtomicOp, Datatype};
use crate::memory::Memory;

/// An operation on elements of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Atomic {
    pub op: AtomicOp,
    pub datatype: Datatype,
    /// The elements' former values are wanted.
    pub fetch: bool,
}

impl Atomic {
    /// Bytes of the operand and of the comparand of an operation on `len` bytes.
    pub fn operands(&self, len: usize) -> (usize, usize) {
        let operand = if self.op == AtomicOp::Read { 0 } else { len };
        (operand, if self.op.compares() { len } else { 0 })
    }

    /// Whether an operation on `len` bytes is defined and fits into a request.
    pub fn fits(&self, len: u64) -> bool {
        // Operand and comparand travel in the request, as the payload of a short put does.
        let Ok(len @ 1..=rma::INLINE_PUT_MAX) = usize::try_from(len) else { return false };
        let (operand, comparand) = self.operands(len);
        self.op.works_on(self.datatype)
            && len.is_multiple_of(self.datatype.size())
            && operand + comparand <= rma::INLINE_PUT_MAX
            && (self.op != AtomicOp::Read || self.fetch)
    }

    /// Does the operation on all elements in `place`, whose operands are in `bytes`. Gives the former values;
    /// `None`, and nothing has changed, if an element is not aligned to its size.
    ///
    /// # Safety
    /// The memory can be read and written. `bytes` has the operands of an operation that fits.
    pub unsafe fn apply(&self, place: &Memory, bytes: &[u8]) -> Option<Vec<u8>> {
        let (size, len) = (self.datatype.size(), place.len() as usize);
        let at = |offset: usize| {
            place.piece(offset as u64, size as u64).filter(|at| at.addr().is_multiple_of(size))
        };
        let elements = (0..len).step_by(size).map(at).collect::<Option<Vec<_>>>()?;
        let (operands, comparands) = bytes.split_at(self.operands(len).0);
        let mut former = Vec::with_capacity(len);
        let part = |bytes: &[u8], index: usize| {
            let mut element = [0; 8];
            if let Some(bytes) = bytes.get(index * size..(index + 1) * size) {
                element[..size].copy_from_slice(bytes);
            }
            u64::from_le_bytes(element)
        };
        for (index, &at) in elements.iter().enumerate() {
            let (operand, comparand) = (part(operands, index), part(comparands, index));
            // SAFETY: an element of the region, aligned to its size.
            let old = unsafe { self.element(at, operand, comparand) };
            former.extend_from_slice(&old.to_le_bytes()[..size]);
        }
        Some(former)
    }

    /// Does the operation on one element. Values are in the lower bytes.
    ///
    /// # Safety
    /// The element can be read and written, and is aligned to its size.
    unsafe fn element(&self, at: *mut u8, operand: u64, comparand: u64) -> u64 {
        macro_rules! update {
            ($atomic:ty, $bits:ty, $value:ty, $from:expr, $into:expr) => {{
                let from: fn($bits) -> $value = $from;
                let into: fn($value) -> $bits = $into;
                let next = |old: $bits| {
                    let (operand, comparand) = (operand as $bits, comparand as $bits);
                    if let Some(bits) = on_bits(self.op, old.into(), operand.into(), comparand.into()) {
                        return bits.map(|bits| bits as $bits);
                    }
                    let operands = (from(old), from(operand), from(comparand));
                    on_values(self.op, operands).map(into)
                };
                // SAFETY: by the contract.
                let element = unsafe { <$atomic>::from_ptr(at.cast()) };
                let (Ok(old) | Err(old)) = element.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
                old.into()
            }};
        }
        match self.datatype {
            Datatype::I8 => update!(AtomicU8, u8, i8, |bits| bits as i8, |value| value as u8),
            Datatype::U8 => update!(AtomicU8, u8, u8, |bits| bits, |value| value),
            Datatype::I16 => update!(AtomicU16, u16, i16, |bits| bits as i16, |value| value as u16),
            Datatype::U16 => update!(AtomicU16, u16, u16, |bits| bits, |value| value),
            Datatype::I32 => update!(AtomicU32, u32, i32, |bits| bits as i32, |value| value as u32),
            Datatype::U32 => update!(AtomicU32, u32, u32, |bits| bits, |value| value),
            Datatype::I64 => update!(AtomicU64, u64, i64, |bits| bits as i64, |value| value as u64),
            Datatype::U64 => update!(AtomicU64, u64, u64, |bits| bits, |value| value),
            Datatype::F32 => update!(AtomicU32, u32, f32, f32::from_bits, f32::to_bits),
            Datatype::F64 => update!(AtomicU64, u64, f64, f64::from_bits, f64::to_bits),
        }
    }
}

/// The new bits of an element, for operations to which its type does not matter; the inner `None` leaves the
/// element as it is.
fn on_bits(op: AtomicOp, old: u64, operand: u64, mask: u64) -> Option<Option<u64>> {
    Some(match op {
        AtomicOp::BitOr => Some(old | operand),
        AtomicOp::BitAnd => Some(old & operand),
        AtomicOp::BitXor => Some(old ^ operand),
        AtomicOp::Read => None,
        AtomicOp::Write => Some(operand),
        AtomicOp::MaskedSwap => Some((operand & mask) | (old & !mask)),
        _ => return None,
    })
}

/// A type whose elements are added, multiplied and compared.
trait Value: Copy + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    fn add(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
}

macro_rules! values {
    ($($value:ty: $zero:expr, $one:expr, $add:expr, $multiply:expr;)*) => {$(
        impl Value for $value {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            fn add(self, other: Self) -> Self {
                $add(self, other)
            }
            fn multiply(self, other: Self) -> Self {
                $multiply(self, other)
            }
        }
    )*};
}

values! {
    i8: 0, 1, i8::wrapping_add, i8::wrapping_mul;
    u8: 0, 1, u8::wrapping_add, u8::wrapping_mul;
    i16: 0, 1, i16::wrapping_add, i16::wrapping_mul;
    u16: 0, 1, u16::wrapping_add, u16::wrapping_mul;
    i32: 0, 1, i32::wrapping_add, i32::wrapping_mul;
    u32: 0, 1, u32::wrapping_add, u32::wrapping_mul;
    i64: 0, 1, i64::wrapping_add, i64::wrapping_mul;
    u64: 0, 1, u64::wrapping_add, u64::wrapping_mul;
    f32: 0.0, 1.0, <f32 as std::ops::Add>::add, <f32 as std::ops::Mul>::mul;
    f64: 0.0, 1.0, <f64 as std::ops::Add>::add, <f64 as std::ops::Mul>::mul;
}

/// The new value of an element; `None` leaves it as it is.
fn on_values<T: Value>(op: AtomicOp, (old, operand, comparand): (T, T, T)) -> Option<T> {
    let holds = |condition: bool| condition.then_some(operand);
    let logical = |condition: bool| Some(if condition { T::ONE } else { T::ZERO });
    let (left, right) = (old != T::ZERO, operand != T::ZERO);
    match op {
        AtomicOp::Min => holds(operand < old),
        AtomicOp::Max => holds(operand > old),
        AtomicOp::Sum => Some(old.add(operand)),
        AtomicOp::Product => Some(old.multiply(operand)),
        AtomicOp::LogicalOr => logical(left || right),
        AtomicOp::LogicalAnd => logical(left && right),
        AtomicOp::LogicalXor => logical(left != right),
        AtomicOp::SwapIfEqual => holds(comparand == old),
        AtomicOp::SwapIfNotEqual => holds(comparand != old),
        AtomicOp::SwapIfLessOrEqual => holds(comparand <= old),
        AtomicOp::SwapIfLess => holds(comparand < old),
        AtomicOp::SwapIfGreaterOrEqual => holds(comparand >= old),
        AtomicOp::SwapIfGreater => holds(comparand > old),
        // `on_bits` has done these.
        AtomicOp::BitOr | AtomicOp::BitAnd | AtomicOp::BitXor => None,
        AtomicOp::Read | AtomicOp::Write | AtomicOp::MaskedSwap => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Buffer;

    /// Applies an addition of 1 to two elements of 4 bytes, in these pieces of `memory`.
    fn add(memory: &mut [u32; 8], pieces: &[(usize, usize)]) -> Option<Vec<u8>> {
        let start: *mut u8 = memory.as_mut_ptr().cast();
        let pieces: Vec<Buffer> =
            pieces.iter().map(|&(at, len)| Buffer { ptr: start.wrapping_add(at), len }).collect();
        let sum = Atomic { op: AtomicOp::Sum, datatype: Datatype::U32, fetch: true };
        let ones = [1u32, 1].map(u32::to_le_bytes).concat();
        // SAFETY: all pieces are inside of `memory`.
        unsafe { sum.apply(&Memory::of(&pieces), &ones) }
    }

    #[test]
    fn elements_are_whole_and_aligned_or_nothing_changes() {
        let mut memory: [u32; 8] = std::array::from_fn(|i| i as u32);
        let former = |values: [u32; 2]| Some(values.map(u32::to_le_bytes).concat());
        assert_eq!(add(&mut memory, &[(0, 8)]), former([0, 1]));
        assert_eq!(add(&mut memory, &[(28, 4), (16, 4)]), former([7, 4]));
        assert_eq!(memory, [1, 2, 2, 3, 5, 5, 6, 8]);
        for pieces in [&[(1, 8)][..], &[(0, 2), (2, 6)], &[(0, 4), (6, 4)], &[(0, 6), (8, 2)]] {
            assert_eq!(add(&mut memory, pieces), None, "{pieces:?}");
        }
        assert_eq!(memory, [1, 2, 2, 3, 5, 5, 6, 8], "also where a later element is the bad one");
    }

    #[test]
    fn integers_wrap_around() {
        let mut byte = [200u8];
        let sum = |datatype| Atomic { op: AtomicOp::Sum, datatype, fetch: false };
        let place = Memory::One(Buffer { ptr: byte.as_mut_ptr(), len: 1 });
        // SAFETY: the byte lives longer.
        unsafe { sum(Datatype::U8).apply(&place, &[100]) };
        // SAFETY: as above.
        unsafe { sum(Datatype::I8).apply(&place, &[100]) };
        assert_eq!(byte, [144], "200 + 100 - 256 + 100");
    }
}
