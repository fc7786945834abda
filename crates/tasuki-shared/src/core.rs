//! The state of a process that shares memory, behind one lock: the protocol, and what it wants done.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tasuki_dsm::{Access, Action, Lock, Message, Node, NodeId, Page};
use tasuki_engine::{Buffer, Completion, Endpoint, Peer, RecvArgs, Report};

use crate::note::Notes;
use crate::prefetch::Prefetch;
use crate::segment::{PAGE, Segment};
use crate::watch::Watch;

/// Bytes of a buffer into which messages of all peers come.
const BUFFER: usize = 64 * (Message::LEN + PAGE);
/// Buffers; while one is full the others take what comes.
const BUFFERS: usize = 2;
/// Tag of receives that no message matches: each only waits for the end of its peer. Their contexts follow
/// those of the buffers, in the order of the nodes.
const NEVER: u64 = u64::MAX;

/// The state of a process. All functions are called with the lock held, in which this lies.
pub(crate) struct Core {
    pub node: Node,
    /// By rank; `None`: this process.
    pub peers: Vec<Option<Peer>>,
    buffers: Vec<Box<[u8]>>,
    began: Instant,
    /// Locks that have come and that no thread has taken yet.
    pub granted: HashMap<Lock, usize>,
    /// Barriers that this process has passed, by number of processes.
    pub passed: HashMap<usize, u64>,
    /// A lock or a barrier has come, for which a thread may wait.
    pub news: bool,
    /// Why the memory is lost.
    pub lost: Option<String>,
    /// The process is leaving, as all others are: each may be gone at any time.
    pub leaving: bool,
    /// One of them is gone, so that nobody needs this process any more.
    pub dismissed: bool,
    /// Told what happens to pages.
    pub watch: Option<Arc<dyn Watch>>,
    /// What other processes have told.
    pub notes: Notes,
    /// What is asked for early.
    pub prefetch: Prefetch,
    /// Messages without bytes that wait for [`Core::flush`]. They may be overtaken by others.
    pub outbox: Vec<(NodeId, Message)>,
}

impl Core {
    /// The state of a process whose node is new; peers by rank.
    pub fn new(node: Node, peers: Vec<Option<Peer>>, pages: u32, watch: Option<Arc<dyn Watch>>) -> Core {
        let buffers = (0..BUFFERS).map(|_| vec![0; BUFFER].into_boxed_slice()).collect();
        let (began, granted, lost) = (Instant::now(), HashMap::new(), None);
        Core {
            node,
            peers,
            buffers,
            began,
            granted,
            passed: HashMap::new(),
            news: false,
            lost,
            leaving: false,
            dismissed: false,
            watch,
            notes: Notes::default(),
            prefetch: Prefetch::new(pages),
            outbox: Vec::new(),
        }
    }

