//! Receiving files from the host before, writing them down, and passing them on to the next at the same time.

use super::folder::JobFolder;
use crate::{
    protocol::{Hop, Item},
    sum::{CHUNK, Key, Sum, Summing},
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::{
    fs::File,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream},
    os::fd::AsFd,
    time::{Duration, Instant},
};

/// How long the host before may take to connect, and the next to accept.
const CONNECT: Duration = Duration::from_secs(30);
/// How long a connection may stand still before it counts as dead.
const STALL: Duration = Duration::from_secs(60);
/// How long a stranger that connects may take to say nothing.
const GREETING: Duration = Duration::from_secs(2);

/// What went wrong on a host.
#[derive(Debug)]
pub struct Trouble {
    /// The cause.
    pub why: String,
    /// What helps.
    pub remedy: Option<String>,
    /// Whether the cause lies at another host, which says more of it.
    pub follows: bool,
}

impl Trouble {
    /// A trouble of this host.
    pub fn own(why: String) -> Self {
        Self { why, remedy: None, follows: false }
    }

    /// This trouble, with what helps.
    pub fn helped(self, remedy: &str) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    fn other(why: String) -> Self {
        Self { why, remedy: None, follows: true }
    }
}

/// Listens at an address of this host.
pub fn listen(address: Ipv4Addr) -> Result<TcpListener, Trouble> {
    TcpListener::bind(SocketAddrV4::new(address, 0)).map_err(|error| {
        Trouble::own(format!("cannot listen at its address {address}: {error}"))
            .helped("set the host up: `tasuki apply`")
    })
}

/// Waits for the connection that begins with the key. Others are closed.
pub fn accept(listener: &TcpListener, key: Key) -> Result<TcpStream, Trouble> {
    let end = Instant::now() + CONNECT;
    let failed = |error: io::Error| Trouble::own(format!("cannot accept a connection: {error}"));
    listener.set_nonblocking(true).map_err(failed)?;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let mut waiting = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        let limit = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        if left.is_zero() || poll(&mut waiting, limit) == Ok(0) {
            return Err(Trouble::other("the host before it does not connect".into()));
        }
        let Ok((mut stream, _)) = listener.accept() else { continue };
        let mut greeting = [0; 16];
        let greeted = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(GREETING)))
            .and_then(|()| stream.read_exact(&mut greeting));
        if greeted.is_ok() && greeting == key.0 {
            stream.set_read_timeout(Some(STALL)).map_err(failed)?;
            return Ok(stream);
        }
    }
}

fn connect(hop: &Hop, key: Key) -> Result<TcpStream, Trouble> {
    let connected = TcpStream::connect_timeout(&hop.address.into(), CONNECT).and_then(|mut stream| {
        stream.set_write_timeout(Some(STALL))?;
        stream.write_all(&key.0)?;
        Ok(stream)
    });
    connected.map_err(|error| {
        let Hop { host, address } = hop;
        Trouble::own(format!("cannot reach {host} at {}: {error}", address.ip()))
            .helped("`tasuki check` finds the cable; a firewall may refuse TCP between hosts")
    })
}

/// One host's part of the chain.
pub struct Relay<'a> {
    /// Where files go.
    pub folder: &'a JobFolder,
    /// The files.
    pub items: &'a [Item],
    /// The key of their sums.
    pub key: Key,
    /// The next host.
    pub next: Option<&'a Hop>,
}

impl Relay<'_> {
    /// Takes all files from `source`. Returns the sums of what lies in the files afterwards.
    pub fn run(&self, mut source: impl Read) -> Result<Vec<Sum>, Trouble> {
        let mut next = self.next.map(|hop| connect(hop, self.key)).transpose()?;
        let mut buffer = vec![0; CHUNK];
        let mut sums = Vec::with_capacity(self.items.len());
        for item in self.items {
            let mut file = self.folder.create(item)?;
            sums.push(self.one(item, &mut source, &mut file, next.as_mut(), &mut buffer)?);
        }
        Ok(sums)
    }

    fn one(
        &self,
        item: &Item,
        source: &mut impl Read,
        file: &mut File,
        mut next: Option<&mut TcpStream>,
        buffer: &mut [u8],
    ) -> Result<Sum, Trouble> {
        let mut left = item.bytes;
        let mut sum = Summing::new(self.key);
        while left > 0 {
            let part = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let count = match source.read(&mut buffer[..part]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) => return Err(Trouble::other("the files end early: the host before it failed".into())),
                Err(error) => return Err(Trouble::other(format!("the host before it fell silent: {error}"))),
                Ok(count) => count,
            };
            let bytes = &buffer[..count];
            if let (Some(stream), Some(hop)) = (&mut next, self.next) {
                stream.write_all(bytes).map_err(|error| {
                    Trouble::other(format!("cannot pass files on to {}: {error}", hop.host))
                })?;
            }
            sum.add(bytes);
            let path = self.folder.path_of(item);
            file.write_all(bytes)
                .map_err(|error| Trouble::own(format!("cannot write {}: {error}", path.display())))?;
            left -= count as u64;
        }
        Ok(sum.end())
    }
}
