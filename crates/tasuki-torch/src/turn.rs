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

/// Closes the endpoint when it is dropped.
struct GiveUp<'a>(&'a Net);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
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
        // The slices are borrowed for this call alone: however it ends, nothing may be under way in them.
        let closing = GiveUp(self.net);
        let result = self.post_and_wait(outgoing, incoming, arrived);
        if result.is_ok() {
            std::mem::forget(closing);
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
            self.net.finish(name, Some(from), self.deadline)?;
            arrived(index, incoming[index].bytes);
        }
        for (name, to) in sends {
            self.net.finish(name, Some(to), self.deadline)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::net::tests::pair;

    /// What a panic unwinds over is freed next, while more messages are expected in it.
    #[test]
    fn a_panic_leaves_nothing_under_way() {
        let nets = pair();
        let turn = |rank: usize| Turn {
            net: &nets[rank],
            tag: 1,
            deadline: Deadline::after(Duration::from_secs(60)),
        };
        thread::scope(|scope| {
            let sends = scope
                .spawn(|| turn(0).exchange(&[Outgoing { to: 1, bytes: &[1; 8] }], &mut [], &mut |_, _| ()));
            let (mut first, mut second) = ([0; 8], [0; 8]);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let mut incoming =
                    [Incoming { from: 0, bytes: &mut first }, Incoming { from: 0, bytes: &mut second }];
                turn(1).exchange(&[], &mut incoming, &mut |_, _| panic!("on purpose"))
            }));
            assert!(panicked.is_err());
            assert!(matches!(nets[1].address(), Err(Error::Closed)));
            sends.join().expect("no panic").expect("sent");
        });
    }
}
