//! Copies of checkpoints on the disks of other hosts, for when a host is lost with its own.
//!
//! Every daemon listens at a port for the others, TLS at both ends. A host sends the copy of what it has of a
//! checkpoint, and asks for it when its own is missing or damaged; who it is says its certificate. Copies lie
//! in a folder for each host that sent them, as checkpoints lie in its own.

mod door;
mod line;
mod steps;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use door::Door;

use crate::{
    Bundle, Member, RuntimeError,
    images::{Images, Manifest, hear, say},
    keys,
};
use line::{SILENCE, is_cut, prove, ready};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};
use steps::{STEP, Steps};
use tasuki_control::{Epoch, JobId};

/// The port of copies is so far behind that of the daemon that keeps the queue.
const PORT_OFFSET: u16 = 1;
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// How long the other end may take to look at a copy that it has as a whole, and to have it on its disk.
const LOOK: Duration = Duration::from_secs(600);
/// Bytes of a copy that are read in vain, at most, after it could not be taken.
const REST_MAX: u64 = 256 << 20;
/// Most connections that are served at a time: as many as hosts send their copies to one, and more.
const SERVED_MAX: usize = 64;

/// What a host asks of another one.
#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// Take a copy of what this host has of a checkpoint, which follows. It has those that are `known`.
    Put { job: JobId, epoch: Epoch, known: Vec<Epoch> },
    /// Give it back.
    Get { job: JobId, epoch: Epoch },
    /// Remove all copies of a job that this host has sent.
    Drop { job: JobId },
}

/// The answer: whether that was done, or can be.
type Answer = Result<(), String>;

/// The copies that this host keeps for others, and the ways to those that keep its own.
#[derive(Clone)]
pub(crate) struct Copies(Arc<Inner>);

struct Inner {
    /// The folder with the copies of all hosts.
    folder: PathBuf,
    version: String,
    port: u16,
    hosts: Vec<Member>,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    /// Connections that are served now.
    served: AtomicUsize,
}

