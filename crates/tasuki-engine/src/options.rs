//! The options of an endpoint, and the environment variables that change them.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use tasuki_msg::{Adaptive, AdaptiveConfig, Pacer, Window};

use crate::address::Address;
use crate::net::static_rate::Receivers;

/// The lanes that carry packets between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// UDP only.
    Udp,
    /// Raw Ethernet frames where they are permitted and pass; UDP for long messages and everywhere else.
    RawUdp,
}

/// How a receiver grants the messages that are too long to be sent unasked.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// A window of fixed size, whatever the network and this host carry.
    Window,
    /// At the rate at which granted bytes arrive, which is measured in operation and shared among all
    /// senders.
    Adaptive,
    /// Everything at once: senders are told the rates of their receivers, and keep to them (the ATM paper's
    /// static mode).
    Static(Receivers),
}

/// How long messages between hosts are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// As [`Framing::Streams`] where packets arrive fast and one by one (MTU 1500, not joined by the kernel,
    /// one rail), elsewhere as [`Framing::Frames`].
    Auto,
    /// In packets with headers, over all rails.
    Frames,
    /// By TCP, over one rail, from the sender's memory into the receiver's.
    Streams,
    /// In datagrams of which the length alone tells what they are, over one rail, straight into the program's
    /// memory.
    Length,
}

/// Whether the sender of a long message inside a host copies some of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderCopies {
    /// The receiver copies everything.
    Never,
    /// The sender copies a part if it waits and has a processor of its own.
    Idle,
    /// The sender copies a part if it waits, without asking for a processor.
    Always,
}

/// The options of an endpoint.
#[derive(Clone, Debug)]
pub struct Options {
    /// Identity address of the host. `None`: that of the interface `tasuki0`, or the best that the host has.
    pub identity: Option<IpAddr>,
    /// The file that describes the host's rails. `None`: `/run/tasuki/rails.json`, if there is one.
    pub rails: Option<PathBuf>,
    /// Messages inside the host go through shared memory where that is possible.
    pub shm: bool,
    /// Whether senders of long messages inside the host copy a part.
    pub sender_copies: SenderCopies,
    /// The lanes that carry packets between hosts.
    pub lanes: Lanes,
    /// Priority of raw frames (IEEE 802.1Q, 0 to 7), which then carry short messages only: switches that know
    /// the tag send them before others. `None`: frames have no tag.
    pub priority: Option<u8>,
    /// Socket of the broker that opens raw lanes for programs without CAP_NET_RAW. `None`: no broker is
    /// asked.
    pub broker: Option<PathBuf>,
    /// Memory for the receive rings of the raw lanes of a whole host, bytes. Each process takes its share of
    /// it as if there were one process per processor.
    pub ring_bytes: u64,
    /// Most memory for unexpected messages, bytes: those for which no receive is posted yet.
    pub pool_bytes: u64,
    /// Most of that memory that one peer may hold, bytes.
    pub peer_bytes: u64,
    /// The controller of grants.
    pub rate: Rate,
    /// How long messages are framed.
    pub framing: Framing,
    /// Number of peers among which credit is divided from the start.
    pub expected_peers: u32,
    /// Longest time that closing waits for the last acknowledgements.
    pub linger: Duration,
    /// The endpoint keeps a statistics page, which `tasuki stats` reads.
    pub stats: bool,
    /// On SIGUSR2 the endpoint prints its state to stderr.
    pub dump: bool,
    /// Called, from any thread, when a peer with which something was exchanged has died or broken the
    /// protocol, before operations with it fail. It must not call the endpoint.
    pub on_failure: Option<OnFailure>,
}

/// A function that is given the address of a peer that has failed.
pub type OnFailure = fn(&Address);

impl Default for Options {
    fn default() -> Options {
        Options {
            identity: None,
            rails: None,
            shm: true,
            sender_copies: SenderCopies::Idle,
            lanes: Lanes::RawUdp,
            priority: None,
            broker: Some(PathBuf::from(tasuki_link::broker::SOCKET)),
            ring_bytes: 64 << 20,
            pool_bytes: 32 << 20,
            peer_bytes: 4 << 20,
            rate: Rate::Adaptive,
            framing: Framing::Auto,
            expected_peers: 1,
            linger: Duration::from_secs(10),
            stats: true,
            dump: false,
            on_failure: None,
        }
    }
}

/// The variables in which launchers tell the number of a job's processes: Open MPI, Hydra, Slurm.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"];

/// Credit of a peer is not reduced below this for the sake of other peers that may never appear, bytes: most
/// programs talk to few peers.
const SHARE_MIN: u64 = 512 << 10;

/// Number of peers among which credit is divided from the start, in a job of so many processes. Credit that
/// fits from the start need not be recalled when the next peer appears; nothing else depends on the number.
fn expected_peers(processes: Option<u32>, pool_bytes: u64) -> u32 {
    let most = u32::try_from(pool_bytes / SHARE_MIN).unwrap_or(u32::MAX);
    processes.unwrap_or(1).min(most).max(1)
}

