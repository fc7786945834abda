//! The controller of `tasuki tune run` for an emulated NIC, which is told its delay by a packet, because no
//! NIC of the kernel's has such a timer in a lab. It samples the host as `tasuki tune run` does, and writes
//! the same figures into a log.

use crate::{BenchError, load::set_delay};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::Write,
    net::{Ipv4Addr, SocketAddrV4, UdpSocket},
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use tasuki_host::NicCounts;
use tasuki_tune::{Controller, Lengths};
use tasuki_tuned::{Line, Sampler, pause};

/// Time between two decisions: the default of `tasuki tune run`.
const PERIOD: Duration = Duration::from_millis(250);

/// What to follow, and who is told the delay.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Follow {
    /// The NIC that counts.
    pub interface: String,
    /// The longest delay, microseconds.
    pub most_us: u32,
    /// The process that emulates the NIC and has its timer.
    pub partner: SocketAddrV4,
    /// Where every period is written.
    pub log: PathBuf,
}

/// Follows the load until `stop` is set, as a JSON text says, which another process of the same measurement
/// has written.
pub fn follow_load(specification: &str, stop: &AtomicBool) -> Result<(), BenchError> {
    let follow: Follow = serde_json::from_str(specification)?;
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(follow.partner)?;
    let mut log = File::create(&follow.log)?;
    let sampler = Sampler::new(std::slice::from_ref(&follow.interface));
    let look = || sampler.look(vec![NicCounts::of(&follow.interface)]);
    let mut controller = Controller::new(Lengths::new(0, 10, follow.most_us)?);
    let mut us = controller.best_us();
    set_delay(&socket, us)?;
    let mut before = look();
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(pause(&controller, PERIOD));
        let now = look();
        let sample = now.since(&before);
        let decision = controller.step(&sample);
        let line = serde_json::to_string(&Line::new(us, &sample, &decision, controller.best_us()))?;
        writeln!(log, "{line}")?;
        us = decision.us;
        // The delay is told in every period: a packet may be lost, and the partner may have begun only now.
        set_delay(&socket, us)?;
        before = look();
    }
    Ok(())
}
