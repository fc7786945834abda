//! The format of requests for one-sided transfers.

use super::atomic::Atomic;
use super::operations::{AtomicOp, Datatype};

/// Size of a request without payload, bytes: operation, key, offset, length, number; `u64` each,
/// little-endian.
pub(super) const HEAD: usize = 40;

/// Operation: a put whose payload follows in the request.
pub(super) const PUT_INLINE: u64 = 1;
/// Operation: a put whose payload follows in a message of its own.
pub(super) const PUT: u64 = 2;
/// Operation: a get.
pub(super) const GET: u64 = 3;
/// Operation: an atomic operation whose operands follow in the request, the comparand behind the operand. The
/// next three bytes say what is done, on which type, and whether the former values are the answer.
const ATOMIC: u64 = 4;
const OP_SHIFT: u32 = 8;
const DATATYPE_SHIFT: u32 = 16;
const FETCH_SHIFT: u32 = 24;

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

/// The operation of a request for this atomic operation.
pub(super) fn atomic(atomic: &Atomic) -> u64 {
    let Atomic { op, datatype, fetch } = *atomic;
    ATOMIC | (op as u64) << OP_SHIFT | (datatype as u64) << DATATYPE_SHIFT | u64::from(fetch) << FETCH_SHIFT
}

impl Request {
    /// The atomic operation that is asked for, if it is one.
    pub fn atomic(&self) -> Option<Atomic> {
        let byte = |shift: u32| (self.what >> shift) & 0xff;
        let op = AtomicOp::from_number(byte(OP_SHIFT))?;
        let asked = Atomic {
            op,
            datatype: Datatype::from_number(byte(DATATYPE_SHIFT))?,
            fetch: byte(FETCH_SHIFT) == 1,
        };
        (self.what == atomic(&asked)).then_some(asked)
    }

    /// Whether the bytes of the target's region are read, and whether they are written.
    pub fn uses(&self) -> (bool, bool) {
        match self.atomic() {
            Some(atomic) => (atomic.fetch, atomic.op != AtomicOp::Read),
            None => (self.what == GET, self.what != GET),
        }
    }

    /// Size of the payload behind the request, bytes; `None` if there is no such operation.
    fn payload(&self) -> Option<u64> {
        if let Some(atomic) = self.atomic() {
            let (operand, comparand) = atomic.fits(self.len).then(|| atomic.operands(self.len as usize))?;
            return Some((operand + comparand) as u64);
        }
        match self.what {
            PUT_INLINE => Some(self.len),
            PUT | GET => Some(0),
            _ => None,
        }
    }

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
        let valid = request.payload() == Some(payload.len() as u64) && request.number <= NUMBER_MAX;
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
        for (what, number) in [(0, 1), (5, 1), (PUT_INLINE, NUMBER_MAX + 1), (PUT, 1), (GET, 1)] {
            let mut bytes = Vec::new();
            Request { what, number, ..request }.write(&mut bytes);
            bytes.extend_from_slice(b"ab");
            assert_eq!(Request::read(&bytes), None, "operation {what}, number {number}");
        }
    }

    #[test]
    fn atomic_requests_survive_the_wire_and_nonsense_is_refused() {
        let swap = Atomic { op: AtomicOp::SwapIfEqual, datatype: Datatype::U32, fetch: true };
        let request = Request { what: atomic(&swap), key: 7, offset: 8, len: 8, number: 1 };
        let mut bytes = Vec::new();
        request.write(&mut bytes);
        let head = bytes.clone();
        bytes.extend_from_slice(&[1; 16]);
        assert_eq!(Request::read(&bytes), Some((request, &[1; 16][..])));
        assert_eq!(Request::read(&bytes).and_then(|(read, _)| read.atomic()), Some(swap));
        assert_eq!(Request::read(&head), None, "the operands are missing");
        let refused = [
            ("no such operation", 4 | 19 << OP_SHIFT),
            ("no such type", 4 | 10 << DATATYPE_SHIFT),
            ("neither fetched nor not", 4 | 2 << FETCH_SHIFT),
            ("a bit more", request.what | 1 << 32),
            (
                "bits of a float",
                atomic(&Atomic { datatype: Datatype::F32, op: AtomicOp::BitOr, fetch: false }),
            ),
            ("nothing", 0),
        ];
        for (why, what) in refused {
            let mut bytes = Vec::new();
            Request { what, ..request }.write(&mut bytes);
            for operands in [0, 8, 16] {
                let bytes = [&bytes[..], &vec![0; operands]].concat();
                assert_eq!(Request::read(&bytes), None, "{why}, {operands} bytes");
            }
        }
        for len in [0, 7, 4096] {
            let mut bytes = Vec::new();
            Request { len, ..request }.write(&mut bytes);
            bytes.resize(bytes.len() + 2 * len as usize, 0);
            assert_eq!(Request::read(&bytes), None, "{len} bytes: none, half an element, too many");
        }
    }
}
