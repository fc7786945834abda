//! What takes the kernel a while: opening and closing packet sockets.

use crate::{budget::Charge, queue::Queue};
use nix::sys::eventfd::EventFd;
use std::{
    sync::{Arc, mpsc::Sender},
    thread,
};
use tasuki_link::{LinkError, RawOptions, open_for_another};
use tasuki_sys::packet::PacketRing;

/// Threads that open and close.
const THREADS: usize = 8;

/// A lane that a client has, or is about to have. The ring is mapped here as well: so nobody can make it larger.
pub(crate) struct Lane {
    pub(crate) ring: PacketRing,
    pub(crate) charge: Charge,
}

/// Something to do.
pub(crate) enum Job {
    /// A socket for a connection.
    Open { connection: u64, charge: Charge, bypass: bool },
    /// A lane that its client has let go of.
    Close(Lane),
}

/// What has been done.
pub(crate) enum Done {
    /// The socket, or why there is none.
    Opened { connection: u64, charge: Charge, result: Result<PacketRing, LinkError> },
    /// The lane is no more.
    Closed(Charge),
    /// Somebody still has the ring mapped.
    StillUsed(Lane),
}

/// The threads. They end with the queue.
pub(crate) fn start(
    queue: &Arc<Queue<Job>>,
    done: &Sender<Done>,
    wake: &Arc<EventFd>,
) -> std::io::Result<()> {
    for _ in 0..THREADS {
        let (queue, done, wake) = (Arc::clone(queue), done.clone(), Arc::clone(wake));
        thread::Builder::new().name("tasuki-broker".into()).spawn(move || {
            while let Some(job) = queue.pop() {
                // If nobody listens any more the broker is ending.
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
            // That the ring can be freed proves that nobody has it mapped. A child of the client may, or a client that has hung up and means
            // to go on: then it stays counted, and mapped, as before.
            if socket.free_ring().is_ok() {
                return Done::Closed(charge);
            }
            match socket.map_ring(layout) {
                Ok(ring) => Done::StillUsed(Lane { ring, charge }),
                // It was freed by the other in between.
                Err(_) => Done::Closed(charge),
            }
        }
    }
}
