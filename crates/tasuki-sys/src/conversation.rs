//! Synchronous netlink: one socket, one request at a time.

use netlink_packet_core::{
    NLM_F_REQUEST, NetlinkDeserializable, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::Socket;
use std::io;

/// A netlink socket of the network namespace in which it was opened.
pub(crate) struct Conversation {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Conversation {
    /// Opens a socket in the calling thread's network namespace.
    pub(crate) fn open(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        Ok(Self { socket, sequence: 0, buffer: Vec::with_capacity(64 * 1024) })
    }

    /// Sends one request, which is a dump or asks to be acknowledged, and waits for the end of the answer.
    /// The kernel answers synchronously, so this never waits long. Returns the messages before the end.
    pub(crate) fn transact<M>(&mut self, message: M, flags: u16) -> io::Result<Vec<M>>
    where
        M: NetlinkSerializable + NetlinkDeserializable,
        NetlinkPayload<M>: From<M>,
    {
        self.sequence = self.sequence.wrapping_add(1);
        let mut packet = NetlinkMessage::new(Default::default(), NetlinkPayload::from(message));
        packet.header.flags = flags | NLM_F_REQUEST;
        packet.header.sequence_number = self.sequence;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;

        let mut answers = Vec::new();
        loop {
            self.buffer.clear();
            self.socket.recv(&mut self.buffer, 0)?;
            if take_answers(&self.buffer, self.sequence, &mut answers)? {
                return Ok(answers);
            }
        }
    }
}

/// Reads the messages of one datagram. Returns true once the answer to this request is complete.
fn take_answers<M: NetlinkDeserializable>(
    mut rest: &[u8],
    sequence: u32,
    answers: &mut Vec<M>,
) -> io::Result<bool> {
    while !rest.is_empty() {
        let message = NetlinkMessage::<M>::deserialize(rest)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        let length = (message.header.length as usize).next_multiple_of(4);
        let ours = message.header.sequence_number == sequence;
        match message.payload {
            _ if !ours => {}
            // A dump that breaks off carries its error in the message that ends it.
            NetlinkPayload::Done(done) if done.code < 0 => {
                return Err(io::Error::from_raw_os_error(-done.code));
            }
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
            NetlinkPayload::Error(_) => return Ok(true),
            NetlinkPayload::InnerMessage(inner) => answers.push(inner),
            _ => {}
        }
        rest = rest.get(length.max(1)..).unwrap_or_default();
    }
    Ok(false)
}
