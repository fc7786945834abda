//! The thread that talks with clients: it accepts connections, reads requests, and hands out sockets that
//! other threads have opened. It never blocks on one client, so whatever a client does or leaves undone costs
//! that client alone.

use crate::{
    Limits, Listener, Nics, ServeError,
    budget::{Budget, Charge},
    lingering::Lingering,
    nics::NicList,
    peer::Peer,
    queue::Queue,
    table::{Connection, Heard, Stage, Table},
    work::{self, Done, Job, Lane},
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        eventfd::{EfdFlags, EventFd},
        socket::{SockFlag, accept4},
    },
};
use std::{
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    time::Instant,
};
use tasuki_link::{
    LinkError,
    broker::{Answer, Outcome, Request, Wish},
};
use tasuki_sys::packet::PacketRing;

/// How long a client may take to send its request, milliseconds.
const SILENCE_MS: u64 = 2_000;
/// Most connections without a lane that one user may have.
const WAITING_MAX: usize = 256;
/// Most connections that are accepted before the other descriptors are looked at again.
const ACCEPT_MAX: usize = 64;
/// Pause when this process has no descriptors left, milliseconds.
const SHORT_OF_DESCRIPTORS_MS: u64 = 50;

/// How to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// Root and members of this group get lanes.
    pub group: u32,
    /// The NICs for which lanes are given.
    pub nics: Nics,
    /// The most that users may have.
    pub limits: Limits,
    /// Frames are sent past the NIC's queueing discipline.
    pub bypass: bool,
}

struct Server<'a> {
    listener: &'a Listener,
    options: &'a Options,
    nics: NicList,
    origin: Instant,
    table: Table,
    budget: Budget,
    queue: Arc<Queue<Job>>,
    done: Receiver<Done>,
    /// Lanes whose clients have gone and which another process still has.
    lingering: Lingering,
    /// No connections are accepted before this time, milliseconds.
    accept_after: u64,
}

/// Serves clients until `stop` is readable. Sockets are opened in the network namespace of the calling
/// thread. Lanes go on working after this has returned, but a broker that is started later does not count
/// them.
pub fn serve(listener: &Listener, options: &Options, stop: BorrowedFd<'_>) -> Result<(), ServeError> {
    let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
    let wake = Arc::new(EventFd::from_value_and_flags(0, flags).map_err(std::io::Error::from)?);
    let queue = Arc::new(Queue::new());
    let (sender, done) = channel();
    let mut server = Server {
        listener,
        options,
        nics: NicList::new(options.nics.clone()),
        origin: Instant::now(),
        table: Table::default(),
        budget: Budget::new(options.limits),
        queue: Arc::clone(&queue),
        done,
        lingering: Lingering::default(),
        accept_after: 0,
    };
    let result =
        work::start(&queue, &sender, &wake).map_err(ServeError::from).and_then(|()| server.run(&wake, stop));
    queue.close();
    result
}

