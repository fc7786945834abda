//! Where a process gets its raw lanes from: by its own privilege, else from the broker, else nowhere.

use std::path::PathBuf;

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

    /// A lane; `None` where there is none to be had: without permission, or on a NIC that is no Ethernet or not there. The rail keeps
    /// UDP then, and `tasuki doctor` says why.
    pub fn open(&mut self, options: &RawOptions) -> Option<RawLink> {
        if self.own {
            match RawLink::open(options) {
                Err(error) if LinkError::is_forbidden(&error) => self.own = false,
                result => return result.ok(),
            }
        }
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
