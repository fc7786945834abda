//! The format of requests for one-sided transfers.

/// Size of a request without payload, bytes: operation, key, offset, length, number; `u64` each,
/// little-endian.
pub(super) const HEAD: usize = 40;

/// Operation: a put whose payload follows in the request.
pub(super) const PUT_INLINE: u64 = 1;
/// Operation: a put whose payload follows in a message of its own.
pub(super) const PUT: u64 = 2;
/// Operation: a get.
pub(super) const GET: u64 = 3;

/// Largest number of a request. Numbers share a tag with two bits that say what a message is.
pub(super) const NUMBER_MAX: u64 = (1 << 62) - 1;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub what: u64,
    /// Key of the target's memory region.
    pub key: u64,
    pub offset: u64,
    pub len: u64,
    pub number: u64,
}

impl Request {
    /// Appends the request without payload.
    pub fn write(&self, into: &mut Vec<u8>) {
        for field in [self.what, self.key, self.offset, self.len, self.number] {
            into.extend_from_slice(&field.to_le_bytes());
        }
    }

    /// Reads a request, and gives the payload in it. `None` if the bytes are no request.
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
        let inline = if what == PUT_INLINE { request.len } else { 0 };
        let valid = matches!(what, PUT_INLINE | PUT | GET)
            && payload.len() as u64 == inline
            && request.number <= NUMBER_MAX;
        valid.then_some((request, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_wire_and_nonsense_is_refused() {
        let request = Request { what: PUT_INLINE, key: u64::MAX, offset: 3, len: 2, number: NUMBER_MAX };
        let mut bytes = Vec::new();
        request.write(&mut bytes);
        bytes.extend_from_slice(b"ab");
        assert_eq!(Request::read(&bytes), Some((request, &b"ab"[..])));
        for len in 0..bytes.len() {
            assert_eq!(Request::read(&bytes[..len]), None, "{len} bytes");
        }
        for (what, number) in [(0, 1), (4, 1), (PUT_INLINE, NUMBER_MAX + 1), (PUT, 1), (GET, 1)] {
            let mut bytes = Vec::new();
            Request { what, number, ..request }.write(&mut bytes);
            bytes.extend_from_slice(b"ab");
            assert_eq!(Request::read(&bytes), None, "operation {what}, number {number}");
        }
    }
}