    /// Nanoseconds since the process joined.
    pub fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Posts all receives.
    pub fn listen(&mut self, endpoint: &Endpoint) -> Result<(), String> {
        for index in 0..BUFFERS {
            self.post(endpoint, index)?;
        }
        for (rank, peer) in self.peers.iter().enumerate() {
            let Some(peer) = *peer else { continue };
            let context = (BUFFERS + rank) as u64;
            let (source, tag) = (Some(peer), Some(NEVER));
            let report = Report::Completion;
            let args = RecvArgs { source, tag, ignore: 0, buffers: &[], multi: None, report, context };
            // SAFETY: there is no memory.
            unsafe { endpoint.recv(&args) }.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn post(&mut self, endpoint: &Endpoint, index: usize) -> Result<(), String> {
        let buffer = &mut self.buffers[index];
        let buffers = [Buffer { ptr: buffer.as_mut_ptr(), len: buffer.len() }];
        let args = RecvArgs {
            source: None,
            tag: None,
            ignore: 0,
            buffers: &buffers,
            multi: Some(Message::LEN + PAGE),
            report: Report::Completion,
            context: index as u64,
        };
        // SAFETY: the buffer lives as long as this object, which is dropped after the endpoint's last use
        // (`Inner::endpoint` is closed first), and is read only where a completion says so.
        unsafe { endpoint.recv(&args) }.map_err(|error| error.to_string())
    }

    /// Something is over at the endpoint; an error says why the memory is lost.
    pub fn complete(
        &mut self,
        completion: &Completion,
        endpoint: &Endpoint,
        segment: &Segment,
    ) -> Result<(), String> {
        match *completion {
            Completion::Recv { context, source, ptr, len, total, last, .. } => {
                // SAFETY: the endpoint has written these bytes of a buffer of this object, and nobody else
                // uses them before the buffer is posted again.
                let bytes = unsafe { std::slice::from_raw_parts(ptr.cast_const(), len as usize) };
                self.hear(source, bytes, total, endpoint, segment)?;
                if last {
                    self.post(endpoint, context as usize)?;
                }
                Ok(())
            }
            Completion::Error { .. } if self.leaving => {
                (self.dismissed, self.news) = (true, true);
                Ok(())
            }
            Completion::Error { peer, failure, send, .. } => {
                let rank = self.peers.iter().position(|one| *one == peer && one.is_some());
                let who = rank.map_or("a process".to_owned(), |rank| format!("rank {rank}"));
                let at = peer.and_then(|peer| endpoint.peer_address(peer));
                let at = at.map_or(String::new(), |address| format!(" on host {}", address.host()));
                let why = peer.and_then(|peer| endpoint.failure_reason(peer));
                let why = why.unwrap_or_else(|| failure.to_string());
                let what = if send { "cannot be reached" } else { "is gone" };
                Err(format!("{who}{at} {what}: {why}"))
            }
            _ => Ok(()),
        }
    }

    /// A message of `total` bytes has come, of which these had room.
    fn hear(
        &mut self,
        source: Peer,
        bytes: &[u8],
        total: u64,
        endpoint: &Endpoint,
        segment: &Segment,
    ) -> Result<(), String> {
        // Strangers who learnt this endpoint's address by chance are not heard.
        let Some(rank) = self.peers.iter().position(|peer| *peer == Some(source)) else { return Ok(()) };
        if total != bytes.len() as u64 {
            return Err(format!("rank {rank} sends a message of {total} bytes, which no process does"));
        }
        if self.take_note(rank, bytes)? {
            return Ok(());
        }
        let (head, page) = bytes.split_at(bytes.len().min(Message::LEN));
        let message = Message::from_bytes(head).map_err(|error| format!("rank {rank}: {error}"))?;
        let expected = if matches!(message, Message::Bytes { .. }) { PAGE } else { 0 };
        if page.len() != expected {
            return Err(format!("rank {rank} sends {} bytes with {message:?}", page.len()));
        }
        let now = self.now();
        self.node.handle(NodeId(rank as u8), message, now).map_err(|violation| violation.to_string())?;
        self.act(page, endpoint, segment)?;
        self.ask_early(endpoint, segment)
    }

    /// A phase of the program begins.
    pub fn phase(&mut self, key: u64, endpoint: &Endpoint, segment: &Segment) -> Result<(), String> {
        self.prefetch.begin(key, self.now());
        self.ask_early(endpoint, segment)
    }

    /// Asks for pages that will be needed soon.
    pub fn ask_early(&mut self, endpoint: &Endpoint, segment: &Segment) -> Result<(), String> {
        while let Some((page, access)) = self.prefetch.next() {
            if self.node.access(page) < access {
                self.fault(page, access, endpoint, segment)?;
            } else {
                self.prefetch.came(page);
            }
        }
        Ok(())
    }

    /// A thread waits for a page.
    pub fn fault(
        &mut self,
        page: Page,
        access: Access,
        endpoint: &Endpoint,
        segment: &Segment,
    ) -> Result<(), String> {
        let now = self.now();
        self.node.fault(page, access, now);
        self.act(&[], endpoint, segment)
    }

    /// Does what is due by now, and says in how many nanoseconds something is due next.
    pub fn tick(&mut self, endpoint: &Endpoint, segment: &Segment) -> Result<Option<u64>, String> {
        let now = self.now();
        if self.node.poll_timeout().is_some_and(|at| at <= now) {
            self.node.handle_timeout(now);
            self.act(&[], endpoint, segment)?;
        }
        Ok(self.node.poll_timeout().map(|at| at.saturating_sub(now)))
    }

    /// Does what the node wants; `came` are the bytes of the message that was handled last.
    pub fn act(&mut self, came: &[u8], endpoint: &Endpoint, segment: &Segment) -> Result<(), String> {
        while let Some(action) = self.node.poll_action() {
            match action {
                Action::Send { to, message } => self.outbox.push((to, message)),
                Action::SendPage { to, message } => {
                    let Message::Bytes { page, .. } = message else { continue };
                    self.send(to, message, Some(segment.buffer(page)), false, endpoint)?;
                }
                Action::Locked(lock) => {
                    *self.granted.entry(lock).or_default() += 1;
                    self.news = true;
                }
                Action::Passed(of) => {
                    *self.passed.entry(of).or_default() += 1;
                    self.news = true;
                }
                action => {
                    if let Action::Install { page, .. } | Action::Zero(page) | Action::Unprotect(page) =
                        action
                    {
                        self.prefetch.came(page);
                    }
                    self.of_kernel(action, came, segment)
                        .map_err(|error| format!("the kernel refuses {action:?}: {error}"))?;
                }
            }
        }
        Ok(())
    }
}
