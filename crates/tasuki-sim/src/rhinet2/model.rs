//! The model: what the paper states, what is fitted, what is assumed.

use crate::fabric::loads::{HostTimes, PushTimes};
use crate::fabric::{Arbiter, Crossbar, FlowControl, Room, Settings, Switching};
use tasuki_topo::{Engine, Limits, Network, PathRule, Tables, route};

use super::Rhinet2Error;
use super::networks::{Named, Routing};

/// 4.8 Gbit/s of the links are payload (footnote to 4.2.1).
pub(super) const LINK_BPS: u64 = 4_800_000_000;
/// The smallest packet: barriers and acknowledgements (4.1.2).
pub(super) const SMALL: u32 = 17 * 8;
/// Headers and trailer (3.1).
pub(super) const HEADERS: u32 = 40;
/// Most data in a packet (4.1.2).
pub(super) const MOST_DATA: u32 = 1792;
/// Added to a round trip by one more switch (figure 4, text of 4.2.1), us.
pub(super) const SLOPE_US: f64 = 0.697;
/// In the hosts per pair of steps of a barrier (figure 4, text of 4.2.1), us.
pub(super) const BARRIER_HOST_US: f64 = 4.64;
/// A 1,792-byte packet and its acknowledgement without the switches (table 8), us.
pub(super) const PUSH_US: f64 = 8.46;
/// 5 m of fibre at 5 ns/m (cables are 2 and 5 m long, 3), ps.
const CABLE_PS: u64 = 25_000;

/// Everything that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Switches and cables.
    pub settings: Settings,
    /// In hosts, per message of a barrier.
    pub barrier: HostTimes,
    /// In hosts, per packet of a bandwidth measurement.
    pub push: PushTimes,
    /// Paths where the paper spreads them over hosts.
    pub spread: PathRule,
    /// Paths where it takes the lowest port.
    pub low: PathRule,
}

/// A number that went into the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// What it is.
    pub what: &'static str,
    /// Its value, with unit.
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
        // A way over s switches has s + 1 cables; the paper's sums have one per switch, so the last one is the hosts'.
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

    /// Everything that went in, and why.
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

    /// Tables as the paper had them: structured channels, or shortest paths with as few channels as that takes.
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

/// A host time in three parts.
pub(super) fn thirds(all: u64) -> PushTimes {
    PushTimes { send: all / 3, turn: all / 3, done: all - 2 * (all / 3), jitter_percent: 0 }
}

fn ps(us: f64) -> u64 {
    (us * 1e6).round() as u64
}
