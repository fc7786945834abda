//! An endpoint in either process, and what the other process does.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use tasuki_engine::{
    Address, Buffer, Completion, Endpoint, Options, Peer, RecvArgs, Report, SendArgs, SenderCopies,
};

use crate::other::Other;
use crate::seccomp;

/// What message `number` holds: both processes compute it.
pub fn content(number: u64, len: usize) -> Box<[u8]> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut bytes: Vec<u8> =
        std::iter::repeat_with(word).take(len.div_ceil(8)).flat_map(u64::to_le_bytes).collect();
    bytes.truncate(len);
    bytes.into()
}

pub struct Node {
    pub endpoint: Endpoint,
    peer: Option<Peer>,
    buffers: HashMap<u64, Box<[u8]>>,
    next: u64,
    number: u64,
    pub done: Vec<Completion>,
    /// Under way.
    pub sends: usize,
}

// SAFETY: completions hold addresses in buffers that go with the node.
unsafe impl Send for Node {}

impl Node {
    fn new() -> Node {
        let options = Options {
            identity: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            sender_copies: SenderCopies::Always,
            stats: false,
            ..Options::default()
        };
        let endpoint = Endpoint::open(&options).expect("an endpoint");
        Node { endpoint, peer: None, buffers: HashMap::new(), next: 1, number: 1, done: Vec::new(), sends: 0 }
    }

    /// Whether memory of other processes can be reached here at all.
    pub fn can_share(&self) -> bool {
        !self.endpoint.describe().contains("cannot read its memory")
    }

    /// Numbers for so many messages; the first.
    pub fn numbers(&mut self, count: u64) -> u64 {
        self.number += count;
        self.number - count
    }

    /// Address of the first peer.
    pub fn peer_address(&self) -> Address {
        self.endpoint.peer_address(self.peer.expect("a peer")).expect("it is known")
    }

    pub fn address(&self) -> String {
        format!("{:x}", self.endpoint.address())
    }

    fn keep(&mut self, mut bytes: Box<[u8]>) -> (u64, Buffer) {
        let context = self.next;
        self.next += 1;
        let buffer = Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() };
        self.buffers.insert(context, bytes);
        (context, buffer)
    }

    /// Posts a receive from the first peer.
    pub fn recv(&mut self, capacity: usize) -> u64 {
        self.recv_from(self.peer.expect("a peer"), capacity)
    }

    pub fn recv_from(&mut self, peer: Peer, capacity: usize) -> u64 {
        let (context, buffer) = self.keep(vec![0xee; capacity].into());
        let (source, report) = (Some(peer), Report::Completion);
        let args =
            RecvArgs { source, tag: Some(0), ignore: 0, buffers: &[buffer], multi: None, report, context };
        // SAFETY: the buffer is kept as long as the node.
        unsafe { self.endpoint.recv(&args) }.expect("a receive");
        context
    }

    /// Posts a send to the first peer.
    pub fn send(&mut self, number: u64, len: usize) {
        let (context, buffer) = self.keep(content(number, len));
        let args = SendArgs {
            peer: self.peer.expect("a peer"),
            tag: Some(0),
            data: None,
            buffers: &[buffer],
            inject: false,
            report: Report::Completion,
            delivery: false,
            more: false,
            context,
        };
        self.sends += 1;
        // SAFETY: the buffer is kept until the operation completes.
        unsafe { self.endpoint.send(&args) }.expect("a send");
    }

    pub fn turn(&mut self) {
        self.endpoint.progress();
        while let Some(completion) = self.endpoint.poll() {
            match completion {
                Completion::Send { context, .. } => {
                    self.sends -= 1;
                    // An endpoint that still read the buffer after this would find wrong bytes.
                    if let Some(mut bytes) = self.buffers.remove(&context) {
                        bytes.fill(0xdd);
                    }
                }
                other => self.done.push(other),
            }
        }
    }

    pub fn bytes(&self, context: u64) -> &[u8] {
        &self.buffers[&context]
    }

    /// Closes the endpoint, and gives the memory back only then.
    pub fn close(self) {
        let Node { endpoint, buffers, .. } = self;
        endpoint.close();
        drop(buffers);
    }
}

/// A sender in another process, and an endpoint here that knows it.
pub fn start(task: &str) -> (Other, Node) {
    let (mut other, address) = Other::start("helper", task);
    let mut node = Node::new();
    node.peer = Some(node.endpoint.add_peer(&address));
    other.tell(&node.address());
    // A first message both ways, so that each knows how to reach the other.
    let recv = node.recv(8);
    other.tell("send 0 true 8");
    node.send(0, 8);
    assert_eq!(other.hear_with(|| node.turn()), "sent");
    while !node.done.iter().any(|done| matches!(done, Completion::Recv { context, .. } if *context == recv)) {
        node.turn();
    }
    node.done.clear();
    (other, node)
}

fn say(text: &str) {
    println!("SAYS {text}");
}

fn word() -> String {
    let mut text = String::new();
    std::io::stdin().read_line(&mut text).expect("a word");
    text.trim().to_owned()
}

/// What the other process does.
pub fn run(task: &str) {
    match task {
        "refused" => seccomp::refuse_writes(),
        "held" => seccomp::hold_writes(),
        _ => {}
    }
    let mut node = Node::new();
    say(&node.address());
    node.peer = Some(node.endpoint.add_peer(&word().parse().expect("an address")));
    loop {
        let text = word();
        let words: Vec<&str> = text.split(' ').collect();
        match words[..] {
            // send FIRST BOTH LENGTH...: sends them, and if BOTH receives as many of the same lengths.
            ["send", first, both, ref lens @ ..] => {
                let first: u64 = first.parse().expect("a number");
                let lens: Vec<usize> = lens.iter().map(|len| len.parse().expect("a length")).collect();
                let count = if both == "true" { lens.len() } else { 0 };
                let recvs: Vec<u64> = lens[..count].iter().map(|len| node.recv(*len)).collect();
                lens.iter().zip(first..).for_each(|(len, number)| node.send(number, *len));
                while node.sends > 0 || node.done.len() < count {
                    node.turn();
                }
                for ((recv, len), number) in recvs.iter().zip(&lens).zip(first..) {
                    assert!(node.bytes(*recv) == &*content(number, *len), "message {number} is another one");
                }
                node.done.clear();
                say("sent");
            }
            // post NUMBER LENGTH: sends it, and does not look after it.
            ["post", number, len] => {
                node.send(number.parse().expect("a number"), len.parse().expect("a length"));
                say("posted");
            }
            ["count"] => say(&node.endpoint.dual_copies().written.to_string()),
            _ => return,
        }
    }
}
