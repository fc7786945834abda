//! What the operations need of whatever carries the bytes.

/// Bytes for another process.
pub struct Outgoing<'a> {
    /// The receiver's rank.
    pub to: usize,
    /// The message.
    pub bytes: &'a [u8],
}

/// Memory for a message of another process, of exactly its length.
pub struct Incoming<'a> {
    /// The sender's rank.
    pub from: usize,
    /// Where the message goes.
    pub bytes: &'a mut [u8],
}

/// Processes that take part in an operation, seen from one of them.
pub trait Mesh {
    /// Why an exchange has failed.
    type Error;

    /// This process's rank, counted from 0.
    fn rank(&self) -> usize;

    /// How many processes there are.
    fn size(&self) -> usize;

    /// Sends all of `outgoing` and receives all of `incoming` at once. Messages between two processes keep
    /// their order; none is to the process itself. Returns when the memory of all is free again.
    ///
    /// `arrived` is called with the index and the bytes of each message of `incoming`, in their order, when
    /// it and those before it are there; others are under way meanwhile.
    fn exchange(
        &mut self,
        outgoing: &[Outgoing<'_>],
        incoming: &mut [Incoming<'_>],
        arrived: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<(), Self::Error>;
}

/// One message each way, of which either may be absent.
pub(crate) fn swap<M: Mesh>(
    mesh: &mut M,
    out: Option<(usize, &[u8])>,
    into: Option<(usize, &mut [u8])>,
) -> Result<(), M::Error> {
    let outgoing: Vec<_> = out.into_iter().map(|(to, bytes)| Outgoing { to, bytes }).collect();
    let mut incoming: Vec<_> = into.into_iter().map(|(from, bytes)| Incoming { from, bytes }).collect();
    mesh.exchange(&outgoing, &mut incoming, &mut |_, _| ())
}
