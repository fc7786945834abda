//! Listeners, and how a connection comes to be.
//!
//! A handle, which NCCL brings from the listener to whoever connects, is 128 bytes: magic (4), version (4),
//! number of the listener (4), address of its endpoint (48), zeros. A hello, which the engine brings back, is
//! 12 bytes: magic, version, number of the connection. Numbers are little-endian.

use std::sync::{Arc, Mutex, PoisonError};

use tasuki_engine::{Address, Buffer};

use crate::comm::Comm;
use crate::context::Context;
use crate::error::{Code, Error};
use crate::net::{Net, State};

/// `NCCL_NET_HANDLE_MAXSIZE`, bytes.
pub(crate) const HANDLE_LEN: usize = 128;

/// What handles and hellos of this plug-in begin with.
const MAGIC: u32 = u32::from_le_bytes(*b"TskN");

/// Version of handles, hellos and tags.
const VERSION: u32 = 1;

const HELLO_LEN: usize = 12;

/// Set in the tag of a hello, beside the number of the listener.
const HELLO_TAG: u64 = 1 << 63;

/// A handle or a hello that begins with magic, version and a number; what follows is empty.
fn begin<const N: usize>(number: u32) -> [u8; N] {
    let mut bytes = [0; N];
    for (at, word) in [MAGIC, VERSION, number].into_iter().enumerate() {
        bytes[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The number in a handle or a hello.
fn number(bytes: &[u8]) -> Result<u32, Error> {
    let word =
        |at: usize| bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    if word(0) != Some(MAGIC) {
        let text =
            "the peer does not use Tasuki: set NCCL_NET_PLUGIN=tasuki and NCCL_NET=Tasuki on all hosts";
        return Err(Error::new(Code::Usage, text));
    }
    match (word(4), word(8)) {
        (Some(VERSION), Some(number)) => Ok(number),
        _ => Err(Error::new(Code::Usage, "the peer has another version of Tasuki; all hosts need the same")),
    }
}

/// Connects to whoever made this handle. The connection can be used at once.
pub(crate) fn connect(context: &Arc<Context>, handle: &[u8; HANDLE_LEN]) -> Result<Arc<Comm>, Error> {
    let listener = number(handle)?;
    let address = Address::from_bytes(&handle[HELLO_LEN..HELLO_LEN + Address::LEN])
        .map_err(|error| Error::new(Code::Usage, error))?;
    let net = context.net()?;
    let peer = net.add_peer(&address)?;
    let number = net.number()?;
    let mut hello: [u8; HELLO_LEN] = begin(number);
    let buffer = Buffer { ptr: hello.as_mut_ptr(), len: HELLO_LEN };
    // SAFETY: the buffer may be gone when this returns, as the send copies it.
    let sent = unsafe { net.send(peer, HELLO_TAG | u64::from(listener), buffer, true) }?;
    // If the peer is gone, the first message will tell.
    net.forget(sent);
    Ok(Arc::new(Comm::new(Arc::clone(context), net, peer, number)))
}

/// A listener: it takes a hello at a time.
pub(crate) struct Listener {
    context: Arc<Context>,
    net: Arc<Net>,
    number: u32,
    waiting: Mutex<Waiting>,
}

/// The receive of the next hello, and its memory.
struct Waiting {
    operation: u64,
    hello: Box<[u8; HELLO_LEN]>,
}

impl Waiting {
    fn begin(net: &Net, listener: u32) -> Result<Waiting, Error> {
        let mut hello = Box::new([0; HELLO_LEN]);
        let buffer = Buffer { ptr: hello.as_mut_ptr(), len: HELLO_LEN };
        // SAFETY: the box stays where it is, unused, until the receive is over: `accept` looks at it then,
        // and `Listener::close` drops it then.
        let operation = unsafe { net.recv(None, HELLO_TAG | u64::from(listener), buffer) }?;
        Ok(Waiting { operation, hello })
    }
}

impl Listener {
    /// Begins to listen. Gives the handle for those who are to connect.
    pub fn open(context: &Arc<Context>) -> Result<(Listener, [u8; HANDLE_LEN]), Error> {
        let net = context.net()?;
        let number = net.number()?;
        let mut handle: [u8; HANDLE_LEN] = begin(number);
        handle[HELLO_LEN..HELLO_LEN + Address::LEN].copy_from_slice(&net.address()?.to_bytes());
        let waiting = Mutex::new(Waiting::begin(&net, number)?);
        Ok((Listener { context: Arc::clone(context), net, number, waiting }, handle))
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The receiving end of the next connection, if somebody has connected.
    pub fn accept(&self) -> Result<Option<Arc<Comm>>, Error> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.net.is_pending(waiting.operation) {
            self.net.turn();
        }
        let (len, peer) = match self.net.state(waiting.operation) {
            State::Pending => return Ok(None),
            State::Done(len, peer) => (len, peer),
            State::Failed(error) => return Err(error),
        };
        self.net.forget(waiting.operation);
        let hello = std::mem::replace(&mut *waiting, Waiting::begin(&self.net, self.number)?).hello;
        let number = number(&hello[..len])?;
        if number >= 1 << 31 {
            let text = "a connection has a number that this version of Tasuki does not give";
            return Err(Error::new(Code::Usage, text));
        }
        let (context, net) = (Arc::clone(&self.context), Arc::clone(&self.net));
        Ok(Some(Arc::new(Comm::new(context, net, peer, number))))
    }

    /// Ends listening. Who has connected since the last `accept` stays without an answer.
    pub fn close(self) {
        let waiting = self.waiting.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.net.settle(&[waiting.operation], self.context.log);
        self.net.forget(waiting.operation);
        drop(self.net);
        self.context.close_if_idle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_others_are_refused_with_what_to_do() {
        let good: [u8; HANDLE_LEN] = begin(7);
        assert_eq!(number(&good), Ok(7));
        for (bytes, says) in [
            (&[0; HANDLE_LEN][..], "NCCL_NET_PLUGIN"),
            (&good[..8], "version"),
            (&good[..2], "NCCL_NET_PLUGIN"),
            (&begin::<HANDLE_LEN>(7).map(|byte| if byte == 1 { 2 } else { byte }), "version"),
        ] {
            let error = number(bytes).unwrap_err();
            assert!(error.code == Code::Usage && error.text.contains(says), "{error:?}");
        }
    }
}
