//! What every endpoint reads.

use super::variable::{Reader, Values, Variable};

const READERS: &[Reader] = &[Reader::Endpoints];
const SWITCH: Values = Values::Choice(&["0", "1"]);

/// The file that describes the rails of the host.
pub const RAILS: Variable = Variable {
    name: "TASUKI_RAILS",
    default: "/run/tasuki/rails.json if it exists",
    values: Values::Text("the path of a file"),
    meaning: "File that describes the rails of the host. Without a file there is one rail, number 31, over \
              the routed identity addresses. tasuki broker gives lanes of the NICs that it names.",
    readers: &[Reader::Endpoints, Reader::Command],
};

/// The identity address of the host.
pub const IDENTITY: Variable = Variable {
    name: "TASUKI_IDENTITY",
    default: "from the rails, else of tasuki0, else of the default route, else any, else 127.0.0.1",
    values: Values::Text("an IP address"),
    meaning: "Identity address of the host.",
    readers: READERS,
};

/// Whether messages within the host go through shared memory.
pub const SHM: Variable = Variable {
    name: "TASUKI_SHM",
    default: "1",
    values: SWITCH,
    meaning: "0: no shared memory; messages within the host go in packets, too.",
    readers: READERS,
};

/// Whether the sender of a long message within the host copies a part of it.
pub const SENDER_COPIES: Variable = Variable {
    name: "TASUKI_SENDER_COPIES",
    default: "idle",
    values: Values::Choice(&["never", "idle", "always"]),
    meaning: "Whether the sender of a long message within the host copies a part of it (dual copy). idle: \
              if it waits and there is a processor for it; always: if it waits; never.",
    readers: READERS,
};

/// The lanes that carry packets between hosts.
pub const LANES: Variable = Variable {
    name: "TASUKI_LANES",
    default: "raw,udp",
    values: Values::Choice(&["udp", "raw,udp"]),
    meaning: "raw,udp: raw Ethernet frames where they are allowed and pass, UDP elsewhere; udp: never raw \
              frames.",
    readers: READERS,
};

/// Priority of raw frames.
pub const PRIORITY: Variable = Variable {
    name: "TASUKI_PRIORITY",
    default: "no tag",
    values: Values::Number("a number from 0 to 7"),
    meaning: "Raw frames carry this IEEE 802.1Q priority, and only messages shorter than 3 KiB go raw.",
    readers: READERS,
};

/// The broker's socket.
pub const BROKER: Variable = Variable {
    name: "TASUKI_BROKER",
    default: "/run/tasuki/broker.sock",
    values: Values::Text("the path of a socket, or nothing"),
    meaning: "Socket of the broker that opens raw lanes for programs without CAP_NET_RAW. Empty: no broker \
              is asked.",
    readers: READERS,
};

/// Memory for the receive rings of the raw lanes.
pub const RINGS: Variable = Variable {
    name: "TASUKI_RINGS",
    default: "64",
    values: Values::Number("a number of MiB"),
    meaning: "MiB for the receive rings of the raw lanes of a whole host, reckoned as one process per \
              processor.",
    readers: READERS,
};

/// Memory for unexpected messages.
pub const POOL: Variable = Variable {
    name: "TASUKI_POOL",
    default: "32",
    values: Values::Number("a number of MiB"),
    meaning: "MiB for messages for which no receive is posted yet (the pool of credit).",
    readers: READERS,
};

/// How a receiver grants long messages.
pub const RATE: Variable = Variable {
    name: "TASUKI_RATE",
    default: "adaptive",
    values: Values::ChoiceOr(
        &["window", "adaptive"],
        "static: with R/B of receivers (static:101M/128K,10.77.0.2=52M/64K)",
    ),
    meaning: "How a receiver grants long messages. adaptive: as much as arrives; window: a fixed window of \
              4 MiB; static:R/B: senders keep to the ATM paper's rates.",
    readers: READERS,
};

/// How long messages between hosts travel.
pub const BULK: Variable = Variable {
    name: "TASUKI_BULK",
    default: "auto",
    values: Values::Choice(&["auto", "frames", "streams", "length"]),
    meaning: "How long messages between hosts travel. frames: in packets over all rails; streams: from 6 \
              or 12 KiB on by TCP over one rail; length: from 64 KiB on in datagrams without headers over \
              one rail; auto: by TCP where packets come fast and one by one, else in packets.",
    readers: READERS,
};

/// The key of the job.
pub const JOB_KEY: Variable = Variable {
    name: "TASUKI_JOB_KEY",
    default: "none",
    values: Values::Text("32 hexadecimal digits"),
    meaning: "Key of the job: every packet between hosts carries a keyed tag, and packets without the \
              right one are dropped. tasuki run draws one for each job where the cluster file says \
              authenticate = true. Shown as (set), never printed.",
    readers: READERS,
};

/// Longest time of closing.
pub const LINGER: Variable = Variable {
    name: "TASUKI_LINGER",
    default: "10",
    values: Values::Number("a number of seconds"),
    meaning: "Seconds that closing an endpoint waits at most for the last acknowledgement.",
    readers: READERS,
};

/// Longest time of a first contact.
pub const GREETING: Variable = Variable {
    name: "TASUKI_GREETING",
    default: "60",
    values: Values::Number("a number of seconds"),
    meaning: "Seconds after which a peer that has never answered counts as failed. 0: never, for programs \
              that a debugger stops.",
    readers: READERS,
};

/// Whether there is a statistics page.
pub const STATS: Variable = Variable {
    name: "TASUKI_STATS",
    default: "1",
    values: SWITCH,
    meaning: "0: no statistics page for tasuki stats.",
    readers: READERS,
};

/// Whether a signal prints the endpoint's state.
pub const DUMP: Variable = Variable {
    name: "TASUKI_DUMP",
    default: "0",
    values: SWITCH,
    meaning: "1: SIGUSR2 prints the endpoint's state to standard error.",
    readers: READERS,
};

/// All of them, in the order of the documentation.
pub(super) const ALL: &[Variable] = &[
    RAILS,
    IDENTITY,
    SHM,
    SENDER_COPIES,
    LANES,
    PRIORITY,
    BROKER,
    RINGS,
    POOL,
    RATE,
    BULK,
    JOB_KEY,
    LINGER,
    GREETING,
    STATS,
    DUMP,
];
