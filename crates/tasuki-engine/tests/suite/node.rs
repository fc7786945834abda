//! An endpoint with buffers that live as long as their operations.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use tasuki_engine::{Buffer, Completion, Endpoint, Framing, Options, Peer, RecvArgs, Report, SendArgs};

/// A test that has waited for something for longer than this has failed: a hang is a defect, slowness is not.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Shared,
    Packets,
    /// Packets, and length-coded bulk.
    Bulk,
    /// Packets, and streams.
    Streams,
}

pub const LANES: [Lane; 4] = [Lane::Shared, Lane::Packets, Lane::Bulk, Lane::Streams];

pub struct Node {
    pub endpoint: Endpoint,
    pub peers: Vec<Peer>,
    /// By context: what the operation reads or writes.
    buffers: HashMap<u64, Box<[u8]>>,
    next: u64,
    pub done: Vec<Completion>,
}

pub fn options(lane: Lane) -> Options {
    Options {
        identity: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        shm: lane == Lane::Shared,
        stats: false,
        framing: match lane {
            Lane::Bulk => Framing::Length,
            Lane::Streams => Framing::Streams,
            Lane::Shared | Lane::Packets => Framing::Frames,
        },
        ..Options::default()
    }
}

/// Opens endpoints that know each other; `peers[i]` is the i-th, itself included.
pub fn nodes(count: usize, lane: Lane) -> Vec<Node> {
    Node::acquainted((0..count).map(|_| Endpoint::open(&options(lane)).unwrap()).collect())
}

impl Node {
    /// Endpoints that know each other.
    pub fn acquainted(endpoints: Vec<Endpoint>) -> Vec<Node> {
        let addresses: Vec<_> = endpoints.iter().map(Endpoint::address).collect();
        let node = |endpoint: Endpoint| {
            let peers = addresses.iter().map(|address| endpoint.add_peer(address)).collect();
            Node { endpoint, peers, buffers: HashMap::new(), next: 1, done: Vec::new() }
        };
        endpoints.into_iter().map(node).collect()
    }

    fn keep(&mut self, bytes: Box<[u8]>) -> (u64, Buffer) {
        let context = self.next;
        self.next += 1;
        let mut bytes = bytes;
        let buffer = Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() };
        self.buffers.insert(context, bytes);
        (context, buffer)
    }

    pub fn send(&mut self, to: usize, tag: Option<u64>, bytes: &[u8]) -> u64 {
        self.send_with(to, tag, bytes, |_| {})
    }

    pub fn send_with(
        &mut self,
        to: usize,
        tag: Option<u64>,
        bytes: &[u8],
        change: impl FnOnce(&mut SendArgs<'_>),
    ) -> u64 {
        let (context, buffer) = self.keep(bytes.into());
        let buffers = [buffer];
        let mut args = SendArgs {
            peer: self.peers[to],
            tag,
            data: None,
            buffers: &buffers,
            inject: false,
            report: Report::Completion,
            delivery: false,
            more: false,
            context,
        };
        change(&mut args);
        let (inject, quiet) = (args.inject, args.report != Report::Completion);
        // SAFETY: the buffer is kept until the operation completes.
        unsafe { self.endpoint.send(&args) }.unwrap();
        if inject {
            // The program's own again: what happens to it now must not matter.
            self.buffers.get_mut(&context).unwrap().fill(0xff);
            if quiet {
                self.buffers.remove(&context);
            }
        }
        context
    }

    pub fn recv(&mut self, from: Option<usize>, tag: Option<u64>, ignore: u64, capacity: usize) -> u64 {
        self.recv_with(from, tag, ignore, capacity, None)
    }

    pub fn recv_with(
        &mut self,
        from: Option<usize>,
        tag: Option<u64>,
        ignore: u64,
        capacity: usize,
        multi: Option<usize>,
    ) -> u64 {
        let (context, buffer) = self.keep(vec![0xee; capacity].into());
        let source = from.map(|from| self.peers[from]);
        let args =
            RecvArgs { source, tag, ignore, buffers: &[buffer], multi, report: Report::Completion, context };
        // SAFETY: the buffer is kept until the operation completes.
        unsafe { self.endpoint.recv(&args) }.unwrap();
        context
    }

    /// Memory for a claimed message.
    pub fn room(&mut self, capacity: usize) -> (u64, Buffer) {
        self.keep(vec![0xee; capacity].into())
    }

    pub fn turn(&mut self) {
        self.endpoint.progress();
        while let Some(completion) = self.endpoint.poll() {
            if let Completion::Send { context, .. } = completion {
                // An endpoint that still read the buffer after this would send wrong bytes.
                self.buffers.get_mut(&context).unwrap().fill(0xdd);
            }
            self.done.push(completion);
        }
    }

    /// Closes the endpoint while operations are under way, and uses their memory for something else. Gives
    /// that memory.
    pub fn close_and_reuse(self) -> HashMap<u64, Box<[u8]>> {
        let Node { endpoint, mut buffers, .. } = self;
        endpoint.close();
        buffers.values_mut().for_each(|bytes| bytes.fill(0xcc));
        buffers
    }

    /// What an operation has received.
    pub fn bytes(&self, context: u64) -> &[u8] {
        &self.buffers[&context]
    }
}

/// Lets all make progress until `over` is satisfied.
pub fn run(nodes: &mut [Node], mut over: impl FnMut(&mut [Node]) -> bool) {
    let start = Instant::now();
    while !over(nodes) {
        nodes.iter_mut().for_each(Node::turn);
        if start.elapsed() > TIMEOUT {
            nodes.iter().for_each(|node| eprintln!("{}", node.endpoint.describe()));
            panic!("nothing comes any more");
        }
    }
}
