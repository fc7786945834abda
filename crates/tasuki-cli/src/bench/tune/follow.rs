//! The controller of `tasuki tune run` for an emulated NIC, which is told its delay by a packet: no NIC of the kernel's has such a timer here. It sees
//! the host as `tasuki tune run` does, and writes the same figures into a log.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::Write,
    net::{Ipv4Addr, SocketAddrV4, UdpSocket},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use tasuki_bench::load::set_delay;
use tasuki_host::NicCounts;
use tasuki_tune::{Controller, Lengths};
use tasuki_tuned::{Line, Sampler, pause};

/// That of `tasuki tune run` unless something else is asked for.
const PERIOD: Duration = Duration::from_millis(250);

/// What to follow, and whom to tell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Follow {
    /// The NIC that counts.
    pub interface: String,
    /// The longest delay, microseconds.
    pub most_us: u32,
    /// Who has the timer.
    pub partner: SocketAddrV4,
    /// Where every period is written.
    pub log: PathBuf,
}

/// Follows the load until SIGTERM.
pub fn run(follow: &Follow) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&stop))?;
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
        // Every time: a packet may be lost, and the partner may have begun only now.
        set_delay(&socket, us)?;
        before = look();
    }
    Ok(())
}
