//! Where a process gets its raw lanes from: by its own privilege, else from the broker, else nowhere.

use std::thread;

use crate::broker::Broker;
use crate::{LinkError, RawLink, RawOptions};

/// The raw lanes of one endpoint, in the order of `wanted`; `None` where there is none to be had: without permission, or on a NIC that is
/// no Ethernet or not there. The rail keeps UDP then, and `tasuki doctor` says why. `broker` is where to ask if this process may not open
/// them itself.
pub fn open_lanes(wanted: &[RawOptions], mut broker: Option<Broker>) -> Vec<Option<RawLink>> {
    let own = open_together(wanted);
    let is_forbidden =
        |result: &Result<RawLink, LinkError>| result.as_ref().is_err_and(LinkError::is_forbidden);
    if !own.iter().any(is_forbidden) {
        return own.into_iter().map(Result::ok).collect();
    }
    drop(own);
    wanted.iter().map(|options| of_broker(&mut broker, options)).collect()
}

/// A lane from the broker, who is asked no more once he has refused all.
fn of_broker(broker: &mut Option<Broker>, options: &RawOptions) -> Option<RawLink> {
    match broker.as_mut()?.lane(options) {
        Ok(lane) => Some(lane),
        Err(error) => {
            if error.is_for_all() {
                *broker = None;
            }
            None
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
