//! Work that takes the kernel milliseconds: opening and closing packet sockets.

use crate::{budget::Charge, queue::Queue};
use nix::sys::eventfd::EventFd;
use std::{
    sync::{Arc, mpsc::Sender},
    thread,
};
use tasuki_link::{LinkError, RawOptions, open_for_another};
use tasuki_sys::packet::{PacketRing, SocketNumber, open_sockets};

/// Number of threads that open and close sockets.
const THREADS: usize = 8;

/// A lane that a client has, or is about to have. The broker keeps the ring mapped as well, so that the
/// client cannot make it larger.
pub(crate) struct Lane {
    pub(crate) ring: PacketRing,
    pub(crate) charge: Charge,
}

/// A lane that its client has given up, without a ring, and that some process may go on using: who has the
/// socket can receive by it, whatever has become of the connection.
pub(crate) struct Held {
    pub(crate) charge: Charge,
    socket: SocketNumber,
}

/// Work for one of the threads.
pub(crate) enum Job {
    /// Open a socket for a connection.
    Open { connection: u64, charge: Charge, bypass: bool },
    /// Close a lane that its client has given up.
    Close(Lane),
    /// Look whether lanes are still held.
    Look(Vec<Held>),
}

/// What came of a job.
pub(crate) enum Done {
    /// The socket, or why there is none.
    Opened { connection: u64, charge: Charge, result: Result<PacketRing, LinkError> },
    /// Some lanes are closed, so that their shares can be given back; others are held by another process.
    Looked { closed: Vec<Charge>, held: Vec<Held>, again: bool },
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
            let number = socket.number();
            // The kernel frees a ring only if no process has it mapped. A child of the client may have, or a
            // client that has closed its connection but goes on using the lane: then the lane stays counted,
            // and mapped here too, as before.
            if socket.free_ring().is_ok() {
                drop(socket);
            } else if let Ok(ring) = socket.map_ring(layout) {
                return Done::StillUsed(Lane { ring, charge });
            }
            // Here the socket is closed by now. (If it could not be mapped either, another process has freed
            // the ring in between.)
            match number {
                Ok(socket) => look(vec![Held { charge, socket }], false),
                Err(_) => Done::Looked { closed: vec![charge], held: Vec::new(), again: false },
            }
        }
        Job::Look(all) => look(all, true),
    }
}

/// Looks which lanes are held. If the kernel does not tell, none is: a user who has given lanes up can have
/// others.
fn look(all: Vec<Held>, again: bool) -> Done {
    let open = open_sockets().unwrap_or_default();
    let (held, closed): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| open.contains(&one.socket));
    Done::Looked { closed: closed.into_iter().map(|one| one.charge).collect(), held, again }
}
