//! The connections of the daemon that keeps the queue, one from every other host.

use crate::{
    Bundle, RuntimeError, keys,
    wire::{self, Unsent, Why, Wire},
};
use rustls::{ServerConfig, ServerConnection};
use std::{
    collections::BTreeMap,
    net::TcpListener,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
    time::Instant,
};
use tasuki_control::{Hello, Order, Presence, Reply, Report};
use tasuki_queue::HostIndex;

/// Most connections that have not proved yet who they are.
const STRANGERS_MAX: usize = 64;

/// What has happened at the connections.
pub(crate) enum Happening {
    /// A host reports something.
    Report(HostIndex, Report),
    /// A host has fallen silent, or is of another version.
    Lost(HostIndex, Presence),
    /// The connection to a host has ended, as it does with its daemon.
    Away(HostIndex, Why),
}

/// A connection: of a host, or of one that has not proved yet who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The connection with this number.
    Stranger(u64),
    /// The connection of this host.
    Host(HostIndex),
}

/// The connections of all other hosts.
pub(crate) struct Hub {
    listener: TcpListener,
    config: Arc<ServerConfig>,
    certificates: Vec<Vec<u8>>,
    own: Hello,
    strangers: BTreeMap<u64, Wire>,
    next: u64,
    hosts: BTreeMap<HostIndex, Wire>,
    happened: Vec<Happening>,
}

impl Hub {
    /// Listens on all addresses of this host.
    pub fn listen(bundle: &Bundle, own: Hello) -> Result<Self, RuntimeError> {
        let port = bundle.port;
        Ok(Self {
            listener: wire::listen(port).map_err(|source| RuntimeError::Listen { port, source })?,
            config: keys::server(bundle)?,
            certificates: bundle.hosts.iter().map(|host| host.certificate.clone()).collect(),
            own,
            strangers: BTreeMap::new(),
            next: 0,
            hosts: BTreeMap::new(),
            happened: Vec::new(),
        })
    }

    /// The listening socket.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// All connections, with whether each is to be watched for room.
    pub fn lines(&self) -> impl Iterator<Item = (Line, BorrowedFd<'_>, bool)> {
        let strangers = self.strangers.iter().map(|(id, wire)| (Line::Stranger(*id), wire));
        let hosts = self.hosts.iter().map(|(host, wire)| (Line::Host(*host), wire));
        strangers.chain(hosts).map(|(line, wire)| (line, wire.as_fd(), wire.wants_room()))
    }

    /// What has happened since the last time.
    pub fn happenings(&mut self) -> Vec<Happening> {
        std::mem::take(&mut self.happened)
    }

