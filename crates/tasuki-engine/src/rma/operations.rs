//! Atomic operations and the types of their elements, with the numbers of libfabric's `fi_domain.h`.

/// Type of the elements of an atomic operation. The numbers are those of `enum fi_datatype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)] // The names say it.
pub enum Datatype {
    I8 = 0,
    U8 = 1,
    I16 = 2,
    U16 = 3,
    I32 = 4,
    U32 = 5,
    I64 = 6,
    U64 = 7,
    F32 = 8,
    F64 = 9,
}

impl Datatype {
    /// All types, by their numbers.
    pub const ALL: [Datatype; 10] = {
        use Datatype::*;
        [I8, U8, I16, U16, I32, U32, I64, U64, F32, F64]
    };

    /// The type with this number, if it is one.
    pub fn from_number(number: u64) -> Option<Datatype> {
        Datatype::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Size of an element, bytes.
    pub const fn size(self) -> usize {
        match self {
            Datatype::I8 | Datatype::U8 => 1,
            Datatype::I16 | Datatype::U16 => 2,
            Datatype::I32 | Datatype::U32 | Datatype::F32 => 4,
            Datatype::I64 | Datatype::U64 | Datatype::F64 => 8,
        }
    }

    const fn is_integer(self) -> bool {
        !matches!(self, Datatype::F32 | Datatype::F64)
    }
}

/// What an atomic operation does with an element. The numbers are those of `enum fi_op`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AtomicOp {
    /// The smaller of element and operand.
    Min = 0,
    /// The larger of element and operand.
    Max = 1,
    /// The sum; integers wrap around.
    Sum = 2,
    /// The product; integers wrap around.
    Product = 3,
    /// 1 if either is not zero, else 0.
    LogicalOr = 4,
    /// 1 if both are not zero, else 0.
    LogicalAnd = 5,
    /// The bits of either; integers alone, as the other two operations on bits.
    BitOr = 6,
    /// The bits of both.
    BitAnd = 7,
    /// 1 if exactly one is not zero, else 0.
    LogicalXor = 8,
    /// The bits of exactly one.
    BitXor = 9,
    /// The element stays; there is no operand.
    Read = 10,
    /// The operand.
    Write = 11,
    /// The operand, if the comparand is equal to the element.
    SwapIfEqual = 12,
    /// The operand, if the comparand is not equal to the element.
    SwapIfNotEqual = 13,
    /// The operand, if the comparand is less than or equal to the element.
    SwapIfLessOrEqual = 14,
    /// The operand, if the comparand is less than the element.
    SwapIfLess = 15,
    /// The operand, if the comparand is greater than or equal to the element.
    SwapIfGreaterOrEqual = 16,
    /// The operand, if the comparand is greater than the element.
    SwapIfGreater = 17,
    /// The operand's bits where the comparand has a 1, the element's elsewhere; integers alone.
    MaskedSwap = 18,
}

impl AtomicOp {
    /// All operations, by their numbers.
    pub const ALL: [AtomicOp; 19] = {
        use AtomicOp::*;
        [
            Min,
            Max,
            Sum,
            Product,
            LogicalOr,
            LogicalAnd,
            BitOr,
            BitAnd,
            LogicalXor,
            BitXor,
            Read,
            Write,
            SwapIfEqual,
            SwapIfNotEqual,
            SwapIfLessOrEqual,
            SwapIfLess,
            SwapIfGreaterOrEqual,
            SwapIfGreater,
            MaskedSwap,
        ]
    };

    /// The operation with this number, if it is one.
    pub fn from_number(number: u64) -> Option<AtomicOp> {
        AtomicOp::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Whether the operation compares the element with a comparand, or takes a mask in its place.
    pub fn compares(self) -> bool {
        self as u8 >= AtomicOp::SwapIfEqual as u8
    }

    /// Whether the operation is defined for elements of this type.
    pub fn works_on(self, datatype: Datatype) -> bool {
        let bits =
            matches!(self, AtomicOp::BitOr | AtomicOp::BitAnd | AtomicOp::BitXor | AtomicOp::MaskedSwap);
        datatype.is_integer() || !bits
    }
}
