//! Preparations of a load: how the NIC is polled, and how fast the processor works.

use super::{LoadError, while_doing};
use crate::raw::pin;
use serde::{Deserialize, Serialize};
use std::{hint::black_box, io, time::Instant};
use tasuki_sys::{ethtool::Ethtool, napi};

/// How a NIC is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Polled {
    /// The number of its NAPI instance, which is part of the name of the kernel thread that polls it:
    /// `napi/eth1-8193`.
    pub instance: u32,
}

/// How fast a processor works.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    /// Steps of work per microsecond.
    pub per_us: f64,
}

/// Makes a NIC receive its packets one by one, polled by a thread of the kernel. A veth interface polls only
/// if merging (GRO) is on, and packets that are whole segments (TSO, GSO) bypass the polling, so that
/// segmentation is off.
pub(super) fn set_up(interface: &str) -> Result<Polled, LoadError> {
    let features = |name: &str, on: bool| {
        Ethtool::open(interface)?.set_features(|feature| feature == name, on).map(drop)
    };
    let set = |name, on| {
        let result = features(name, on);
        result.map_err(|error| while_doing("set the NIC's offloads")(io::Error::other(error)))
    };
    set("rx-gro", true)?;
    set("tx-tcp-segmentation", false)?;
    set("tx-generic-segmentation", false)?;
    napi::poll_by_threads(interface).map_err(while_doing("have a thread poll"))?;
    let index = nix::net::if_::if_nametoindex(interface).map_err(io::Error::from);
    let index = index.map_err(while_doing("find the NIC"))?;
    let instances = napi::instances(index).map_err(while_doing("ask how it is polled"))?;
    let instance = instances.unwrap_or_default().first().map(|instance| instance.id);
    let instance = instance.ok_or_else(|| LoadError::NotPolled { interface: interface.into() })?;
    Ok(Polled { instance })
}

/// Makes `steps` steps of work, each of which needs the result of the one before.
pub(super) fn work(steps: u64) -> u64 {
    let mut state = black_box(1u64);
    for _ in 0..steps {
        // Without the black box the compiler would replace the loop by a formula.
        state = black_box(state).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    }
    black_box(state)
}

/// Number of measurements of the speed, of which the best one counts, as it was disturbed least.
const TRIES: usize = 200;

pub(super) fn calibrate(cpu: usize) -> Result<Steps, LoadError> {
    pin(cpu).map_err(while_doing("stay on a processor"))?;
    const STEPS: u64 = 1 << 20;
    let once = || {
        let begun = Instant::now();
        work(STEPS);
        begun.elapsed().as_secs_f64()
    };
    let best = (0..TRIES).map(|_| once()).fold(f64::INFINITY, f64::min);
    Ok(Steps { per_us: STEPS as f64 / (best.max(1e-9) * 1e6) })
}
