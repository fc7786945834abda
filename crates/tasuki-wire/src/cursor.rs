//! Reading and writing integers at the front of a slice.
//!
//! A `Reader` never goes beyond its slice; it returns `Truncated` instead. A `Writer` writes nothing beyond
//! its slice but goes on counting, so that a frame can first be measured (by writing into an empty slice) and
//! then be written.

use crate::drop_reason::DropReason;

/// First byte of a `var` that is followed by others.
const VAR_LONG: u8 = 248;

/// Bytes that `value` takes as a `var`.
//= docs/reference/wire.md#conventions
//# A `var` must have the shortest form that holds its value.
pub const fn var_len(value: u64) -> usize {
    if value < VAR_LONG as u64 { 1 } else { 1 + (64 - value.leading_zeros() as usize).div_ceil(8) }
}

#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The bytes that have not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], DropReason> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(DropReason::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes `len` bytes; `len` was read from the packet and may be any number.
    pub(crate) fn bytes_u64(&mut self, len: u64) -> Result<&'a [u8], DropReason> {
        self.bytes(usize::try_from(len).map_err(|_| DropReason::Truncated)?)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DropReason> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(DropReason::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DropReason> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DropReason> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DropReason> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u48(&mut self) -> Result<u64, DropReason> {
        let mut wide = [0; 8];
        wide[..6].copy_from_slice(&self.array::<6>()?);
        Ok(u64::from_le_bytes(wide))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DropReason> {
        self.array().map(u64::from_le_bytes)
    }

    //= docs/reference/wire.md#conventions
    //# A first byte of 248 or more says how many bytes follow: the first byte less 247.
    pub(crate) fn var(&mut self) -> Result<u64, DropReason> {
        let first = self.u8()?;
        if first < VAR_LONG {
            return Ok(u64::from(first));
        }
        let following = usize::from(first - VAR_LONG) + 1;
        let value = match self.rest.first_chunk() {
            // Reads eight bytes and masks them, because a copy of odd length would cost more than all the
            // rest.
            Some(wide) => u64::from_le_bytes(*wide) & u64::MAX >> (64 - 8 * following),
            None => {
                let mut wide = [0; 8];
                wide[..following].copy_from_slice(self.rest.get(..following).ok_or(DropReason::Truncated)?);
                u64::from_le_bytes(wide)
            }
        };
        self.bytes(following)?;
        if var_len(value) == 1 + following { Ok(value) } else { Err(DropReason::Varint) }
    }
}

pub(crate) struct Writer<'a> {
    buffer: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(buffer: &'a mut [u8]) -> Writer<'a> {
        Writer { buffer, len: 0 }
    }

    /// A writer that writes nothing and only counts.
    pub(crate) fn measure() -> Writer<'static> {
        Writer { buffer: &mut [], len: 0 }
    }

    /// Number of bytes written, or that would have been written if there had been room.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        if let Some(place) = self.buffer.get_mut(self.len..end) {
            place.copy_from_slice(bytes);
        }
        self.len = end;
    }

    /// Writes `count` zeros; `count` may be any number, as what does not fit is only counted.
    pub(crate) fn zeros(&mut self, count: usize) {
        let end = self.len.saturating_add(count);
        if let Some(place) = self.buffer.get_mut(self.len..end) {
            place.fill(0);
        }
        self.len = end;
    }

    /// Like `bytes`, for a length that is known at compile time.
    #[inline]
    fn array<const N: usize>(&mut self, bytes: [u8; N]) {
        if let Some(place) = self.buffer.get_mut(self.len..).and_then(|rest| rest.first_chunk_mut::<N>()) {
            *place = bytes;
        }
        self.len = self.len.saturating_add(N);
    }

    #[inline]
    pub(crate) fn u8(&mut self, value: u8) {
        self.array([value]);
    }

    #[inline]
    pub(crate) fn u16(&mut self, value: u16) {
        self.array(value.to_le_bytes());
    }

    #[inline]
    pub(crate) fn u32(&mut self, value: u32) {
        self.array(value.to_le_bytes());
    }

    pub(crate) fn u48(&mut self, value: u64) {
        let [a, b, c, d, e, f, ..] = value.to_le_bytes();
        self.array([a, b, c, d, e, f]);
    }

    #[inline]
    pub(crate) fn u64(&mut self, value: u64) {
        self.array(value.to_le_bytes());
    }

    #[inline]
    pub(crate) fn var(&mut self, value: u64) {
        if value < u64::from(VAR_LONG) {
            return self.u8(value as u8);
        }
        let following = var_len(value) - 1;
        let first = VAR_LONG - 1 + following as u8;
        match self.buffer.get_mut(self.len..).and_then(|rest| rest.first_chunk_mut::<9>()) {
            // Writes nine bytes at once; the surplus ones are overwritten by what is written next.
            Some([head, wide @ ..]) => {
                *head = first;
                *wide = value.to_le_bytes();
                self.len += 1 + following;
            }
            None => self.var_at_the_end(first, &value.to_le_bytes()[..following]),
        }
    }

    #[cold]
    fn var_at_the_end(&mut self, first: u8, following: &[u8]) {
        self.u8(first);
        self.bytes(following);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the table in docs/reference/wire.md#conventions.
    const EXAMPLES: [(u64, &[u8]); 6] = [
        (0, &[0x00]),
        (247, &[0xf7]),
        (248, &[0xf8, 0xf8]),
        (256, &[0xf9, 0x00, 0x01]),
        (65536, &[0xfa, 0x00, 0x00, 0x01]),
        (u64::MAX, &[0xff; 9]),
    ];

    #[test]
    fn vars_are_as_specified() {
        for (value, bytes) in EXAMPLES {
            let mut buffer = [0; 9];
            let mut writer = Writer::new(&mut buffer);
            writer.var(value);
            assert_eq!((writer.len(), var_len(value)), (bytes.len(), bytes.len()));
            assert_eq!(&buffer[..bytes.len()], bytes);
            let mut reader = Reader::new(bytes);
            assert_eq!(reader.var(), Ok(value));
            assert!(reader.is_empty());
            for cut in 0..bytes.len() {
                assert_eq!(Reader::new(&bytes[..cut]).var(), Err(DropReason::Truncated));
            }
        }
    }

    #[test]
    fn longer_forms_are_refused() {
        for bytes in [&[0xf8, 0xf7][..], &[0xf9, 0xff, 0], &[0xff, 1, 2, 3, 4, 5, 6, 7, 0]] {
            assert_eq!(Reader::new(bytes).var(), Err(DropReason::Varint));
        }
    }

    #[test]
    fn every_width_goes_round() {
        for shift in 0..64 {
            for value in [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 1] {
                let mut buffer = [0; 9];
                let mut writer = Writer::new(&mut buffer);
                writer.var(value);
                let len = writer.len();
                assert_eq!(Reader::new(&buffer[..len]).var(), Ok(value));
            }
        }
    }
}
