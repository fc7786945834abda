//! Asking the broker for lanes.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tasuki_sys::fork::Uninherited;
use tasuki_sys::packet::RingLayout;

use super::protocol::{Answer, Malformed, Outcome, Request, TEXT_MAX, Wish};
use super::seqpacket;
use crate::{LinkError, RawLink, RawOptions};
use tasuki_tuning::broker;

/// Why the broker gave no lane.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// No process listens at the socket.
    #[error("no broker at {}: {source}", path.display())]
    Absent {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The user may not connect to the socket.
    #[error(
        "the broker at {} is not for this user: only members of the socket's group may connect",
        path.display()
    )]
    Forbidden {
        /// The socket.
        path: PathBuf,
    },
    /// Another user listens at the socket, from whom no descriptor is to be used.
    #[error(
        "at {} listens user {user} and no broker: a broker is root's, or this user's own",
        path.display()
    )]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// The user that listens.
        user: u32,
    },
    /// No answer came in time.
    #[error("the broker at {} has not answered: {source}", path.display())]
    Silent {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The broker refused.
    #[error("the broker refuses {nic}: {text}")]
    Refused {
        /// The NIC.
        nic: String,
        /// How it ended.
        outcome: Outcome,
        /// Why.
        text: String,
    },
    /// The broker's answer cannot be read.
    #[error("the broker at {} cannot be understood: {source}", path.display())]
    Odd {
        /// The socket.
        path: PathBuf,
        /// What is wrong.
        source: Malformed,
    },
    /// What the broker gave cannot be used.
    #[error("what the broker gave for {nic} cannot be used: {source}")]
    Useless {
        /// The NIC.
        nic: String,
        /// Why.
        source: LinkError,
    },
}

impl BrokerError {
    /// Whether the broker would answer the same for any other NIC.
    pub fn is_for_all(&self) -> bool {
        match self {
            BrokerError::Refused { outcome, .. } => {
                matches!(outcome, Outcome::NotMember | Outcome::Unreadable)
            }
            BrokerError::Useless { .. } => false,
            _ => true,
        }
    }
}

/// An answer that is no refusal, the sockets that came along, and the connection.
type Granted = (Answer, Vec<OwnedFd>, Uninherited<OwnedFd>);

/// A broker, and how long its answers may still take.
#[derive(Clone, Debug)]
pub struct Broker {
    path: PathBuf,
    time_left: Duration,
}

impl Broker {
    /// The broker that listens at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Broker {
        Broker { path: path.into(), time_left: broker::TIMEOUT }
    }

    /// The broker that listens at `path`, for a background thread for which nothing waits: it may take
    /// longer.
    pub fn in_background(path: impl Into<PathBuf>) -> Broker {
        Broker { path: path.into(), time_left: broker::TIMEOUT_IN_BACKGROUND }
    }

    /// The socket on which the broker listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Asks for a lane.
    pub fn lane(&mut self, options: &RawOptions) -> Result<RawLink, BrokerError> {
        let (answer, mut sockets, lease) = self.ask(&Request {
            wish: Wish::Lane,
            endpoint: options.endpoint,
            ring_bytes: options.ring_bytes,
            nic: options.nic.clone(),
        })?;
        let (Some(socket), true) = (sockets.pop(), sockets.is_empty()) else {
            return Err(self.odd("an answer brings one socket"));
        };
        let layout = RingLayout { slot_bytes: answer.slot_bytes, slots: answer.slots };
        RawLink::adopt(socket, &options.nic, layout, lease)
            .map_err(|source| BrokerError::Useless { nic: options.nic.clone(), source })
    }

    /// Asks whether this user would get a lane of this NIC now, without taking one.
    pub fn would_give(&mut self, nic: &str) -> Result<(), BrokerError> {
        let request = Request { wish: Wish::Word, endpoint: 0, ring_bytes: 0, nic: nic.to_owned() };
        self.ask(&request).map(drop)
    }

    /// Makes a request.
    fn ask(&mut self, request: &Request) -> Result<Granted, BrokerError> {
        let begin = Instant::now();
        let result = self.ask_until(request, begin + self.time_left);
        self.time_left = self.time_left.saturating_sub(begin.elapsed());
        result
    }

    fn ask_until(&self, request: &Request, until: Instant) -> Result<Granted, BrokerError> {
        let path = || self.path.clone();
        let connection = seqpacket::connect(&self.path, until).map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => BrokerError::Forbidden { path: path() },
            io::ErrorKind::WouldBlock => BrokerError::Silent { path: path(), source },
            _ => BrokerError::Absent { path: path(), source },
        })?;
        let silent = |source| BrokerError::Silent { path: path(), source };
        let user = seqpacket::listening_user(&connection).map_err(silent)?;
        // SAFETY: geteuid has no preconditions and cannot fail.
        if user != 0 && user != unsafe { libc::geteuid() } {
            return Err(BrokerError::Stranger { path: path(), user });
        }
        seqpacket::send(&connection, &request.to_bytes()).map_err(silent)?;
        let mut room = [0; 16 + TEXT_MAX];
        let (len, sockets) = seqpacket::receive(&connection, &mut room, until).map_err(silent)?;
        if len == 0 {
            return Err(silent(io::ErrorKind::UnexpectedEof.into()));
        }
        let answer =
            Answer::from_bytes(&room[..len]).map_err(|source| BrokerError::Odd { path: path(), source })?;
        match answer.outcome {
            Outcome::Granted => Ok((answer, sockets, connection)),
            outcome => Err(BrokerError::Refused { nic: request.nic.clone(), outcome, text: answer.text }),
        }
    }

    /// The error of an answer that cannot be.
    fn odd(&self, what: &'static str) -> BrokerError {
        BrokerError::Odd { path: self.path.clone(), source: Malformed::Content(what) }
    }
}