/// Counts a connection as served for as long as it is there.
struct Served<'a>(&'a AtomicUsize);

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Copies {
    /// Of a host, below a folder that root alone may enter.
    pub fn below(folder: PathBuf, bundle: &Bundle, version: &str) -> Result<Self, RuntimeError> {
        Ok(Self(Arc::new(Inner {
            folder,
            version: version.into(),
            port: bundle.port.saturating_add(PORT_OFFSET),
            hosts: bundle.hosts.clone(),
            client: keys::client(bundle)?,
            server: keys::server(bundle)?,
            served: AtomicUsize::new(0),
        })))
    }

    /// Listens on all addresses of this host.
    pub fn listen(&self) -> Door {
        Door::at(self.0.port)
    }

    /// Removes what an earlier daemon was taking when it ended.
    pub fn clear(&self) {
        let all = self.0.hosts.iter().map(|host| self.of(&host.name));
        all.for_each(|images| images.interrupted().into_iter().for_each(|job| images.clear(job)));
    }

    /// Jobs of which there are copies.
    pub fn jobs(&self) -> impl Iterator<Item = JobId> {
        self.0.hosts.iter().flat_map(|host| self.of(&host.name).jobs())
    }

    /// Removes the copies of a job, of all hosts.
    pub fn discard(&self, job: JobId) {
        self.0.hosts.iter().for_each(|host| self.of(&host.name).discard(job));
    }

    /// The copies of what a host has.
    fn of(&self, host: &str) -> Images {
        Images::below(&self.0.folder.join(host), &self.0.version)
    }

    /// Sends a copy of a checkpoint to another host.
    pub fn put(&self, to: &str, job: JobId, epoch: Epoch, images: &Images) -> Result<(), String> {
        let words = |error: io::Error| format!("no copy is on {to}: {error}");
        let mut line = self.connect(to).map_err(words)?;
        let sent = say(&mut line, &Ask::Put { job, epoch, known: images.epochs(job) });
        let sent = sent.and_then(|()| images.send(job, epoch, &mut line, &AtomicBool::new(false)));
        // Where it cannot be read here no answer is waited for: the other end would wait for the rest first.
        if let Err(error) = sent.as_ref()
            && !is_cut(error)
        {
            return Err(format!("no copy is on {to}: {error}"));
        }
        // One that does not take it as a whole says why, and reads no more.
        let answer = line.sock.set_read_timeout(Some(LOOK)).and_then(|()| hear::<Answer>(&mut line));
        match (sent, answer) {
            (_, Ok(Err(why))) => Err(format!("no copy is on {to}: {why}")),
            (Err(error), _) | (Ok(()), Err(error)) => Err(words(error)),
            (Ok(()), Ok(Ok(()))) => self.look_after(to, job, images),
        }
    }

    /// A copy has come to another host. It is of use as well where later checkpoints have taken the place of
    /// its own here, and of none where the job has ended well, of which that host may have heard before.
    fn look_after(&self, to: &str, job: JobId, images: &Images) -> Result<(), String> {
        if images.has_any(job) {
            return Ok(());
        }
        self.drop_at(to, job).map_err(|error| format!("a copy that nobody needs stays on {to}: {error}"))?;
        Err("it is not needed any more".into())
    }

    fn drop_at(&self, host: &str, job: JobId) -> io::Result<()> {
        let mut line = self.connect(host)?;
        say(&mut line, &Ask::Drop { job })?;
        line.flush()?;
        hear::<Answer>(&mut line)?.map_err(io::Error::other)
    }

    /// Gets back what this host had of a checkpoint, from the host that has a copy.
    pub fn get(
        &self,
        from: &str,
        (job, epoch): (JobId, Epoch),
        images: &Images,
        stop: &AtomicBool,
    ) -> Result<Manifest, String> {
        let words = |error: io::Error| format!("no copy comes from {from}: {error}");
        let mut line = self.connect(from).map_err(words)?;
        let asked = say(&mut line, &Ask::Get { job, epoch }).and_then(|()| line.flush());
        asked.and_then(|()| line.sock.set_read_timeout(Some(STEP))).map_err(words)?;
        // The other end looks first whether its copy is sound.
        let answer = hear::<Answer>(&mut Steps { line: &mut line, limit: LOOK, stop }).map_err(words)?;
        answer.map_err(|why| format!("no copy comes from {from}: {why}"))?;
        images.receive(job, epoch, &mut Steps { line: &mut line, limit: SILENCE, stop }, stop)
    }

    /// Connects to a host by its name, which leads over the rails, or else as the daemons do.
    fn connect(&self, host: &str) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let member = self.0.hosts.iter().find(|member| member.name == host);
        let member = member.ok_or_else(|| io::Error::other("it is not in the cluster"))?;
        let reach = |name: &str| -> io::Result<TcpStream> {
            let mut last = io::Error::other("its name has no address");
            for address in (name, self.0.port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, CONNECT) {
                    Ok(socket) => return Ok(socket),
                    Err(error) => last = error,
                }
            }
            Err(last)
        };
        let socket = reach(&member.name).or_else(|_| reach(&member.address))?;
        let name = keys::server_name(member).map_err(io::Error::other)?;
        let tls = ClientConnection::new(Arc::clone(&self.0.client), name).map_err(io::Error::other)?;
        let mut line = StreamOwned::new(tls, ready(socket)?);
        prove(&mut line)?;
        Ok(line)
    }

    /// Serves a connection on a thread of its own.
    fn serve(&self, socket: TcpStream) {
        if self.0.served.fetch_add(1, Ordering::Relaxed) >= SERVED_MAX {
            self.0.served.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let copies = self.clone();
        let serve = move || {
            let _served = Served(&copies.0.served);
            // The other end finds its connection closed, or was told why.
            let _ = copies.answer(socket);
        };
        if thread::Builder::new().name("copy".into()).spawn(serve).is_err() {
            self.0.served.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn answer(&self, socket: TcpStream) -> io::Result<()> {
        let tls = ServerConnection::new(Arc::clone(&self.0.server)).map_err(io::Error::other)?;
        let mut line = StreamOwned::new(tls, ready(socket)?);
        prove(&mut line)?;
        let certificate = line.conn.peer_certificates().and_then(|chain| chain.first());
        let host =
            self.0.hosts.iter().find(|host| certificate.is_some_and(|own| own.as_ref() == host.certificate));
        let host = host.ok_or_else(|| io::Error::other("its key is of no host of the cluster"))?;
        let images = self.of(&host.name);
        let ask: Ask = hear(&mut line)?;
        self.obey(ask, &images, &mut line)?;
        line.flush()
    }

    fn obey(&self, ask: Ask, images: &Images, line: &mut (impl Read + Write)) -> io::Result<()> {
        let wanted = AtomicBool::new(false);
        match ask {
            Ask::Put { job, epoch, known } => {
                images.forget_others(job, &known);
                let taken: Answer = images.receive(job, epoch, line, &wanted).map(drop);
                say(line, &taken)?;
                line.flush()?;
                // The answer is lost if this end closes with bytes unread.
                let rest = if taken.is_ok() { 0 } else { REST_MAX };
                io::copy(&mut Read::by_ref(line).take(rest), &mut io::sink()).map(drop)
            }
            Ask::Get { job, epoch } => {
                let sound: Answer = images.sound(job, epoch).map(drop);
                say(line, &sound)?;
                if sound.is_ok() { images.send(job, epoch, line, &wanted) } else { Ok(()) }
            }
            Ask::Drop { job } => {
                images.discard(job);
                say(line, &Answer::Ok(()))
            }
        }
    }
}
