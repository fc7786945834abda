//! Replaying a trace: every rank computes as long as it did, and sends and waits as it did; the time that
//! messages take follows from the network.

use super::carrier::Carrier;
use super::steps::{Step, steps};
use super::times::TraceTimes;
use super::{LEAST_BYTES, Trace, TraceError, What};
use crate::fabric::{Fabric, Load, Packet};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// The result of a replay. Times are in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// When the last rank was done.
    pub end: u64,
    /// Time of computing, by rank.
    pub computing: Vec<u64>,
    /// Time of waiting for messages, by rank.
    pub waiting: Vec<u64>,
    /// Number of messages, including those of collective operations.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Number of messages between ranks of one host, which do not use the network.
    pub local: u64,
}

/// The load that replays a trace.
pub struct Replay<'t> {
    trace: &'t Trace,
    times: TraceTimes,
    hosts: u32,
    ranks: Vec<Rank>,
    /// Messages under way: the packets of each that have not arrived, and the rank that waits for it.
    messages: Vec<Message>,
    unused: Vec<u32>,
    flows: HashMap<FlowKey, Flow>,
    left: usize,
    dropped: bool,
    result: Replayed,
}

/// A flow: source, destination, and 0 for messages between two ranks, or 1 plus the number of a group for its
/// operations. Messages of one flow stay in order; those of different flows may pass each other, as in MPI.
type FlowKey = (u32, u32, u32);

/// The messages of a flow.
#[derive(Default)]
struct Flow {
    /// Number of messages that were sent.
    sent: u32,
    /// Number of messages that have arrived with all before them.
    come: u32,
    /// Messages that have arrived before an earlier one, as over another rail, by their numbers from 0.
    early: BTreeSet<u32>,
    /// Number of messages that a rank has taken.
    taken: u32,
}

struct Message {
    flow: FlowKey,
    /// Its number in the flow, from 0.
    number: u32,
    packets: u32,
}

