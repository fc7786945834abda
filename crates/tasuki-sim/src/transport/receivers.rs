//! Figures 5 to 7 of the ATM paper (Ooi, Osawa, Yuba) with real message and packet layers: a message to a
//! receiver that drains its buffer of exactly B bytes at the rate R, neither of which is told to the sender.

use super::congestion::{ALL_GRANTING, Granting};
use super::event::Event;
use super::host::{Drain, Habit};
use super::network::End;
use super::run::Failure;
use super::world::{Carriage, World};
use crate::Rng;
use crate::channel::{Channel, Line};
use crate::faults::Faults;
use crate::kernel::Time;
use tasuki_msg::{Config, Queue};
use tasuki_rate::paper::{HOSTS, LINK_BPS};
use tasuki_rate::{Pace, Path, Receiver, Sent, Slow, Static};
use tasuki_testkit::oracle::Oracle;
use tasuki_testkit::oracle::{RecvSpec, SendSpec};
use tasuki_testkit::{Check, demand};
use tasuki_testkit::{Text, Trace};
use tasuki_wire::{Lane, Lanes};

/// A message to a slow receiver.
#[derive(Clone, Copy, Debug)]
pub struct SlowReceiver {
    /// Link, sender and receiver. Packets are those of an MTU of 1500; `packet_bytes` is ignored.
    pub path: Path,
    /// How the receiver grants.
    pub granting: Granting,
    /// The sender knows B and the mean of R, and sends at the rate that follows from the paper.
    pub static_rate: bool,
    /// Seed of all random choices of the endpoints.
    pub seed: u64,
}

/// Share of payload in a full packet: the table of sizes in `docs/reference/wire.md`.
pub const PAYLOAD_OF_PACKET: f64 = 1425.0 / 1472.0;

/// Number of messages before the first that is measured, so that the connection has learnt what it can.
const BEFORE: usize = 2;

impl SlowReceiver {
    /// Sends `times` messages of so many bytes, one after the other, after two that are not counted; returns
    /// the result of each. `lost` is the number of packets that were lost on their way, as a share of the
    /// packets of the message. `bursts` is 1.
    pub fn send(&self, message: u64, times: usize) -> Result<Vec<Sent>, Failure> {
        let failure =
            |complaint| Failure { carriage: Carriage::Packets, seed: self.seed, complaint, tail: Vec::new() };
        self.play(message, times).map_err(failure)
    }

    fn world(&self) -> Check<World> {
        let Path { link_bps, sender_bps, way_ns, receiver, slow, .. } = self.path;
        let Receiver { drain_bps, buffer_bytes } = receiver;
        let oracle = Oracle::new(Config::default(), Trace::new(Text::None));
        let proto = tasuki_proto::Config::default();
        let mut world =
            World::new(oracle, self.granting.pacer(), proto, Carriage::Packets, Rng::new(self.seed));
        world.seen.off = true;
        world.events_most = 40_000_000;
        world.add_host(0, 0, Habit { poll_ns: 0, socket_bytes: 4 << 20, drain: None });
        let drain = Some(Drain { slow, bps: drain_bps as u64 });
        world.add_host(1, 0, Habit { poll_ns: 0, socket_bytes: buffer_bytes as usize, drain });
        // The paper's rates count packets as they are on this link, without further overhead. Headers of UDP
        // are not drained.
        let rate_bps = link_bps.min(sender_bps);
        let line = Line { rate_bps, delay_ns: way_ns, queue_bytes: 4 << 20, overhead_bytes: 0, mtu: 1500 };
        // The NIC tells its rate, as every NIC does; R and B are told to no endpoint.
        let rate_mbps = (link_bps / 1_000_000) as u32;
        let end = End { mtu: 1500, rate_mbps, lanes: Lanes::NONE.with(Lane::Udp), up: true };
        for (from, to) in [(0, 1), (1, 0)] {
            let channel = Channel::new(line, Faults::NONE, world.rng.fork());
            world.network.add(from, to, 0, end, channel);
        }
        world.schedule_after(0, Event::Meet { node: 0, there: 1 });
        while world.kernel.next_time().is_some_and(|next| next < Time(100_000_000)) {
            world.advance()?;
        }
        Ok(world)
    }

    /// In static mode, the rate at which a message of this length is sent.
    fn pace(&self, len: u64) -> Option<tasuki_msg::Pace> {
        let Path { link_bps, sender_bps, receiver, slow, .. } = self.path;
        let Receiver { drain_bps, buffer_bytes } = receiver;
        let receiver = Receiver { drain_bps: slow.mean_bps(drain_bps as u64), buffer_bytes };
        let known = Static { receiver, link_bps: link_bps.min(sender_bps) as f64 };
        let paced = self.static_rate.then_some(known)?.paced(len, PAYLOAD_OF_PACKET)?;
        Some(tasuki_msg::Pace { bps: paced.payload_bps, slack: paced.slack_bytes })
    }