    /// Accepts connections that wait.
    pub fn accept(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            let tls = ServerConnection::new(Arc::clone(&self.config));
            let (Ok(tls), true) = (tls, self.strangers.len() < STRANGERS_MAX) else { continue };
            if let Ok(wire) = Wire::new(socket, tls, &self.own) {
                self.strangers.insert(self.next, wire);
                self.next += 1;
            }
        }
    }

    /// Sends an order to a host, if it is connected. One that is too long ends what it belongs to, and not
    /// the connection, which others need.
    pub fn send(&mut self, host: HostIndex, order: &Order) {
        let Some(wire) = self.hosts.get_mut(&host) else { return };
        match (wire.send(order), order) {
            (Ok(()), _) => {}
            (Err(Unsent::Long(why)), Order::Answer { session, .. }) => {
                let reply = Reply::Refused(format!("the answer cannot be told: {why}"));
                self.send(host, &Order::Answer { session: *session, reply });
            }
            (Err(Unsent::Long(why)), order) if order.job().is_some() => self.refuse(host, order, &why),
            (Err(Unsent::Long(why) | Unsent::Ended(why)), _) => self.lose(host, &why),
        }
    }

    /// A host cannot be told what a job needs there.
    fn refuse(&mut self, host: HostIndex, order: &Order, why: &str) {
        let Some(job) = order.job() else { return };
        let why = format!("it cannot be told what the job needs there: {why}");
        self.happened.push(Happening::Report(host, Report::Broken { job, why, code: None }));
        if matches!(order, Order::Start(_)) {
            // Nothing of it began there.
            self.happened.push(Happening::Report(host, Report::Left { job }));
        }
    }

    /// A connection is readable, writable or at its end.
    pub fn turn(&mut self, line: Line) {
        match line {
            Line::Stranger(id) => self.greet(id),
            Line::Host(host) => self.hear(host),
        }
    }

    fn hear(&mut self, host: HostIndex) {
        let Some(wire) = self.hosts.get_mut(&host) else { return };
        let ended = wire.push().and_then(|()| wire.pull()).err();
        // What was said before the end counts.
        let mut reports = Vec::new();
        let wrong = loop {
            match wire.take() {
                Ok(Some(report)) => reports.push(report),
                Ok(None) => break None,
                Err(why) => break Some(why),
            }
        };
        self.happened.extend(reports.into_iter().map(|report| Happening::Report(host, report)));
        if let Some(why) = wrong.or(ended) {
            self.lose(host, &why);
        }
    }

    fn lose(&mut self, host: HostIndex, why: &str) {
        self.hosts.remove(&host);
        self.happened.push(Happening::Away(host, absent(why)));
    }

    /// Takes what a connection says that has not proved yet who it is. One that does not prove to be a host
    /// of the cluster is closed without a word.
    fn greet(&mut self, id: u64) {
        let Some(wire) = self.strangers.get_mut(&id) else { return };
        match known(wire, &self.certificates) {
            Ok(None) => {}
            Ok(Some((host, hello))) => {
                let Some(mut wire) = self.strangers.remove(&id) else { return };
                if !hello.is_same(&self.own) {
                    // It reads this end's version from the first words.
                    let _ = wire.push();
                    let presence = Presence::Other(format!("tasuki {}", hello.version));
                    self.happened.push(Happening::Lost(host, presence));
                    return;
                }
                if self.hosts.remove(&host).is_some() {
                    self.happened.push(Happening::Away(host, "its tasukid began anew".into()));
                }
                self.hosts.insert(host, wire);
                self.hear(host);
            }
            Err(_) => drop(self.strangers.remove(&id)),
        }
    }

    /// Says to hosts that this end is there, and finds those that are silent.
    pub fn handle_time(&mut self, now: Instant) {
        let strangers = self.strangers.iter().filter(|(_, wire)| wire.is_silent(now));
        let late: Vec<u64> = strangers.map(|(id, _)| *id).collect();
        late.into_iter().for_each(|id| self.greet(id));
        self.strangers.retain(|_, wire| !wire.is_silent(now));
        let silent = self.hosts.iter().filter(|(_, wire)| wire.is_silent(now));
        let silent: Vec<(HostIndex, Instant)> = silent.map(|(host, wire)| (*host, wire.heard())).collect();
        let silence = format!("no answer for {} s", crate::wire::SILENCE.as_secs());
        for (host, heard) in silent {
            // Where this daemon was held up itself, the host's beats lie unread.
            self.hear(host);
            if self.hosts.get(&host).is_some_and(|wire| wire.is_still_silent(now, heard)) {
                self.hosts.remove(&host);
                self.happened.push(Happening::Lost(host, Presence::Lost(absent(&silence))));
            }
        }
        let quiet: Vec<HostIndex> =
            self.hosts.iter().filter(|(_, wire)| wire.should_beat(now)).map(|(host, _)| *host).collect();
        quiet.into_iter().for_each(|host| self.send(host, &Order::Beat));
    }
}

fn absent(why: &str) -> String {
    format!("its tasukid is not connected any more: {why}")
}

/// The host at the other end of a connection and its first words, once it has proved who it is.
fn known(wire: &mut Wire, certificates: &[Vec<u8>]) -> Result<Option<(HostIndex, Hello)>, Why> {
    wire.push()?;
    // An end that is turned away is told so by TLS.
    let ended = wire.pull();
    let ended = ended.and(wire.push());
    let Some(certificate) = wire.certificate() else { return ended.map(|()| None) };
    let host = certificates.iter().position(|known| known.as_slice() == certificate);
    let host = host.ok_or("its key is of the cluster, but of no host that is left in it")?;
    match wire.hello()? {
        Some(hello) => Ok(Some((host, hello.clone()))),
        None => ended.map(|()| None),
    }
}
