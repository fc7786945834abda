//! The command that a job belongs to, and ends with. One whose daemon, or that of the queue, has begun anew
//! is waited for.

use crate::{Client, HostIndex};

/// Seconds for which jobs go on without the daemon of one of their hosts, or of their command's.
pub const PATIENCE: u64 = 600;
/// Seconds that a command has to come back once its host's daemon is there again. It tries four times a
/// second; one that was killed meanwhile never comes, and its job would keep its slots.
pub const RETURN: u64 = 15;
/// Seconds that a command has to come back once the queue's daemon is there again, while hosts are missing:
/// it is not known on which of them the command is, and their daemons have to come back before.
pub const RESTORED: u64 = 60;

/// The command that attends a job. Times are the queue's, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attendance {
    /// It is connected.
    By(Client),
    /// Its connection was lost without its doing.
    Awaited {
        /// Its host; `None`: nobody has written that down.
        host: Option<HostIndex>,
        /// When it is waited for no longer.
        until: u64,
    },
}

impl Attendance {
    /// That of a job that an earlier queue has written down.
    pub fn restored(now: u64) -> Self {
        Attendance::Awaited { host: None, until: now + RESTORED }
    }

    /// The command's host.
    pub fn host(&self) -> Option<HostIndex> {
        match self {
            Attendance::By(client) => Some(client.host),
            Attendance::Awaited { host, .. } => *host,
        }
    }

    /// The daemon of a host is gone, and the command may come back with it.
    pub fn host_away(&mut self, now: u64, host: HostIndex) {
        if matches!(self, Attendance::By(client) if client.host == host) {
            *self = Attendance::Awaited { host: Some(host), until: now + PATIENCE };
        }
    }

    /// The daemon of a host is there again, and the command soon, if it waits there. `all`: so are those of
    /// all other hosts.
    pub fn host_back(&mut self, now: u64, host: HostIndex, all: bool) {
        match self {
            Attendance::Awaited { host: Some(from), until } if *from == host => *until = now + RETURN,
            Attendance::Awaited { host: None, until } if all => *until = (*until).min(now + RETURN),
            _ => {}
        }
    }

    /// Whether it was waited for in vain.
    pub fn is_late(&self, now: u64) -> bool {
        matches!(self, Attendance::Awaited { until, .. } if *until <= now)
    }
}
