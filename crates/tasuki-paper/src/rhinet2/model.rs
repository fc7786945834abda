//! The model: what the paper states, what is fitted, what is assumed.

use tasuki_sim::fabric::loads::{HostTimes, PushTimes};
use tasuki_sim::fabric::{Arbiter, Crossbar, FlowControl, Room, Settings, Switching};
use tasuki_topo::{Engine, Limits, Network, PathRule, Tables, route};

use super::Rhinet2Error;
use super::networks::{Named, Routing};

/// Payload rate of the links: 4.8 Gbit/s (footnote to 4.2.1).
pub(super) const LINK_BPS: u64 = 4_800_000_000;
/// Bytes of the smallest packet, which barriers and acknowledgements use (4.1.2).
pub(super) const SMALL: u32 = 17 * 8;
/// Bytes of headers and trailer (3.1).
pub(super) const HEADERS: u32 = 40;
/// Most bytes of data in a packet (4.1.2).
pub(super) const MOST_DATA: u32 = 1792;
/// Time that one more switch adds to a round trip (figure 4, text of 4.2.1), us.
pub(super) const SLOPE_US: f64 = 0.697;
/// Time in the hosts per pair of steps of a barrier (figure 4, text of 4.2.1), us.
pub(super) const BARRIER_HOST_US: f64 = 4.64;
/// Time of a 1,792-byte packet and its acknowledgement without the switches (table 8), us.
pub(super) const PUSH_US: f64 = 8.46;
/// Delay of a cable: 5 m of fibre at 5 ns/m (cables are 2 and 5 m long, section 3), ps.
const CABLE_PS: u64 = 25_000;

/// Everything that can be chosen about the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Properties of switches and cables.
    pub settings: Settings,
    /// Time in hosts, per message of a barrier.
    pub barrier: HostTimes,
    /// Time in hosts, per packet of a bandwidth measurement.
    pub push: PushTimes,
    /// Path rule for networks whose paths the paper spreads over hosts.
    pub spread: PathRule,
    /// Path rule for networks in which the paper takes the lowest port.
    pub low: PathRule,
}

/// A number that went into the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// What it is.
    pub what: &'static str,
    /// Value of the number, with unit.
    pub value: String,
    /// "stated" by the paper, "fitted" to it, or "assumed".
    pub kind: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

impl Model {
    /// The model with the fitted constants.
    pub fn fitted() -> Model {
        let per_switch = ps(SLOPE_US / 2.0);
        let settings = Settings {
            switching: Switching::CutThrough,
            room: Room::Lossless { buffer: 4096, flow: FlowControl::GoAndStop { go: 2048 } },
            crossbar: Crossbar::PerChannel,
            arbiter: Arbiter::Oldest,
            switch_ps: per_switch - CABLE_PS,
            cable_ps: CABLE_PS,
            relay_ps: 0,
            largest: MOST_DATA + HEADERS,
        };
        // A path over s switches has s + 1 cables; the paper's sums have one cable per switch, so the delay
        // of the last one is subtracted from the hosts' time.
        let barrier = ps(BARRIER_HOST_US) - 2 * CABLE_PS;
        let inject = |bytes: u32| ps(f64::from(bytes) * 8.0 / (LINK_BPS as f64 / 1e6));
        let push = ps(PUSH_US) - inject(SMALL) - inject(MOST_DATA + HEADERS) - 2 * CABLE_PS;
        Model {
            settings,
            barrier: HostTimes { send: barrier / 4, receive: barrier / 2 - barrier / 4 },
            push: thirds(push),
            spread: PathRule::SpreadPerHost,
            low: PathRule::LowPortFirst,
        }
    }

    /// All numbers that went into the model, and their sources.
    pub fn constants() -> Vec<Constant> {
        let model = Model::fitted();
        let us = |ps: u64| format!("{:.4} us", ps as f64 / 1e6);
        let push = model.push.send + model.push.turn + model.push.done;
        let rows = [
            ("rate of a link", "4.8 Gbit/s".into(), "stated", "footnote to 4.2.1: 6 less 1.2 for ECC"),
            ("barrier packet, acknowledgement", "136 B".into(), "stated", "4.1.2"),
            ("headers and trailer", "40 B".into(), "stated", "3.1"),
            ("buffer of a virtual channel", "4096 B, Go & Stop".into(), "stated", "3.2"),
            ("virtual channels", "16".into(), "stated", "3.2"),
            ("cable", us(CABLE_PS), "assumed", "5 m at 5 ns/m; 3 says 2 m and 5 m"),
            ("switch", us(model.settings.switch_ps), "fitted", "figure 4: half of 0.697 us, less a cable"),
            (
                "hosts, per pair of steps",
                us(2 * (model.barrier.send + model.barrier.receive)),
                "fitted",
                "figure 4: 4.64 us, less the two last cables",
            ),
            (
                "hosts, per 1,792-byte packet",
                us(push),
                "fitted",
                "table 8: 8.46 us, less two injections and two cables",
            ),
            ("of a barrier message: sender : receiver", "1 : 1".into(), "assumed", "not stated"),
            (
                "of a packet: sender : receiver : sender again",
                "1 : 1 : 1".into(),
                "assumed",
                "not stated; the same for all sizes",
            ),
            ("spread of host times", "none".into(), "assumed", "not stated"),
            ("Go when a buffer holds", "2048 B".into(), "assumed", "half of it; not stated"),
            ("crossbar", "a way per virtual channel".into(), "assumed", "not stated"),
            ("arbiter", "who asked first".into(), "assumed", "not stated"),
            (
                "paths, spread per host",
                "hosts of a switch in turn".into(),
                "assumed",
                "4.1.1 names the rule; how ties fall is ours, the same for all networks",
            ),
        ];
        let constant = |(what, value, kind, source)| Constant { what, value, kind, source };
        rows.map(constant).into()
    }

    /// Routing tables as in the paper: structured channels, or shortest paths with as few channels as these
    /// need.
    pub(super) fn tables(&self, named: &Named) -> Result<Tables, Rhinet2Error> {
        self.route(&named.net, named.routing)
    }

    pub(super) fn route(&self, net: &Network, routing: Routing) -> Result<Tables, Rhinet2Error> {
        let engine = match routing {
            Routing::Structured => Engine::Structured(self.spread),
            Routing::StructuredLow => Engine::Structured(self.low),
            Routing::Minimal => Engine::Minimal(self.spread),
        };
        Ok(route(net, engine, Limits::lossless(16))?)
    }
}

/// Divides a host time into three equal parts.
pub(super) fn thirds(all: u64) -> PushTimes {
    PushTimes { send: all / 3, turn: all / 3, done: all - 2 * (all / 3), jitter_percent: 0 }
}

fn ps(us: f64) -> u64 {
    (us * 1e6).round() as u64
}
