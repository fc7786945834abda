//! The endpoints of the simulated network.

use std::net::{Ipv4Addr, Ipv6Addr};

use tasuki_proto::{Config, ConnId, Event, Local, Proto};
use tasuki_wire::{Lane, Lanes, Rail, Secret};

use crate::app::App;

thread_local! {
    /// The defect that is planted in all endpoints made in this thread.
    pub static PLANT: std::cell::Cell<Option<tasuki_proto::Defect>> = const { std::cell::Cell::new(None) };
}

pub struct Host {
    pub proto: Proto,
    pub app: App,
    pub conn: Option<ConnId>,
    pub events: Vec<Event>,
    pub packets: u64,
    pub(super) timer: u64,
    pub(super) local: Local,
}

pub fn rail(number: u8, host: usize, mtu: u16, rate_mbps: u32) -> Rail {
    let address = Ipv4Addr::new(10, number, 0, 1 + host as u8).to_ipv6_mapped();
    let lanes = Lanes::NONE.with(Lane::Udp);
    Rail { rail: number, lanes, mtu, rate_mbps, address, port: 4000, mac: [0; 6] }
}

/// A different secret for each incarnation.
pub fn secret(host: usize, incarnation: u64) -> Secret {
    let mut secret = [host as u8 + 1; 16];
    secret[3] = incarnation as u8;
    secret[11] = incarnation as u8;
    Secret(secret)
}

fn local(host: usize, incarnation: u64) -> Local {
    Local {
        endpoint: 10 + host as u32,
        incarnation,
        secret: secret(host, incarnation),
        identity: Ipv6Addr::LOCALHOST,
        port: 4000,
    }
}

impl Host {
    pub(super) fn new(host: usize, incarnation: u64, config: &Config, rails: &[Rail]) -> Host {
        let local = local(host, incarnation);
        let mut proto = Proto::new(local, config.clone(), incarnation);
        proto.plant(PLANT.get());
        Host {
            proto,
            app: App::new(rails),
            conn: None,
            events: Vec::new(),
            packets: 0,
            timer: u64::MAX,
            local,
        }
    }
}
