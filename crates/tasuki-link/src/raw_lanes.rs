//! Opening a process's raw lanes: by its own privilege, or else by the broker.

use std::thread;

use crate::broker::Broker;
use crate::{LinkError, RawLink, RawOptions};

/// Opens the raw lanes of one endpoint. The result is in the order of `wanted`, with `None` for a lane that
/// cannot be had: without permission, or on a NIC that is no Ethernet or does not exist. The rail keeps UDP
/// then, and `tasuki doctor` says why. `broker` is asked if this process may not open lanes itself.
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

/// Asks the broker for a lane. Once it has given an answer that holds for all NICs it is not asked any more.
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

/// Opens lanes at the same time, in a thread each: for each ring the kernel waits, some 15 ms, until no
/// processor can hold a frame for the socket.
fn open_together(wanted: &[RawOptions]) -> Vec<Result<RawLink, LinkError>> {
    let Some((first, others)) = wanted.split_first() else { return Vec::new() };
    thread::scope(|scope| {
        let opening: Vec<_> = others
            .iter()
            .map(|options| thread::Builder::new().spawn_scoped(scope, || RawLink::open(options)))
            .collect();
        let mut all = vec![RawLink::open(first)];
        for (thread, options) in opening.into_iter().zip(others) {
            // A lane for which no thread could be started is opened by this thread.
            let opened = thread.ok().and_then(|thread| thread.join().ok());
            all.push(opened.unwrap_or_else(|| RawLink::open(options)));
        }
        all
    })
}