#[derive(Default)]
struct Rank {
    /// Index of the next event.
    at: usize,
    /// The remaining steps of a collective operation, and the number of its flows.
    steps: VecDeque<Step>,
    stream: u32,
    doing: Doing,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Doing {
    /// Computing, or receiving.
    #[default]
    Busy,
    Sending(u32, u64),
    Waiting(FlowKey, u64),
    Done,
}

/// Timer by which a rank continues; other values are numbers of messages that stay on one host.
const GO_ON: u32 = u32::MAX;

impl<'t> Replay<'t> {
    /// Ranks are placed on the hosts in order: one on each if there are enough hosts, otherwise in blocks of
    /// as equal size as possible.
    pub fn new(trace: &'t Trace, hosts: usize, times: TraceTimes) -> Replay<'t> {
        let ranks = trace.ranks();
        Replay {
            trace,
            times,
            hosts: hosts as u32,
            ranks: (0..ranks).map(|_| Rank::default()).collect(),
            messages: Vec::new(),
            unused: Vec::new(),
            flows: HashMap::new(),
            left: ranks,
            dropped: false,
            result: Replayed { computing: vec![0; ranks], waiting: vec![0; ranks], ..Replayed::default() },
        }
    }

    /// The result, once the fabric has come to rest.
    pub fn finish(self) -> Result<Replayed, TraceError> {
        if self.dropped {
            let told =
                "a port dropped a packet, which a replay does not send again; give ports a larger queue";
            return Err(TraceError::Missing(told.into()));
        }
        let stuck = (0..).zip(&self.ranks).find_map(|(rank, state)| match state.doing {
            Doing::Waiting((from, ..), _) => Some((rank, from, state.at)),
            _ => None,
        });
        match stuck {
            None => Ok(self.result),
            Some((rank, from, at)) => {
                let line = self.trace.events[rank].get(at.saturating_sub(1)).map_or(0, |event| event.line);
                let problem = format!(
                    "rank {rank} waits here for rank {from}, which waits itself; is a recv where the \
                     message was waited for?"
                );
                Err(TraceError::Line { line, problem })
            }
        }
    }

    fn host(&self, rank: u32) -> u32 {
        let ranks = self.ranks.len() as u64;
        if ranks <= u64::from(self.hosts) {
            return rank;
        }
        (u64::from(rank) * u64::from(self.hosts) / ranks) as u32
    }

    /// Lets all ranks begin.
    pub(crate) fn start(&mut self, carrier: &mut impl Carrier) {
        for rank in 0..self.ranks.len() as u32 {
            self.go_on(carrier, rank);
        }
    }

    /// A timer of a rank is due.
    pub(crate) fn due(&mut self, carrier: &mut impl Carrier, rank: u32, what: u32) {
        if what != GO_ON {
            return self.came(carrier, what);
        }
        if let Doing::Sending(to, bytes) = self.ranks[rank as usize].doing {
            self.ranks[rank as usize].doing = Doing::Busy;
            self.send(carrier, rank, to, bytes);
        }
        self.go_on(carrier, rank);
    }

    /// Lets a rank continue.
    fn go_on(&mut self, carrier: &mut impl Carrier, rank: u32) {
        let now = carrier.time();
        let state = &mut self.ranks[rank as usize];
        if let Some(step) = state.steps.pop_front() {
            let stream = state.stream;
            return self.step(carrier, rank, step, stream);
        }
        let Some(event) = self.trace.events[rank as usize].get(state.at).copied() else {
            state.doing = Doing::Done;
            self.left -= 1;
            self.result.end = self.result.end.max(now);
            return;
        };
        state.at += 1;
        state.doing = Doing::Busy;
        match event.what {
            What::Send { to } => {
                state.stream = 0;
                state.steps.push_back(Step::Send { to, bytes: event.bytes });
            }
            What::Receive { from } => {
                state.stream = 0;
                state.steps.push_back(Step::Receive { from });
            }
            What::Collective { kind, root, group } => {
                let members = &self.trace.groups[group as usize];
                let me = members.iter().position(|&member| member == rank).unwrap_or(0);
                state.stream = group + 1;
                state.steps = steps(kind, members, me, root, event.bytes).into();
            }
            What::End => {}
        }
        self.result.computing[rank as usize] += event.compute_ps;
        carrier.after(now + event.compute_ps, rank, GO_ON);
    }

    fn step(&mut self, carrier: &mut impl Carrier, rank: u32, step: Step, stream: u32) {
        let now = carrier.time();
        match step {
            Step::Send { to, bytes } => {
                self.ranks[rank as usize].doing = Doing::Sending(to, bytes);
                carrier.after(now + self.times.send, rank, GO_ON);
            }
            Step::Receive { from } => {
                let flow = (from, rank, stream);
                match self.flows.get_mut(&flow) {
                    Some(messages) if messages.taken < messages.come => {
                        messages.taken += 1;
                        self.ranks[rank as usize].doing = Doing::Busy;
                        carrier.after(now + self.times.receive, rank, GO_ON);
                    }
                    _ => self.ranks[rank as usize].doing = Doing::Waiting(flow, now),
                }
            }
        }
    }

    /// Hands a message to the network.
    fn send(&mut self, carrier: &mut impl Carrier, rank: u32, to: u32, bytes: u64) {
        let flow = (rank, to, self.ranks[rank as usize].stream);
        let most = u64::from(self.times.packet_bytes.max(LEAST_BYTES));
        let packets = bytes.div_ceil(most).max(1);
        let sent = &mut self.flows.entry(flow).or_default().sent;
        let message = Message { flow, number: *sent, packets: packets as u32 };
        *sent += 1;
        let id = match self.unused.pop() {
            Some(id) => {
                self.messages[id as usize] = message;
                id
            }
            None => {
                self.messages.push(message);
                self.messages.len() as u32 - 1
            }
        };
        self.result.messages += 1;
        self.result.bytes += bytes;
        let (from, host) = (self.host(rank), self.host(to));
        if from == host {
            self.result.local += 1;
            self.messages[id as usize].packets = 1;
            carrier.after(carrier.time(), rank, id);
            return;
        }
        for number in 0..packets {
            let length = (bytes - number * most).min(most) as u32;
            let length = length + self.times.header_bytes;
            carrier.give([from, host], length.max(self.times.least_bytes), id);
        }
    }

    /// A packet of a message has arrived.
    pub(crate) fn came(&mut self, carrier: &mut impl Carrier, id: u32) {
        let message = &mut self.messages[id as usize];
        message.packets -= 1;
        if message.packets > 0 {
            return;
        }
        let (flow, number) = (message.flow, message.number);
        self.unused.push(id);
        let messages = self.flows.entry(flow).or_default();
        messages.early.insert(number);
        while messages.early.remove(&messages.come) {
            messages.come += 1;
        }
        let (rank, now) = (flow.1, carrier.time());
        match self.ranks[rank as usize].doing {
            Doing::Waiting(wanted, since) if wanted == flow && messages.taken < messages.come => {
                messages.taken += 1;
                self.result.waiting[rank as usize] += now - since;
                self.ranks[rank as usize].doing = Doing::Busy;
                carrier.after(now + self.times.receive, rank, GO_ON);
            }
            _ => {}
        }
    }
}

impl Load for Replay<'_> {
    fn begin(&mut self, fabric: &mut Fabric) {
        self.start(fabric);
    }

    fn timer(&mut self, fabric: &mut Fabric, rank: u32, what: u32) {
        self.due(fabric, rank, what);
    }

    fn arrived(&mut self, fabric: &mut Fabric, packet: Packet) {
        self.came(fabric, packet.tag as u32);
    }

    fn dropped(&mut self, _fabric: &mut Fabric, _packet: Packet) {
        self.dropped = true;
    }

    fn done(&self) -> bool {
        self.left == 0 || self.dropped
    }
}
