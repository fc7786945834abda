//! Messages with descriptors over a UNIX `SOCK_SEQPACKET` socket.
//!
//! A message's text travels in a memory file whose descriptor is the message's first, so its size is not
//! limited by the socket's buffer (an environment can be hundreds of kilobytes).

use nix::{
    cmsg_space,
    sys::{
        memfd::{MFdFlags, memfd_create},
        socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg},
    },
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    fs::File,
    io::{self, IoSlice, IoSliceMut, Read, Seek, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

/// Descriptors that one message may carry besides its text: standard input, output and error, and one more.
pub const MAX_DESCRIPTORS: usize = 4;
/// Longest text accepted, in bytes: arguments and environment are limited to 2 MiB by the kernel, a status of
/// a large lab is smaller.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// One end of a message channel.
pub struct Channel(OwnedFd);

impl From<OwnedFd> for Channel {
    fn from(socket: OwnedFd) -> Self {
        Self(socket)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What was received.
pub struct Received<T> {
    /// The message.
    pub message: T,
    /// Descriptors that came with it.
    pub descriptors: Vec<OwnedFd>,
}

impl Channel {
    /// Sends a message.
    pub fn send<T: Serialize>(&self, message: &T, descriptors: &[BorrowedFd]) -> io::Result<()> {
        let mut text = File::from(memfd_create(c"tasuki-message", MFdFlags::MFD_CLOEXEC)?);
        // In one call: written straight into a file, JSON takes a call for every word of it.
        text.write_all(&serde_json::to_vec(message)?)?;
        let mut raw: Vec<RawFd> = vec![text.as_raw_fd()];
        raw.extend(descriptors.iter().map(AsRawFd::as_raw_fd));
        let control = [ControlMessage::ScmRights(&raw)];
        let payload = [IoSlice::new(b"m")];
        // MSG_NOSIGNAL: a client that has gone is an error, not a SIGPIPE.
        retry(|| sendmsg::<()>(self.0.as_raw_fd(), &payload, &control, MsgFlags::MSG_NOSIGNAL, None))?;
        Ok(())
    }

    /// Waits for a message; `None` when the other end has closed.
    pub fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<Received<T>>> {
        let Some(mut descriptors) = self.receive_descriptors()? else { return Ok(None) };
        if descriptors.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message without text"));
        }
        let mut file = File::from(descriptors.remove(0));
        if file.metadata()?.len() > MAX_TEXT_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message of over 64 MiB"));
        }
        // The descriptor shares its position with the sender's, which is at the end.
        file.rewind()?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(Some(Received { message: serde_json::from_str(&text)?, descriptors }))
    }

    fn receive_descriptors(&self) -> io::Result<Option<Vec<OwnedFd>>> {
        let mut byte = [0u8; 1];
        let mut control = cmsg_space!([RawFd; MAX_DESCRIPTORS + 1]);
        let mut payload = [IoSliceMut::new(&mut byte)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message = loop {
            match recvmsg::<()>(self.0.as_raw_fd(), &mut payload, Some(&mut control), flags) {
                Err(nix::Error::EINTR) => {}
                Err(nix::Error::ECONNRESET) => return Ok(None),
                result => break result?,
            }
        };
        let mut descriptors = Vec::new();
        for part in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(raw) = part {
                // SAFETY: the kernel made these descriptors for this process with this message; nobody else
                // owns them.
                descriptors.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        Ok(if message.bytes == 0 { None } else { Some(descriptors) })
    }
}

fn retry<T>(mut call: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    loop {
        match call() {
            Err(nix::Error::EINTR) => {}
            result => return result,
        }
    }
}
