//! One connection: the paths to one peer, and what goes over them.

use std::collections::VecDeque;
use std::net::Ipv6Addr;

use tasuki_wire::{Greeting, Lane, Path as PathId, Rail, RailList, Rails, RefuseReason, Run};

use crate::config::Config;
use crate::defect::Plant;
use crate::deferred_ack::DeferredAck;
use crate::event::Event;
use crate::ids::{ConnId, Local, Remote};
use crate::interval::IntervalSet;
use crate::outbox::Outbox;
use crate::path::Path;
use crate::time::Time;
use tasuki_random::Random;

/// What all connections of an endpoint share, for the length of a call.
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
    /// Our name for the peer: what it puts into its packets.
    pub name: u32,
    /// The peer's name for us; 0 until its greeting came.
    pub peer_name: u32,
    /// The peer has used our name: it needs no welcome any more.
    pub peer_knows: bool,
    pub welcome_due: bool,
    /// Longest time that the peer holds acknowledgements back, ns.
    pub peer_delay_ns: u64,
    pub own: Vec<Rail>,
    pub own_change: u64,
    pub rails_due: bool,
    pub theirs: Vec<Rail>,
    /// Runs of an acknowledgement while it is written: kept, because a list of the most there can be takes long to clear.
    pub told: Vec<Run>,
    pub their_change: u64,
    pub paths: Vec<Path>,
    /// It is used enough for all its rails to be asked whether they work.
    pub proving: bool,
    /// Where the last data went.
    pub current: usize,
    /// Packets that have gone there since the path was last chosen, if nothing else has.
    pub in_a_row: u32,
    /// More waits, or has waited since the outbox was last empty, than is good for the raw lane.
    pub streaming: bool,
    /// Hello: which path, when to try again, how often tried.
    pub hello_path: usize,
    pub hello_at: Option<Time>,
    pub hello_due: bool,
    pub hellos: u32,
    /// Paths tried while none was up.
    pub guesses: usize,
    /// The next frame is too long to stand beside a hello.
    pub data_waits_for_welcome: bool,
    pub outbox: Outbox,
    /// An acknowledgement that has come and waits for a quieter moment.
    pub deferred_ack: Option<DeferredAck>,
    /// In the list of connections with one, or that had one.
    pub in_deferred: bool,
    /// Positions received.
    pub seen: IntervalSet,
    /// Packets with content received that had not come before, and how many of them the peer knows to be acknowledged.
    pub content: u64,
    pub content_confirmed: u64,
    /// Of those, as of the last packet under way that says so.
    pub content_told: u64,
    /// Told to end: when at the latest, if the peer stays silent.
    pub closing: Option<Time>,
    /// Over: refused by the peer, or about to be removed.
    pub mute: bool,
    /// To be removed as soon as the layer above can be told of its payload.
    pub expired: bool,
    /// The layer above has closed it and wants to know of its end.
    pub reports_closed: bool,
    /// The peer has opened another connection instead, and this was told.
    pub reset: bool,
    /// It exists only to be refused.
    pub refused: bool,
    /// To be refused: one packet, then gone.
    pub refuse: Option<RefuseReason>,
    /// In the queue of connections that may have something to send.
    pub queued: bool,
    /// Not later than [`Conn::deadline`]: what all connections are asked when one of them has something to do.
    pub due: Time,
}

/// Number of the first list of rails.
pub(crate) const FIRST_CHANGE: u64 = 1;

impl Conn {
    pub fn new(id: ConnId, remote: Remote, own: &[Rail], config: &Config) -> Conn {
        let mut conn = Conn {
            id,
            remote,
            name: (id.generation & 0xffff) << 16 | (id.index + 1),
            peer_name: 0,
            peer_knows: false,
            welcome_due: false,
            peer_delay_ns: u64::from(config.max_ack_delay_us) * 1000,
            own: own.to_vec(),
            own_change: FIRST_CHANGE,
            rails_due: false,
            theirs: Vec::new(),
            told: Vec::new(),
            their_change: 0,
            paths: Vec::new(),
            proving: config.prove_after == 0,
            current: 0,
            in_a_row: u32::MAX,
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
            content_told: 0,
            closing: None,
            mute: false,
            expired: false,
            reports_closed: false,
            reset: false,
            refused: false,
            refuse: None,
            queued: false,
            due: Time::NEVER,
        };
        conn.own.sort_by_key(|rail| rail.rail);
        conn.own.dedup_by_key(|rail| rail.rail);
        conn.update_paths(config, &mut Vec::new());
        conn
    }

    /// The peer's name for us is known.
    pub fn is_open(&self) -> bool {
        self.peer_name != 0
    }

    pub fn find_path(&self, id: PathId) -> Option<usize> {
        self.paths.iter().position(|path| path.id == id)
    }

    /// The path, made if need be: the peer may send where this side has no rail.
    pub fn path_or_new(&mut self, id: PathId, config: &Config) -> usize {
        match self.find_path(id) {
            Some(at) => at,
            None => {
                self.paths.push(Path::new(id, config, 0));
                self.paths.len() - 1
            }
        }
    }

    /// What hello and welcome say.
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

    /// An acknowledgement is owed on any path.
    pub fn owes_ack(&self) -> bool {
        self.paths.iter().any(|path| path.owed.pending)
    }

    pub fn is_drained(&self) -> bool {
        self.outbox.is_empty() && !self.owes_ack()
    }

    /// Closed, and both sides know that everything has arrived.
    pub fn is_closed(&self) -> bool {
        self.closing.is_some()
            && self.is_drained()
            && self.content_confirmed >= self.content
            && self.paths.iter().all(|path| path.owed.everywhere == 0)
    }

    /// There may be something to send, or an end to be noticed. An acknowledgement that may wait is none: most often a message takes it
    /// along.
    pub fn has_errand(&self) -> bool {
        let duty = |path: &Path| {
            let (owed, probe) = (&path.owed, &path.probe);
            owed.now || owed.everywhere != 0 || probe.due || path.ping_due || !path.replies.is_empty()
        };
        !self.is_open()
            || self.welcome_due
            || self.rails_due
            || self.expired
            || self.closing.is_some()
            || self.refuse.is_some()
            || self.outbox.more
            || self.outbox.unsent > 0
            || !self.outbox.lost.is_empty()
            || self.paths.iter().any(duty)
    }

    /// This side's rails are others now.
    pub fn set_own_rails(&mut self, rails: &[Rail], cx: &mut Context<'_>) {
        self.own.clear();
        self.own.extend_from_slice(rails);
        self.own.sort_by_key(|rail| rail.rail);
        self.own.dedup_by_key(|rail| rail.rail);
        self.own_change += 1;
        self.rails_due = self.is_open();
        self.rails_changed(cx);
    }

    /// The earliest time at which something must be done without being asked.
    pub fn deadline(&self) -> Option<Time> {
        if self.mute {
            return self.closing;
        }
        let or_never = |at: Option<Time>| at.unwrap_or(Time::NEVER);
        let mut first = or_never(self.closing).min(or_never(self.hello_at));
        for path in &self.paths {
            // Asked for with every packet: four comparisons, no loop.
            let timers = or_never(path.loss_at).min(or_never(path.pto_at));
            first = first.min(timers).min(or_never(path.owed.at)).min(or_never(path.probe.at));
        }
        (first < Time::NEVER).then_some(first)
    }

    /// Any rail of its own, for an address when none is known.
    pub fn lanes() -> [Lane; 3] {
        [Lane::Raw, Lane::Udp, Lane::Xdp]
    }

    /// An address that cannot be reached, for conversations without rails.
    pub fn nowhere() -> Rail {
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
