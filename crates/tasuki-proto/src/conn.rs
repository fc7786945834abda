//! One connection: the paths to one peer, and its state.

use std::collections::VecDeque;
use std::net::Ipv6Addr;

use tasuki_wire::{Greeting, Lane, Path as PathId, Rail, RailList, Rails, RefuseReason, Run};

use crate::config::Config;
use crate::defect::Plant;
use crate::deferred_ack::DeferredAck;
use crate::event::Event;
use crate::given_up::GivenUp;
use crate::ids::{ConnId, Local, Remote};
use crate::interval::IntervalSet;
use crate::keys::Keys;
use crate::outbox::Outbox;
use crate::path::Path;
use crate::time::Time;
use tasuki_random::Random;

/// What the connections of an endpoint share, borrowed for the length of a call.
pub(crate) struct Context<'a> {
    pub now: Time,
    pub config: &'a Config,
    pub local: &'a Local,
    pub plant: Plant,
    pub events: &'a mut VecDeque<Event>,
    pub random: &'a mut Random,
}

pub(crate) struct Conn {
    pub id: ConnId,
    pub remote: Remote,
    /// The keys of its packets; `None`: packets carry no tags.
    pub keys: Option<Keys>,
    /// This side's name for the connection: the peer puts it into its packets.
    pub name: u32,
    /// The peer's name for the connection, which goes into packets to it; 0 until its greeting has come.
    pub peer_name: u32,
    /// The peer has used this side's name, so it has the greeting and needs no further welcome.
    pub peer_knows: bool,
    pub welcome_due: bool,
    /// Longest time that the peer holds an acknowledgement back, ns.
    pub peer_delay_ns: u64,
    pub own: Vec<Rail>,
    pub own_change: u64,
    pub rails_due: bool,
    pub theirs: Vec<Rail>,
    /// Scratch space for the runs of an acknowledgement while it is written; kept between packets, because an
    /// array of the maximum size takes long to clear.
    pub ack_runs: Vec<Run>,
    pub their_change: u64,
    pub paths: Vec<Path>,
    /// The connection is used enough that the state of all its rails is to be known.
    pub proving: bool,
    /// Path of the last packet with data.
    pub current: usize,
    /// Packets that the fast path has sent on `current` since the path was last chosen; `u32::MAX` if it must
    /// be chosen anew.
    pub path_reuse: u32,
    /// A stream is being sent: more waits than is good for the raw lane, or has waited since the outbox was
    /// last empty.
    pub streaming: bool,
    /// For hellos: the path of the last one, when to send the next, and how many had no answer.
    pub hello_path: usize,
    pub hello_at: Option<Time>,
    pub hello_due: bool,
    pub hellos: u32,
    /// Number of paths that `guess_path` has tried while none was responsive.
    pub guesses: usize,
    /// The next frame is too long to go in the same packet as a hello.
    pub data_waits_for_welcome: bool,
    pub outbox: Outbox,
    /// An acknowledgement that has arrived and is processed later.
    pub deferred_ack: Option<DeferredAck>,
    /// In the list [`crate::Proto`] keeps of connections that have, or had, a deferred acknowledgement.
    pub in_deferred: bool,
    /// Positions received.
    pub seen: IntervalSet,
    /// Count of received packets with new content, and up to which count the peer is known to know of their
    /// acknowledgement.
    pub content: u64,
    pub content_confirmed: u64,
    /// Up to which count of received packets with new content an acknowledgement has been sent in a packet
    /// that the peer must answer.
    pub content_acked: u64,
    /// In the closing state: the time at which it ends at the latest, even if the peer stays silent.
    pub closing: Option<Time>,
    /// How often the closing state has begun anew, because something was not acknowledged.
    pub closing_rounds: u32,
    /// The peer has refused the connection: nothing is sent on it any more.
    pub refused_by_peer: bool,
    /// To be removed as soon as the layer above can be called to release its payload.
    pub expired: bool,
    /// The layer above has closed it and must be told when it has ended.
    pub reports_closed: bool,
    /// The peer has opened another connection instead, and the layer above has been told.
    pub reset: bool,
    /// This side has given it up: nothing is left to do but to tell the peer so.
    pub given_up: Option<GivenUp>,
    /// The connection exists only to refuse a hello.
    pub is_refusal: bool,
    /// The refusal, for the reason given, is still to be sent.
    pub refusal_due: Option<RefuseReason>,
    /// In the queue of connections that may have something to send.
    pub queued: bool,
    /// Not later than [`Conn::deadline`]; kept so that not all timers of all connections must be looked at
    /// when one of them is due.
    pub due: Time,
}

/// Number of the first version of the list of rails.
pub(crate) const FIRST_CHANGE: u64 = 1;

