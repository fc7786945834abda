//! What a collective operation exchanges, by sends and receives of the group's endpoint.

use tasuki_collectives::{Incoming, Mesh, Outgoing};
use tasuki_engine::Buffer;

use crate::error::Error;
use crate::net::{Deadline, Net};

/// The ranks of a group in one collective operation.
pub(crate) struct Turn<'a> {
    pub net: &'a Net,
    pub tag: u64,
    pub deadline: Deadline,
}

impl Mesh for Turn<'_> {
    type Error = Error;

    fn rank(&self) -> usize {
        self.net.rank
    }

    fn size(&self) -> usize {
        self.net.size
    }

    fn exchange(
        &mut self,
        outgoing: &[Outgoing<'_>],
        incoming: &mut [Incoming<'_>],
        arrived: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<(), Error> {
        let result = self.post_and_wait(outgoing, incoming, arrived);
        if result.is_err() {
            // The slices are borrowed no longer than this call: nothing may be under way in them.
            self.net.give_up();
        }
        result
    }
}

impl Turn<'_> {
    fn post_and_wait(
        &self,
        outgoing: &[Outgoing<'_>],
        incoming: &mut [Incoming<'_>],
        arrived: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<(), Error> {
        let (mut receives, mut sends) = (Vec::new(), Vec::new());
        for Incoming { from, bytes } in incoming.iter_mut() {
            let buffer = Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() };
            // SAFETY: the slice is borrowed until `exchange` returns, which is when the receive is over or
            // the endpoint is closed; it is given to `arrived` after its receive only.
            receives.push((unsafe { self.net.recv(Some(*from), self.tag, buffer) }?, *from));
        }
        for Outgoing { to, bytes } in outgoing {
            let buffer = Buffer { ptr: bytes.as_ptr().cast_mut(), len: bytes.len() };
            // SAFETY: the slice is borrowed until `exchange` returns, which is when the send is over or the
            // endpoint is closed. The engine does not write to what it sends.
            sends.push((unsafe { self.net.send(*to, self.tag, buffer) }?, *to));
        }
        for (index, (name, from)) in receives.into_iter().enumerate() {
            self.net.finish(name, from, self.deadline)?;
            arrived(index, incoming[index].bytes);
        }
        for (name, to) in sends {
            self.net.finish(name, to, self.deadline)?;
        }
        Ok(())
    }
}