impl Server<'_> {
    fn now(&self) -> u64 {
        self.origin.elapsed().as_millis() as u64
    }

    fn run(&mut self, wake: &EventFd, stop: BorrowedFd<'_>) -> Result<(), ServeError> {
        loop {
            let (ready, ids) = self.wait(wake, stop)?;
            let [stopped, woken, new, connections @ ..] = ready.as_slice() else { continue };
            if *stopped {
                return Ok(());
            }
            if *woken {
                // The counter only wakes this thread; the results are in the channel.
                let _ = wake.read();
                while let Ok(done) = self.done.try_recv() {
                    self.handle_done(done);
                }
            }
            for (id, _) in ids.iter().zip(connections).filter(|(_, ready)| **ready) {
                self.handle_input(*id);
            }
            self.handle_time();
            if *new {
                self.accept();
            }
        }
    }

    /// Waits until there is something to do. Returns which descriptors are ready, and the connections to
    /// which those from the fourth on belong.
    fn wait(&self, wake: &EventFd, stop: BorrowedFd<'_>) -> Result<(Vec<bool>, Vec<u64>), ServeError> {
        let now = self.now();
        let silent = self.table.next_deadline();
        let lingering = self.lingering.deadline();
        let accepting = (self.accept_after > now).then_some(self.accept_after);
        let next = [silent, lingering, accepting].into_iter().flatten().min();
        let timeout = next.map_or(PollTimeout::NONE, |at| {
            PollTimeout::try_from(at.saturating_sub(now).min(60_000) + 1).unwrap_or(PollTimeout::MAX)
        });
        let events = |accepts: bool| if accepts { PollFlags::POLLIN } else { PollFlags::empty() };
        let mut all = vec![
            PollFd::new(stop, PollFlags::POLLIN),
            PollFd::new(wake.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.listener.as_fd(), events(accepting.is_none())),
        ];
        all.extend(self.table.iter().map(|(_, one)| PollFd::new(one.as_fd(), PollFlags::POLLIN)));
        match poll(&mut all, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(std::io::Error::from(errno).into()),
        }
        let ready = all.iter().map(|one| one.any().unwrap_or(true)).collect();
        Ok((ready, self.table.iter().map(|(id, _)| id).collect()))
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPT_MAX {
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            let raw = match accept4(self.listener.as_fd().as_raw_fd(), flags) {
                Ok(raw) => raw,
                Err(Errno::EINTR | Errno::ECONNABORTED) => continue,
                Err(Errno::EAGAIN) => return,
                Err(_) => {
                    self.accept_after = self.now() + SHORT_OF_DESCRIPTORS_MS;
                    return;
                }
            };
            // SAFETY: the kernel has just opened this descriptor for this process, and no other code has it.
            let fd = unsafe { OwnedFd::from_raw_fd(raw) };
            let Ok(peer) = Peer::of(&fd) else { continue };
            let full = self.table.len() >= self.options.limits.host_lanes + 4 * WAITING_MAX;
            // A client that is turned away here uses UDP.
            if !full && self.table.waiting(peer.uid) < WAITING_MAX {
                self.table.add(Connection::new(fd, peer, self.now() + SILENCE_MS));
            }
        }
    }

    /// A client has sent something, or has gone.
    fn handle_input(&mut self, id: u64) {
        let Some(connection) = self.table.get_mut(id) else { return };
        match (connection.hear(), &connection.stage) {
            (Heard::Nothing, _) => {}
            (Heard::Message(bytes), Stage::Silent(_)) => self.handle_request(id, &bytes),
            // A client sends one request and nothing more.
            (Heard::End | Heard::Message(_), _) => self.let_go(id),
        }
    }

    fn handle_request(&mut self, id: u64, bytes: &[u8]) {
        let now = self.now();
        let Some(connection) = self.table.get_mut(id) else { return };
        let uid = connection.peer.uid;
        let group = self.options.group;
        let decided = if connection.peer.belongs_to(group) {
            decide(&mut self.nics, &mut self.budget, now, uid, bytes)
        } else {
            let text =
                format!("user {uid} is not in group {group}: usermod --append --groups, then log in anew");
            Err((Outcome::NotMember, text))
        };
        match decided {
            Ok(Some(charge)) => {
                connection.stage = Stage::Opening;
                self.queue.push(uid, Job::Open { connection: id, charge, bypass: self.options.bypass });
            }
            Ok(None) => self.say_and_close(id, &Answer::refusal(Outcome::Granted, "")),
            Err((outcome, text)) => self.say_and_close(id, &Answer::refusal(outcome, text)),
        }
    }

    fn say_and_close(&mut self, id: u64, answer: &Answer) {
        if let Some(connection) = self.table.remove(id) {
            // A client that does not take the answer at once cannot use it.
            let _ = connection.answer(answer, None);
        }
    }

    fn handle_done(&mut self, done: Done) {
        match done {
            Done::Opened { connection, charge, result: Ok(ring) } => self.hand_over(connection, charge, ring),
            Done::Opened { connection, charge, result: Err(error) } => {
                self.budget.release(self.now(), &charge);
                self.say_and_close(connection, &Answer::refusal(Outcome::Failed, why(&error)));
            }
            Done::Looked { closed, held, again } => {
                let now = self.now();
                closed.iter().for_each(|charge| self.budget.release(now, charge));
                self.lingering.add_held(now, held, again);
            }
            Done::StillUsed(lane) => self.lingering.add_mapped(self.now(), lane),
        }
    }

    /// Hands the socket to its client, if the client is still there.
    fn hand_over(&mut self, id: u64, mut charge: Charge, ring: PacketRing) {
        self.budget.correct(&mut charge, ring.memory_bytes() as u64);
        let lane = Lane { ring, charge };
        let Some(connection) = self.table.get_mut(id) else {
            return self.queue.push(lane.charge.uid, Job::Close(lane));
        };
        let layout = lane.ring.layout();
        let (slot_bytes, slots) = (layout.slot_bytes, layout.slots);
        let answer = Answer { outcome: Outcome::Granted, slot_bytes, slots, text: String::new() };
        let taken = connection.answer(&answer, Some(lane.ring.socket().as_fd()));
        connection.stage = Stage::Served(lane);
        if !taken {
            self.let_go(id);
        }
    }

    /// Ends a connection, and with it its lane.
    fn let_go(&mut self, id: u64) {
        if let Some(Connection { stage: Stage::Served(lane), peer, .. }) = self.table.remove(id) {
            self.queue.push(peer.uid, Job::Close(lane));
        }
    }

    fn handle_time(&mut self) {
        let now = self.now();
        for id in self.table.overdue(now) {
            self.let_go(id);
        }
        for (uid, job) in self.lingering.take_due(now) {
            self.queue.push(uid, job);
        }
    }
}

/// Decides on a request: the share that was set aside for a lane, or `None` if the client only asked whether
/// it would get one.
fn decide(
    nics: &mut NicList,
    budget: &mut Budget,
    now: u64,
    uid: u32,
    bytes: &[u8],
) -> Result<Option<Charge>, (Outcome, String)> {
    let request = Request::from_bytes(bytes).map_err(|error| (Outcome::Unreadable, error.to_string()))?;
    nics.allows(&request.nic).map_err(|text| (Outcome::Nic, text))?;
    match request.wish {
        Wish::Word => Ok(None),
        Wish::Lane => budget.reserve(now, uid, &request.nic, request.endpoint, request.ring_bytes).map(Some),
    }
}

fn why(error: &LinkError) -> String {
    if error.is_forbidden() {
        return "the broker itself lacks CAP_NET_RAW: run it as root, or see its unit".into();
    }
    error.to_string()
}