impl Conn {
    pub fn new(id: ConnId, remote: Remote, own: &[Rail], local: &Local, config: &Config) -> Conn {
        let mut conn = Conn {
            id,
            remote,
            keys: config.job_key.as_ref().map(|job| Keys::new(job, local, &remote)),
            name: (id.generation & 0xffff) << 16 | (id.index + 1),
            peer_name: 0,
            peer_knows: false,
            welcome_due: false,
            peer_delay_ns: u64::from(config.max_ack_delay_us) * 1000,
            own: own.to_vec(),
            own_change: FIRST_CHANGE,
            rails_due: false,
            theirs: Vec::new(),
            ack_runs: Vec::new(),
            their_change: 0,
            paths: Vec::new(),
            proving: config.prove_after == 0,
            current: 0,
            path_reuse: u32::MAX,
            streaming: false,
            hello_path: 0,
            hello_at: None,
            hello_due: false,
            hellos: 0,
            guesses: 0,
            data_waits_for_welcome: false,
            outbox: Outbox::default(),
            deferred_ack: None,
            in_deferred: false,
            seen: IntervalSet::default(),
            content: 0,
            content_confirmed: 0,
            content_acked: 0,
            closing: None,
            closing_rounds: 0,
            refused_by_peer: false,
            expired: false,
            reports_closed: false,
            reset: false,
            given_up: None,
            is_refusal: false,
            refusal_due: None,
            queued: false,
            due: Time::NEVER,
        };
        conn.own.sort_by_key(|rail| rail.rail);
        conn.own.dedup_by_key(|rail| rail.rail);
        conn.update_paths(config, &mut Vec::new());
        conn
    }

    /// Whether the peer's greeting has come, so that its name for the connection is known.
    pub fn is_open(&self) -> bool {
        self.peer_name != 0
    }

    pub fn find_path(&self, id: PathId) -> Option<usize> {
        self.paths.iter().position(|path| path.id == id)
    }

    /// Index of the path; made if there is none, because the peer may send where this side has no rail.
    pub fn path_or_new(&mut self, id: PathId, config: &Config) -> usize {
        match self.find_path(id) {
            Some(at) => at,
            None => {
                self.paths.push(Path::new(id, config, 0));
                self.paths.len() - 1
            }
        }
    }

    /// The greeting that hello and welcome carry.
    pub fn greeting<'a>(&'a self, local: &Local, config: &Config) -> Greeting<'a> {
        Greeting {
            addressee: self.remote.incarnation,
            proof: self.remote.secret.proof(),
            incarnation: local.incarnation,
            endpoint: local.endpoint,
            name: self.name,
            secret: local.secret,
            identity: local.identity,
            port: local.port,
            ack_delay_us: config.max_ack_delay_us,
            rails: self.own_rails(),
        }
    }

    pub fn own_rails(&self) -> Rails<'_> {
        Rails { change: self.own_change, list: RailList::new(&self.own) }
    }

    /// Whether an acknowledgement is owed for packets of any path.
    pub fn owes_ack(&self) -> bool {
        self.paths.iter().any(|path| path.owed.pending)
    }

    pub fn is_drained(&self) -> bool {
        self.outbox.is_empty() && !self.owes_ack()
    }

    /// Whether it is closed, and both sides know that everything has arrived.
    pub fn is_closed(&self) -> bool {
        self.closing.is_some()
            && self.is_drained()
            && self.content_confirmed >= self.content
            && self.paths.iter().all(|path| path.owed.everywhere == 0)
    }

    /// Whether there may be something to send, or an end to be noticed. An acknowledgement that may wait does
    /// not count: most often a message takes it along.
    pub fn has_pending_work(&self) -> bool {
        let duty = |path: &Path| {
            let (owed, probe) = (&path.owed, &path.probe);
            owed.now || owed.everywhere != 0 || probe.due || path.ping_due || !path.replies.is_empty()
        };
        !self.is_open()
            || self.welcome_due
            || self.rails_due
            || self.expired
            || self.closing.is_some()
            || self.refusal_due.is_some()
            || self.outbox.more
            || self.outbox.unsent > 0
            || !self.outbox.lost.is_empty()
            || self.paths.iter().any(duty)
    }

    /// Replaces this side's list of rails.
    pub fn set_own_rails(&mut self, rails: &[Rail], cx: &mut Context<'_>) {
        self.own.clear();
        self.own.extend_from_slice(rails);
        self.own.sort_by_key(|rail| rail.rail);
        self.own.dedup_by_key(|rail| rail.rail);
        self.own_change += 1;
        self.rails_due = self.is_open();
        self.rails_changed(cx);
    }

    /// The earliest time at which a timer of the connection expires.
    pub fn deadline(&self) -> Option<Time> {
        if let Some(given_up) = &self.given_up {
            return given_up.tell_at;
        }
        if self.refused_by_peer {
            return self.closing;
        }
        let or_never = |at: Option<Time>| at.unwrap_or(Time::NEVER);
        let mut first = or_never(self.closing).min(or_never(self.hello_at));
        for path in &self.paths {
            // This is called for every packet, so the four timers of a path are compared without a loop.
            let timers = or_never(path.loss_at).min(or_never(path.pto_at));
            first = first.min(timers).min(or_never(path.owed.at)).min(or_never(path.probe.at));
        }
        (first < Time::NEVER).then_some(first)
    }

    /// All lanes, in the order in which the paths of a rail are made.
    pub fn lanes() -> [Lane; 3] {
        [Lane::Raw, Lane::Udp, Lane::Xdp]
    }

    /// A rail that leads nowhere, for connections that only refuse.
    pub fn unreachable_rail() -> Rail {
        Rail {
            rail: crate::path::LAST_RESORT,
            lanes: tasuki_wire::Lanes::NONE.with(Lane::Udp),
            mtu: tasuki_wire::MIN_MTU,
            rate_mbps: 0,
            address: Ipv6Addr::UNSPECIFIED,
            port: 0,
            mac: [0; 6],
        }
    }
}