    fn play(&self, message: u64, times: usize) -> Check<Vec<Sent>> {
        let mut world = self.world()?;
        let mut all = Vec::new();
        for _ in 0..BEFORE + times {
            let (lost_before, begin) = (world.hosts[1].overflowed, world.now());
            let recv = world.oracle.recv(1, RecvSpec::any(Queue::Tagged, message))?;
            world.service(1)?;
            let spec = SendSpec { pace: self.pace(message), ..SendSpec::tagged(1, message) };
            let name = world.oracle.send(0, 1, spec)?;
            world.service(0)?;
            while !world.oracle.nodes[1].recvs[recv].over || world.oracle.sent[name].result.is_none() {
                demand(world.now().since(begin) < 60_000_000_000, || format!("for ever: {}", world.dump()))?;
                demand(world.advance()?.is_some(), || format!("a stall: {}", world.dump()))?;
            }
            let packets = message as f64 / (PAYLOAD_OF_PACKET * 1472.0);
            all.push(Sent {
                seconds: world.now().since(begin) as f64 / 1e9,
                lost: (world.hosts[1].overflowed - lost_before) as f64 / packets,
                bursts: 1,
            });
            // A pause, as between the paper's measurements, that is not in step with a receiver whose rate
            // varies.
            let rest = world.now().after(7_300_000);
            while world.kernel.next_time().is_some_and(|next| next < rest) {
                world.advance()?;
            }
        }
        Ok(all.split_off(BEFORE))
    }
}

/// How the sender of a message is paced, a curve of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// The paper's protocol at the link's rate, in the model.
    Unpaced,
    /// The paper's protocol at the rate of equation (2), in the model.
    Static,
    /// This transport at the rate of equation (2), with R and B told to the sender.
    Paced,
    /// This transport, granting a fixed window.
    Window,
    /// This transport, granting at the rate at which bytes arrive.
    Adaptive,
}

/// All of them, in the order of the figures' legends.
pub const ALL_PACINGS: [Pacing; 5] =
    [Pacing::Unpaced, Pacing::Static, Pacing::Paced, Pacing::Window, Pacing::Adaptive];

impl Pacing {
    /// Name of the pacing in reports.
    pub fn name(self) -> &'static str {
        match self {
            Pacing::Unpaced => "unpaced",
            Pacing::Static => "static",
            Pacing::Paced => "static, transport",
            Pacing::Window => "window",
            Pacing::Adaptive => "adaptive",
        }
    }
}

/// A case: a sending and a receiving host.
#[derive(Clone, Copy, Debug)]
pub struct Receivers {
    /// Name of the case, as in the figure's caption.
    pub name: &'static str,
    /// Number of the figure in the paper.
    pub figure: Option<u8>,
    path: Path,
}

/// Number of messages of which a mean is taken (section 6.1).
const TIMES: usize = 10;
/// Rate that the paper's fast senders reach at most: 120 Mbit/s (section 6.2).
pub const SS20_SENDS: u64 = 120_000_000;
/// Rate that the paper's slow senders reach (figure 7).
pub const SS5_SENDS: u64 = 70_000_000;
/// What a packet costs the receiver that finds no room, in thousandths of one that does: fitted to the 24 %
/// that figure 5 loses of 5 MByte without pace, and to nothing else.
pub const VAIN_PERMILLE: u32 = 442;

impl Receivers {
    /// Figures 5, 6 and 7, and two receivers whose rate is not steady.
    pub fn all() -> [Receivers; 5] {
        let path = |host: usize, sender_bps, slow| Path {
            link_bps: LINK_BPS as u64,
            sender_bps,
            // The propagation delay is assumed, because the paper does not state it.
            way_ns: 100_000,
            packet_bytes: 8000,
            receiver: HOSTS[host].receiver,
            slow,
            vain_permille: VAIN_PERMILLE,
        };
        let quota = Slow::Quota { percent: 50, period_ns: 10_000_000 };
        let varying = Slow::Varying { high_bps: 101_000_000, low_bps: 30_000_000, period_ns: 40_000_000 };
        let case = |name, figure, path| Receivers { name, figure, path };
        [
            case("SS20 to SS20", Some(5), path(1, SS20_SENDS, Slow::No)),
            case("SS20 to SS5", Some(6), path(0, SS20_SENDS, Slow::No)),
            case("SS5 to SS20", Some(7), path(1, SS5_SENDS, Slow::No)),
            case("SS20 with a quota of 50 %", None, path(1, SS20_SENDS, quota)),
            case("SS20, varying", None, path(1, SS20_SENDS, varying)),
        ]
    }

    /// Mean rate that the receiver can take and the sender can send, bit/s.
    pub fn most_bps(&self) -> f64 {
        let Path { link_bps, sender_bps, receiver, slow, .. } = self.path;
        slow.mean_bps(receiver.drain_bps as u64).min(link_bps.min(sender_bps) as f64)
    }

    /// Sends ten messages of so many bytes.
    pub fn send(&self, message: u64, pacing: Pacing) -> Result<Vec<Sent>, Failure> {
        // The messages begin at ten different moments of a receiver whose rate varies.
        let model =
            |pace| (0..TIMES as u64).map(|at| self.path.send(message, pace, at * 3_700_000)).collect();
        let real = |granting, static_rate| {
            SlowReceiver { path: self.path, granting, static_rate, seed: 1 }.send(message, TIMES)
        };
        match pacing {
            Pacing::Unpaced => Ok(model(Pace::Unpaced)),
            Pacing::Static => Ok(model(Pace::Static)),
            Pacing::Paced => real(Granting::Open, true),
            Pacing::Window => real(Granting::Window, false),
            Pacing::Adaptive => real(ALL_GRANTING[1], false),
        }
    }
}