const RATES: &str =
    "must be window, adaptive, or static: with R/B of receivers (static:101M/128K,10.77.0.2=52M/64K)";

const FRAMINGS: &str = "must be auto, frames, streams or length";

/// An environment variable has a value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value}: {wanted}")]
pub struct VariableError {
    /// Name of the variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The values that are allowed.
    pub wanted: &'static str,
}

impl Options {
    /// The controller of grants.
    pub(crate) fn pacer(&self) -> Pacer {
        match &self.rate {
            Rate::Window => Pacer::default(),
            Rate::Adaptive => Pacer::Adaptive(Adaptive::new(AdaptiveConfig::default())),
            Rate::Static(_) => Window::OPEN.into(),
        }
    }

    /// The defaults, changed by `TASUKI_IDENTITY` (an address), `TASUKI_RAILS` (a file), `TASUKI_SHM`,
    /// `TASUKI_STATS`, `TASUKI_DUMP` (0 or 1), `TASUKI_LANES` (`udp` or `raw,udp`), `TASUKI_PRIORITY` (0 to
    /// 7), `TASUKI_POOL`, `TASUKI_RINGS` (MiB), `TASUKI_LINGER` (seconds), `TASUKI_BROKER` (a socket; empty:
    /// none), `TASUKI_RATE` (`window`, `adaptive`, `static:R/B`), `TASUKI_BULK` (`auto`, `frames`, `streams`
    /// or `length`), `TASUKI_SENDER_COPIES` (`never`, `idle`, `always`). How many peers to expect is what
    /// launchers say of the job.
    pub fn from_env() -> Result<Options, VariableError> {
        Options::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(get: impl Fn(&'static str) -> Option<String>) -> Result<Options, VariableError> {
        fn read<T>(
            get: &impl Fn(&'static str) -> Option<String>,
            variable: &'static str,
            wanted: &'static str,
            parse: impl Fn(&str) -> Option<T>,
        ) -> Result<Option<T>, VariableError> {
            let Some(value) = get(variable).filter(|value| !value.is_empty()) else { return Ok(None) };
            match parse(&value) {
                Some(parsed) => Ok(Some(parsed)),
                None => Err(VariableError { variable, value, wanted }),
            }
        }
        let switch = |variable| {
            read(&get, variable, "must be 0 or 1", |value| match value {
                "0" => Some(false),
                "1" => Some(true),
                _ => None,
            })
        };
        let number = |variable, wanted| read(&get, variable, wanted, |value| value.parse::<u32>().ok());
        let default = Options::default();
        let pool = number("TASUKI_POOL", "must be a number of MiB")?;
        let rings = number("TASUKI_RINGS", "must be a number of MiB")?;
        let lanes = read(&get, "TASUKI_LANES", "must be udp or raw,udp", |value| match value {
            "udp" => Some(Lanes::Udp),
            "raw,udp" => Some(Lanes::RawUdp),
            _ => None,
        })?;
        let priority = read(&get, "TASUKI_PRIORITY", "must be a number from 0 to 7", |value| {
            value.parse::<u8>().ok().filter(|priority| *priority < 8)
        })?;
        let rate = read(&get, "TASUKI_RATE", RATES, |value| match value {
            "window" => Some(Rate::Window),
            "adaptive" => Some(Rate::Adaptive),
            _ => value.strip_prefix("static:")?.parse().ok().map(Rate::Static),
        })?;
        let framing = read(&get, "TASUKI_BULK", FRAMINGS, |value| match value {
            "auto" => Some(Framing::Auto),
            "frames" => Some(Framing::Frames),
            "streams" => Some(Framing::Streams),
            "length" => Some(Framing::Length),
            _ => None,
        })?;
        let copies = "must be never, idle or always";
        let sender_copies = read(&get, "TASUKI_SENDER_COPIES", copies, |value| match value {
            "never" => Some(SenderCopies::Never),
            "idle" => Some(SenderCopies::Idle),
            "always" => Some(SenderCopies::Always),
            _ => None,
        })?;
        let linger = number("TASUKI_LINGER", "must be a number of seconds")?;
        let pool_bytes = pool.map_or(default.pool_bytes, |mebibytes| u64::from(mebibytes) << 20);
        Ok(Options {
            expected_peers: expected_peers(SIZES.iter().find_map(|name| get(name)?.parse().ok()), pool_bytes),
            pool_bytes,
            identity: read(&get, "TASUKI_IDENTITY", "must be an IP address", |value| value.parse().ok())?,
            rails: get("TASUKI_RAILS").filter(|path| !path.is_empty()).map(PathBuf::from),
            shm: switch("TASUKI_SHM")?.unwrap_or(default.shm),
            sender_copies: sender_copies.unwrap_or(default.sender_copies),
            lanes: lanes.unwrap_or(default.lanes),
            priority,
            rate: rate.unwrap_or(default.rate),
            framing: framing.unwrap_or(default.framing),
            broker: get(tasuki_link::broker::VARIABLE)
                .map_or(default.broker, |path| Some(path).filter(|path| !path.is_empty()).map(PathBuf::from)),
            ring_bytes: rings.map_or(default.ring_bytes, |mebibytes| u64::from(mebibytes) << 20),
            linger: linger.map_or(default.linger, |seconds| Duration::from_secs(seconds.into())),
            stats: switch("TASUKI_STATS")?.unwrap_or(default.stats),
            dump: switch("TASUKI_DUMP")?.unwrap_or(default.dump),
            ..default
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_and_nonsense_is_named() {
        let one = |name: &'static str, value: &'static str| {
            Options::from_variables(move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert_eq!(one("TASUKI_POOL", "64").unwrap().pool_bytes, 64 << 20);
        assert!(!one("TASUKI_SHM", "0").unwrap().shm);
        assert!(one("TASUKI_SHM", "").unwrap().shm);
        assert_eq!(one("TASUKI_IDENTITY", "10.77.0.1").unwrap().identity, "10.77.0.1".parse().ok());
        assert_eq!(one("TASUKI_LANES", "udp").unwrap().lanes, Lanes::Udp);
        assert_eq!(one("TASUKI_LANES", "raw,udp").unwrap().lanes, Lanes::RawUdp);
        assert_eq!(
            one("TASUKI_LANES", "raw").unwrap_err().to_string(),
            "TASUKI_LANES=raw: must be udp or raw,udp"
        );
        assert_eq!(one("TASUKI_PRIORITY", "5").unwrap().priority, Some(5));
        assert_eq!(one("TASUKI_PRIORITY", "").unwrap().priority, None);
        assert_eq!(
            one("TASUKI_PRIORITY", "8").unwrap_err().to_string(),
            "TASUKI_PRIORITY=8: must be a number from 0 to 7"
        );
        assert_eq!(one("TASUKI_RATE", "adaptive").unwrap().rate, Rate::Adaptive);
        let statics = one("TASUKI_RATE", "static:101M/128K,10.77.0.2=52M/64K").unwrap().rate;
        assert_eq!(statics, Rate::Static("101M/128K,10.77.0.2=52M/64K".parse().unwrap()));
        assert_eq!(one("TASUKI_RATE", "static").unwrap_err().variable, "TASUKI_RATE");
        assert_eq!(one("TASUKI_RATE", "fast").unwrap_err().variable, "TASUKI_RATE");
        assert_eq!(one("TASUKI_BULK", "length").unwrap().framing, Framing::Length);
        assert_eq!(one("TASUKI_BULK", "").unwrap().framing, Framing::Auto);
        assert_eq!(one("TASUKI_BULK", "frames").unwrap().framing, Framing::Frames);
        assert_eq!(one("TASUKI_BULK", "streams").unwrap().framing, Framing::Streams);
        assert_eq!(
            one("TASUKI_BULK", "0").unwrap_err().to_string(),
            "TASUKI_BULK=0: must be auto, frames, streams or length"
        );
        assert_eq!(one("TASUKI_SHM", "yes").unwrap_err().to_string(), "TASUKI_SHM=yes: must be 0 or 1");
        assert_eq!(one("TASUKI_SENDER_COPIES", "always").unwrap().sender_copies, SenderCopies::Always);
        assert_eq!(one("TASUKI_SENDER_COPIES", "").unwrap().sender_copies, SenderCopies::Idle);
        assert_eq!(one("TASUKI_SENDER_COPIES", "1").unwrap_err().variable, "TASUKI_SENDER_COPIES");
        assert_eq!(one("TASUKI_BROKER", "/a/b").unwrap().broker, Some("/a/b".into()));
        assert_eq!(one("TASUKI_BROKER", "").unwrap().broker, None);
        assert_eq!(one("TASUKI_SHM", "1").unwrap().broker, Some("/run/tasuki/broker.sock".into()));
        assert_eq!(one("OMPI_COMM_WORLD_SIZE", "16").unwrap().expected_peers, 16);
        assert_eq!(one("PMI_SIZE", "2").unwrap().expected_peers, 2);
        assert_eq!(
            one("PMI_SIZE", "many").unwrap().expected_peers,
            1,
            "a launcher's affair, no error of the user"
        );
        assert_eq!(one("SLURM_NTASKS", "100000").unwrap().expected_peers, 64, "32 MiB, 512 KiB each");
        assert_eq!(one("SLURM_NTASKS", "0").unwrap().expected_peers, 1);
        assert_eq!(one("TASUKI_LINGER", "-1").unwrap_err().variable, "TASUKI_LINGER");
    }
}
