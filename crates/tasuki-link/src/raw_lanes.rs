//! Where a process gets its raw lanes from: by its own privilege, else from the broker, else nowhere.

use std::path::PathBuf;
use std::thread;

use crate::broker::Broker;
use crate::{LinkError, RawLink, RawOptions};

/// Opens the raw lanes of one endpoint.
#[derive(Debug)]
pub struct RawLanes {
    /// Whether this process may open packet sockets itself, as far as is known.
    own: bool,
    /// Whom to ask otherwise.
    broker: Option<Broker>,
}

impl RawLanes {
    /// With the broker at this place, if any.
    pub fn new(broker: Option<PathBuf>) -> RawLanes {
        RawLanes { own: true, broker: broker.map(Broker::at) }
    }

    /// The lanes, in the order of `wanted`; `None` where there is none to be had: without permission, or on a NIC that is no Ethernet
    /// or not there. The rail keeps UDP then, and `tasuki doctor` says why.
    pub fn open(&mut self, wanted: &[RawOptions]) -> Vec<Option<RawLink>> {
        let own = if self.own { open_together(wanted) } else { Vec::new() };
        let is_forbidden =
            |result: &Result<RawLink, LinkError>| result.as_ref().is_err_and(LinkError::is_forbidden);
        if self.own && !own.iter().any(is_forbidden) {
            return own.into_iter().map(Result::ok).collect();
        }
        self.own = false;
        drop(own);
        wanted.iter().map(|options| self.of_broker(options)).collect()
    }

    fn of_broker(&mut self, options: &RawOptions) -> Option<RawLink> {
        match self.broker.as_mut()?.lane(options) {
            Ok(lane) => Some(lane),
            Err(error) => {
                if error.is_for_all() {
                    self.broker = None;
                }
                None
            }
        }
    }
}

/// Opens them all at once: for each ring the kernel waits, some 15 ms, until no processor can hold a frame for the socket.
fn open_together(wanted: &[RawOptions]) -> Vec<Result<RawLink, LinkError>> {
    let Some((first, others)) = wanted.split_first() else { return Vec::new() };
    thread::scope(|scope| {
        let opening: Vec<_> = others
            .iter()
            .map(|options| thread::Builder::new().spawn_scoped(scope, || RawLink::open(options)))
            .collect();
        let mut all = vec![RawLink::open(first)];
        for (thread, options) in opening.into_iter().zip(others) {
            // Where there is no thread to be had this one does it.
            let opened = thread.ok().and_then(|thread| thread.join().ok());
            all.push(opened.unwrap_or_else(|| RawLink::open(options)));
        }
        all
    })
}
