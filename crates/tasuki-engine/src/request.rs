//! Requests for one-sided transfers, as they are sent.

/// Puts of up to this size travel in their request, bytes: one copy costs less than another message.
pub(crate) const SMALL: usize = 4096;

/// Bytes of a request without payload: operation, key, offset, length, number; u64 each.
pub(crate) const HEAD: usize = 40;

pub(crate) const PUT_SMALL: u64 = 1;
pub(crate) const PUT: u64 = 2;
pub(crate) const GET: u64 = 3;

/// Numbers of requests: they share a tag with two bits that say what a message is.
pub(crate) const NUMBERS: u64 = (1 << 62) - 1;

/// A request as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub what: u64,
    pub key: u64,
    pub offset: u64,
    pub len: u64,
    pub number: u64,
}

impl Request {
    pub fn write(&self, into: &mut Vec<u8>) {
        for field in [self.what, self.key, self.offset, self.len, self.number] {
            into.extend_from_slice(&field.to_le_bytes());
        }
    }

    /// The request and the payload in it; `None` if it is none.
    pub fn read(bytes: &[u8]) -> Option<(Request, &[u8])> {
        let (head, payload) = bytes.split_at_checked(HEAD)?;
        let mut fields = head.chunks_exact(8).map(|chunk| {
            let mut field = [0; 8];
            field.copy_from_slice(chunk);
            u64::from_le_bytes(field)
        });
        let mut next = || fields.next();
        let (what, key, offset) = (next()?, next()?, next()?);
        let request = Request { what, key, offset, len: next()?, number: next()? };
        let inline = if what == PUT_SMALL { request.len } else { 0 };
        let valid = matches!(what, PUT_SMALL | PUT | GET)
            && payload.len() as u64 == inline
            && request.number <= NUMBERS;
        valid.then_some((request, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back_and_nonsense_does_not() {
        let request = Request { what: PUT_SMALL, key: u64::MAX, offset: 3, len: 2, number: NUMBERS };
        let mut bytes = Vec::new();
        request.write(&mut bytes);
        bytes.extend_from_slice(b"ab");
        assert_eq!(Request::read(&bytes), Some((request, &b"ab"[..])));
        for len in 0..bytes.len() {
            assert_eq!(Request::read(&bytes[..len]), None, "{len} bytes");
        }
        for (what, number) in [(0, 1), (4, 1), (PUT_SMALL, NUMBERS + 1), (PUT, 1), (GET, 1)] {
            let mut bytes = Vec::new();
            Request { what, number, ..request }.write(&mut bytes);
            bytes.extend_from_slice(b"ab");
            assert_eq!(Request::read(&bytes), None, "operation {what}, number {number}");
        }
    }
}
