//! Work that takes the kernel milliseconds: opening and closing packet sockets.

use crate::{budget::Charge, queue::Queue};
use nix::sys::eventfd::EventFd;
use std::{
    sync::{Arc, mpsc::Sender},
    thread,
};
use tasuki_link::{LinkError, RawOptions, open_for_another};
use tasuki_sys::packet::PacketRing;

/// Number of threads that open and close sockets.
const THREADS: usize = 8;

/// A lane that a client has, or is about to have. The broker keeps the ring mapped as well, so that the
/// client cannot make it larger.
pub(crate) struct Lane {
    pub(crate) ring: PacketRing,
    pub(crate) charge: Charge,
}

/// Work for one of the threads.
pub(crate) enum Job {
    /// Open a socket for a connection.
    Open { connection: u64, charge: Charge, bypass: bool },
    /// Close a lane that its client has given up.
    Close(Lane),
}

/// What came of a job.
pub(crate) enum Done {
    /// The socket, or why there is none.
    Opened { connection: u64, charge: Charge, result: Result<PacketRing, LinkError> },
    /// The lane is closed; its share can be given back.
    Closed(Charge),
    /// The lane stays open, because another process still has its ring mapped.
    StillUsed(Lane),
}

/// Starts the threads. They end when the queue is closed.
pub(crate) fn start(
    queue: &Arc<Queue<Job>>,
    done: &Sender<Done>,
    wake: &Arc<EventFd>,
) -> std::io::Result<()> {
    for _ in 0..THREADS {
        let (queue, done, wake) = (Arc::clone(queue), done.clone(), Arc::clone(wake));
        thread::Builder::new().name("tasuki-broker".into()).spawn(move || {
            while let Some(job) = queue.pop() {
                // Sending fails only if the broker is ending and nothing receives any more.
                if done.send(perform(job)).is_err() || wake.write(1).is_err() {
                    return;
                }
            }
        })?;
    }
    Ok(())
}

fn perform(job: Job) -> Done {
    match job {
        Job::Open { connection, charge, bypass } => {
            let options =
                RawOptions { nic: charge.nic.clone(), endpoint: charge.endpoint, ring_bytes: charge.bytes };
            Done::Opened { connection, result: open_for_another(&options, bypass), charge }
        }
        Job::Close(Lane { ring, charge }) => {
            let layout = ring.layout();
            let socket = ring.into_socket();
            // The kernel frees a ring only if no process has it mapped. A child of the client may have, or a
            // client that has closed its connection but goes on using the lane: then the lane stays counted,
            // and mapped here too, as before.
            if socket.free_ring().is_ok() {
                return Done::Closed(charge);
            }
            match socket.map_ring(layout) {
                Ok(ring) => Done::StillUsed(Lane { ring, charge }),
                // The ring was freed by another process in between.
                Err(_) => Done::Closed(charge),
            }
        }
    }
}
