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
    /// The sum, divided by the number of processes; integers are divided towards zero. Elements of
    /// [`Element::F16`], of which none exceeds 65,504, are divided before they are added.
    Average,
    /// The product; that of integers wraps around.
    Product,
    /// The least; -0 is less than +0. Not a number (NaN) if one is.
    Min,
    /// The greatest; +0 is greater than -0. Not a number (NaN) if one is.
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
        // A count that the type does not hold is more than any element, except that the least one may be its
        // opposite.
        fn over(self, count: usize) -> Self {
            match <$kind>::try_from(count) {
                Ok(count) => self / count,
                Err(_) => (i128::from(self) / count as i128) as Self,
            }
        }
    })* };
}

/// A float.
trait Float {
    /// The number; one certain NaN in place of any other. Processors give that of the first operand, and two
    /// processes that exchange theirs have different ones there.
    fn one_nan(self) -> Self;
}

/// Floats compute in `$wide`, and are rounded after each step. Of equal numbers only zeros differ in their
/// bits: which of them is taken must not depend on the order.
macro_rules! float {
    ($($kind:ty, $wide:ty, $to:expr, $from:expr;)*) => { $(impl Float for $kind {
        fn one_nan(self) -> Self { if self.is_nan() { Self::NAN } else { self } }
    }
    impl Number for $kind {
        const BYTES: usize = size_of::<$kind>();
        fn read(bytes: &[u8]) -> Self { Self::from_ne_bytes(bytes.try_into().expect("an element's bytes")) }
        fn write(self, bytes: &mut [u8]) { bytes.copy_from_slice(&self.to_ne_bytes()); }
        fn plus(self, other: Self) -> Self { $from($to(self) + $to(other)).one_nan() }
        fn times(self, other: Self) -> Self { $from($to(self) * $to(other)).one_nan() }
        fn least(self, other: Self) -> Self {
            let is_less = self < other || (self == other && self.is_sign_negative());
            if is_less || self.is_nan() { self.one_nan() } else { other.one_nan() }
        }
        fn greatest(self, other: Self) -> Self {
            let is_greater = self > other || (self == other && self.is_sign_positive());
            if is_greater || self.is_nan() { self.one_nan() } else { other.one_nan() }
        }
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

    /// What is done with a process's own elements, each once, before any are reduced.
    pub fn prepare(self, op: Op, own: &mut [u8], count: usize) {
        if op == Op::Average && self.is_divided_first() {
            of_type!(self, divide(own, count));
        }
    }

    /// Whether the sum of an average may be more than the type holds.
    fn is_divided_first(self) -> bool {
        self == Element::F16
    }

    /// Makes each element of `into` one with that of `from`. The average is a sum here; see
    /// [`Element::prepare`] and [`Element::finish`].
    pub fn reduce(self, op: Op, into: &mut [u8], from: &[u8]) {
        of_type!(self, combine(op, into, from));
    }

    /// What is left to do with elements that those of `count` processes have been reduced into.
    pub fn finish(self, op: Op, into: &mut [u8], count: usize) {
        if op == Op::Average && !self.is_divided_first() {
            of_type!(self, divide(into, count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn average(element: Element, sum: &[u8], count: usize) -> Vec<u8> {
        let mut bytes = sum.to_vec();
        element.finish(Op::Average, &mut bytes, count);
        bytes
    }

    // So many processes with -1 each have the average -1, and with one process more that has 0, 0: integers
    // are divided towards zero.
    #[test]
    fn the_least_number_is_divided_by_as_many_processes() {
        for (count, more, average_of_more) in [(128, 0, -1), (128, 1, 0), (127, 2, 0), (64, 0, -2)] {
            let sum = i8::MIN.to_ne_bytes();
            assert_eq!(average(Element::I8, &sum, count + more), [average_of_more as u8], "{count} {more}");
        }
        assert_eq!(average(Element::I16, &i16::MIN.to_ne_bytes(), 32_768), (-1i16).to_ne_bytes());
        assert_eq!(average(Element::I16, &i16::MAX.to_ne_bytes(), 32_768), 0i16.to_ne_bytes());
        assert_eq!(average(Element::U8, &[255], 256), [0]);
    }
}
