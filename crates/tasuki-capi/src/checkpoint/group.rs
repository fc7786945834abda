//! The functions by which the program's processes talk.

use std::ffi::c_int;

use tasuki_checkpoint::{Group, GroupError};

use crate::types::RawCheckpointGroup;

/// The program's functions.
pub struct Callbacks(pub RawCheckpointGroup);

impl Drop for Callbacks {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: `tasuki_checkpoint.h` says that the function is called once, with its context.
            unsafe { release(self.0.context) };
        }
    }
}

impl Group for Callbacks {
    fn rank(&self) -> usize {
        self.0.rank as usize
    }

    fn size(&self) -> usize {
        self.0.size as usize
    }

    fn gather(&mut self, mine: &[u8], all: &mut [u8]) -> Result<(), GroupError> {
        let gather = self.0.gather.ok_or(GroupError(0))?;
        // SAFETY: the program promises a function that reads and writes as many bytes; `all` has as many for
        // each process.
        let code =
            unsafe { gather(self.0.context, mine.as_ptr().cast(), all.as_mut_ptr().cast(), mine.len()) };
        if code == 0 { Ok(()) } else { Err(GroupError(code)) }
    }

    fn exchange(
        &mut self,
        out: &[u8],
        to: Option<usize>,
        into: &mut [u8],
        from: Option<usize>,
    ) -> Result<(), GroupError> {
        let exchange = self.0.exchange.ok_or(GroupError(0))?;
        let rank = |rank: Option<usize>| rank.map_or(-1, |rank| rank as c_int);
        let (out_bytes, in_bytes) = (to.map_or(0, |_| out.len()), from.map_or(0, |_| into.len()));
        // SAFETY: as above.
        let code = unsafe {
            let (out, into) = (out.as_ptr().cast(), into.as_mut_ptr().cast());
            exchange(self.0.context, out, out_bytes, rank(to), into, in_bytes, rank(from))
        };
        if code == 0 { Ok(()) } else { Err(GroupError(code)) }
    }
}
