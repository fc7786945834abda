//! What leaves for other processes.

use tasuki_dsm::{Message, NodeId};
use tasuki_engine::{Buffer, Endpoint, Peer, PostError, Report, SendArgs};

use crate::core::Core;

impl Core {
    /// Sends what waits: messages to the same node one after the other, so that they share packets.
    pub fn flush(&mut self, endpoint: &Endpoint) -> Result<(), String> {
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.sort_by_key(|(to, _)| to.0);
        for (index, &(to, message)) in outbox.iter().enumerate() {
            let more = outbox.get(index + 1).is_some_and(|(next, _)| *next == to);
            self.send(to, message, None, more, endpoint)?;
        }
        outbox.clear();
        self.outbox = outbox;
        Ok(())
    }

    pub fn send(
        &mut self,
        to: NodeId,
        message: Message,
        page: Option<Buffer>,
        more: bool,
        endpoint: &Endpoint,
    ) -> Result<(), String> {
        let Some(peer) = self.peers.get(usize::from(to.0)).copied().flatten() else {
            return Err(format!("there is no {to}"));
        };
        let mut head = message.to_bytes();
        let head = Buffer { ptr: head.as_mut_ptr(), len: head.len() };
        let buffers = [head, page.unwrap_or(Buffer { ptr: head.ptr, len: 0 })];
        let buffers = &buffers[..1 + usize::from(page.is_some())];
        // SAFETY: the head lives until `send` returns, and a page that is sent is here, and threads cannot
        // write to it: the node has protected it before.
        unsafe { send_now(peer, buffers, more, endpoint) }.map_err(|error| format!("{to}: {error}"))
    }
}

/// Sends bytes, which are the caller's again when this returns. `more`: others to the same peer follow at
/// once.
///
/// # Safety
/// The buffers can be read, and nobody writes to them until this returns.
pub(crate) unsafe fn send_now(
    peer: Peer,
    buffers: &[Buffer],
    more: bool,
    endpoint: &Endpoint,
) -> Result<(), PostError> {
    let args = SendArgs {
        peer,
        tag: None,
        data: None,
        buffers,
        inject: true,
        report: Report::Failure,
        delivery: false,
        more,
        context: 0,
    };
    // SAFETY: as the caller promises.
    unsafe { endpoint.send(&args) }
}
