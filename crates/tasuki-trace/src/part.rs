//! The file that one endpoint writes.

use crate::error::PartError;
use crate::record::{Name, Record, SLOT};

/// What parts begin with; the last digit is the version of the format.
const MAGIC: [u8; 4] = *b"TKT1";
/// In place of a rank: not known.
const NO_RANK: u32 = u32::MAX;

/// The endpoint that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The rank of the process, if its launcher has told it.
    pub rank: Option<u32>,
    /// The name of the endpoint, by which its peers know it.
    pub name: Name,
}

impl Head {
    /// Begins a part.
    pub fn put(&self, part: &mut Vec<u8>) {
        part.extend(MAGIC);
        part.extend(self.rank.unwrap_or(NO_RANK).to_le_bytes());
        part.extend(self.name.0);
    }
}

/// What was recorded at one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The endpoint that wrote it.
    pub head: Head,
    /// What happened, in order.
    pub records: Vec<Record>,
}

impl Part {
    /// Reads a part. A last record that is not whole, as a process that was killed leaves it, is left out.
    ///
    /// # Errors
    /// If the bytes are no part.
    pub fn parse(bytes: &[u8]) -> Result<Part, PartError> {
        let (slots, _) = bytes.as_chunks::<SLOT>();
        let (head, records) = slots.split_first().ok_or(PartError::Foreign)?;
        if head[..4] != MAGIC {
            return Err(PartError::Foreign);
        }
        let rank = u32::from_le_bytes(std::array::from_fn(|byte| head[4 + byte]));
        let name = Name(std::array::from_fn(|byte| head[8 + byte]));
        let head = Head { rank: (rank != NO_RANK).then_some(rank), name };
        Ok(Part { head, records: records.iter().map(Record::read).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_up_to_its_last_whole_record() {
        for rank in [None, Some(0), Some(7)] {
            let head = Head { rank, name: Name([5; 32]) };
            let end = Record::End { at: 1, compute: 2, one_sided: 0 };
            let mut bytes = Vec::new();
            head.put(&mut bytes);
            end.put(&mut bytes);
            let whole = Part { head, records: vec![end] };
            assert_eq!(Part::parse(&bytes), Ok(whole));
            let cut = Part::parse(&bytes[..bytes.len() - 1]);
            assert_eq!(cut, Ok(Part { head, records: vec![] }));
        }
    }

    #[test]
    fn what_is_no_part_is_an_error() {
        for bytes in [&b""[..], b"TKT1", &[0; 80]] {
            assert_eq!(Part::parse(bytes), Err(PartError::Foreign));
        }
    }
}
