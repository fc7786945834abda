//! Elements of arrays, and how two are made one.

use half::{bf16, f16};

/// The type of an array's elements, in the machine's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 8 bits without sign; also truth values.
    U8,
    /// 8 bits with sign.
    I8,
    /// 16 bits with sign.
    I16,
    /// 32 bits with sign.
    I32,
    /// 64 bits with sign.
    I64,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

/// How elements of several processes are made one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The sum; that of integers wraps around.
    Sum,
    /// The sum, divided by the number of processes; integers are divided towards zero.
    Average,
    /// The product; that of integers wraps around.
    Product,
    /// The least; not a number (NaN) if one is.
    Min,
    /// The greatest; not a number (NaN) if one is.
    Max,
    /// Bits that are set in all. Of the bytes, if the elements are no integers.
    And,
    /// Bits that are set in any.
    Or,
    /// Bits that are set in an odd number.
    Xor,
}

/// An element that can be computed with.
trait Number: Copy {
    const BYTES: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn least(self, other: Self) -> Self;
    fn greatest(self, other: Self) -> Self;
    fn over(self, count: usize) -> Self;
}

macro_rules! integer {
    ($($kind:ty),*) => { $(impl Number for $kind {
        const BYTES: usize = size_of::<$kind>();
        fn read(bytes: &[u8]) -> Self { Self::from_ne_bytes(bytes.try_into().expect("an element's bytes")) }
        fn write(self, bytes: &mut [u8]) { bytes.copy_from_slice(&self.to_ne_bytes()); }
        fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
        fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
        fn least(self, other: Self) -> Self { self.min(other) }
        fn greatest(self, other: Self) -> Self { self.max(other) }
        // A count that the type does not hold is more than any element.
        fn over(self, count: usize) -> Self { <$kind>::try_from(count).map_or(0, |count| self / count) }
    })* };
}

/// Floats compute in `$wide`, and are rounded after each step.
macro_rules! float {
    ($($kind:ty, $wide:ty, $to:expr, $from:expr;)*) => { $(impl Number for $kind {
        const BYTES: usize = size_of::<$kind>();
        fn read(bytes: &[u8]) -> Self { Self::from_ne_bytes(bytes.try_into().expect("an element's bytes")) }
        fn write(self, bytes: &mut [u8]) { bytes.copy_from_slice(&self.to_ne_bytes()); }
        fn plus(self, other: Self) -> Self { $from($to(self) + $to(other)) }
        fn times(self, other: Self) -> Self { $from($to(self) * $to(other)) }
        fn least(self, other: Self) -> Self { if self.is_nan() || self < other { self } else { other } }
        fn greatest(self, other: Self) -> Self { if self.is_nan() || self > other { self } else { other } }
        fn over(self, count: usize) -> Self { $from($to(self) / count as $wide) }
    })* };
}

integer!(u8, i8, i16, i32, i64);
float! {
    f16, f32, f16::to_f32, f16::from_f32;
    bf16, f32, bf16::to_f32, bf16::from_f32;
    f32, f32, std::convert::identity, std::convert::identity;
    f64, f64, std::convert::identity, std::convert::identity;
}

fn each<N: Number>(into: &mut [u8], from: &[u8], both: impl Fn(N, N) -> N) {
    for (a, b) in into.chunks_exact_mut(N::BYTES).zip(from.chunks_exact(N::BYTES)) {
        both(N::read(a), N::read(b)).write(a);
    }
}

fn combine<N: Number>(op: Op, into: &mut [u8], from: &[u8]) {
    match op {
        Op::Sum | Op::Average => each(into, from, N::plus),
        Op::Product => each(into, from, N::times),
        Op::Min => each(into, from, N::least),
        Op::Max => each(into, from, N::greatest),
        Op::And => into.iter_mut().zip(from).for_each(|(a, b)| *a &= b),
        Op::Or => into.iter_mut().zip(from).for_each(|(a, b)| *a |= b),
        Op::Xor => into.iter_mut().zip(from).for_each(|(a, b)| *a ^= b),
    }
}

fn divide<N: Number>(into: &mut [u8], count: usize) {
    into.chunks_exact_mut(N::BYTES).for_each(|bytes| N::read(bytes).over(count).write(bytes));
}

/// Calls `$function::<N>` with the type of the elements.
macro_rules! of_type {
    ($element:expr, $function:ident ( $($argument:expr),* )) => {
        match $element {
            Element::U8 => $function::<u8>($($argument),*),
            Element::I8 => $function::<i8>($($argument),*),
            Element::I16 => $function::<i16>($($argument),*),
            Element::I32 => $function::<i32>($($argument),*),
            Element::I64 => $function::<i64>($($argument),*),
            Element::F16 => $function::<f16>($($argument),*),
            Element::Bf16 => $function::<bf16>($($argument),*),
            Element::F32 => $function::<f32>($($argument),*),
            Element::F64 => $function::<f64>($($argument),*),
        }
    };
}

impl Element {
    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Element::U8 | Element::I8 => 1,
            Element::I16 | Element::F16 | Element::Bf16 => 2,
            Element::I32 | Element::F32 => 4,
            Element::I64 | Element::F64 => 8,
        }
    }

    /// Makes each element of `into` one with that of `from`. The average is a sum here; see
    /// [`Element::finish`].
    pub fn reduce(self, op: Op, into: &mut [u8], from: &[u8]) {
        of_type!(self, combine(op, into, from));
    }

    /// What is left to do with elements that those of `count` processes have been reduced into.
    pub fn finish(self, op: Op, into: &mut [u8], count: usize) {
        if op == Op::Average {
            of_type!(self, divide(into, count));
        }
    }
}
