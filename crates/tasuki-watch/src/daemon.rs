//! The loop of the daemon: it receives frames, sends hellos and sets routes.

mod returns;
mod routes;

use crate::{Instance, Note, TICK, View, WatchError, stripes::Stripes};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use std::{
    io::Error,
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tasuki_cluster::{Cluster, HostId};
use tasuki_host::Rerouting;
use tasuki_sys::{
    packet::{PacketRing, PacketSocket, RingSize},
    priority,
};
use tasuki_wire::{CABLE_ETHERTYPE, CABLE_HEAD_LEN, CableKind, CableNic, CableProbe};

/// Length of an Ethernet header, bytes.
const ETHERNET: usize = 14;
/// How often routes are set again while a rail is dead, or routes may be missing.
const REVIEW: Duration = Duration::from_secs(1);
/// Slots of a NIC's ring: enough for the hellos of all hosts of a switch within one tick.
const SLOTS: u32 = 128;

/// The cabled NICs of a host, each with a ring that receives cable probes.
pub struct Nics {
    /// Of each cabled NIC: its index in the cluster file, its name, and its ring, if the NIC was there.
    open: Vec<(usize, String, Option<PacketRing>)>,
}

impl Nics {
    /// Opens the NICs of a host that have a cable. Those that are not there may come later. Needs
    /// `CAP_NET_RAW`.
    pub fn open(cluster: &Cluster, host: HostId) -> Result<Self, WatchError> {
        let nics = cluster.host_of(host).nics.iter().enumerate();
        let is_cabled = |index| {
            let end = tasuki_cluster::End::Nic(tasuki_cluster::NicId { host, index });
            cluster.cable_at(end).is_some()
        };
        let open = nics
            .filter(|(index, _)| is_cabled(*index))
            .map(|(index, nic)| Ok((index, nic.name.clone(), ring(&nic.name)?)));
        Ok(Self { open: open.collect::<Result<_, WatchError>>()? })
    }

    fn names(&self) -> Vec<String> {
        self.open.iter().map(|(_, name, _)| name.clone()).collect()
    }

    /// Waits for a frame, for no longer than `limit`. Returns whether a NIC has gone down.
    fn wait(&self, limit: Duration) -> Result<bool, WatchError> {
        let mut waiting: Vec<_> = self
            .open
            .iter()
            .filter_map(|(.., ring)| ring.as_ref())
            .map(|ring| PollFd::new(ring.socket().as_fd(), PollFlags::POLLIN))
            .collect();
        // Rounded up, because a wait of 0 ms would spin until the time has come.
        let limit = limit + Duration::from_micros(999);
        let timeout = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
        match poll(&mut waiting, timeout) {
            // A NIC that goes down makes its socket ready without a frame. The sleep keeps that from
            // happening more often than once a tick.
            Ok(_)
                if waiting
                    .iter()
                    .any(|fd| fd.revents().is_some_and(|events| events.contains(PollFlags::POLLERR))) =>
            {
                std::thread::sleep(Duration::from_millis(5));
                Ok(true)
            }
            Ok(_) | Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(WatchError::System { doing: "wait for frames", source: errno.into() }),
        }
    }
}

/// A ring that receives the cable probes of a NIC; `None`: it is not there.
fn ring(nic: &str) -> Result<Option<PacketRing>, WatchError> {
    let open = || PacketSocket::open(nic, CABLE_ETHERTYPE)?.into_ring(RingSize { slots: SLOTS });
    match open() {
        Ok(ring) => Ok(Some(ring)),
        Err(error) if error.source.raw_os_error() == Some(Errno::ENODEV as i32) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A running watch.
struct Daemon {
    view: View,
    nics: Nics,
    rerouting: Rerouting,
    instance: Instance<Note>,
    note: Note,
    host: HostId,
    /// The folder of the record of `apply`.
    state: PathBuf,
    began: Instant,
    run: u64,
    number: u32,
    /// Of each open NIC: whether it forwarded when the watch began.
    forwarded: Vec<bool>,
    relays: bool,
    /// Whether some NICs do not forward as `relays` says, because that failed.
    is_half: bool,
    /// Whether routes may be missing although no rail is dead: the kernel removes those of a NIC that goes
    /// down, and takes none for it until it is up.
    unsure: bool,
    /// What failed when routes were set last.
    failure: Option<String>,
    stripes: Option<Stripes>,
    returns: returns::Returns,
}

/// Watches until SIGTERM or SIGINT; then all routes are as planned again. `text_sum` is the checksum of the
/// cluster file; `state`: the folder in which `apply` keeps its record of this host; `ready` is called once
/// the first hellos are sent.
pub fn run(
    cluster: Cluster,
    (host, state): (HostId, &Path),
    text_sum: u32,
    ready: impl FnOnce(),
) -> Result<(), WatchError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        let system = |source| WatchError::System { doing: "catch signals", source };
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(system)?;
    }
    // Late hellos look like dead cables, so the process asks for a higher priority. Without the right to it,
    // it runs like any other process.
    let _ = priority::raise();
    let mut daemon = Daemon::begin(cluster, (host, state), text_sum)?;
    daemon.turn();
    ready();
    let result = daemon.watch(&stop);
    let ended = daemon.end();
    result.and(ended)
}

impl Daemon {
    fn begin(cluster: Cluster, (host, state): (HostId, &Path), text_sum: u32) -> Result<Self, WatchError> {
        let name = cluster.host_of(host).name.clone();
        let note = Note {
            pid: std::process::id().cast_signed(),
            host: name.clone(),
            cluster: text_sum,
            ..Note::default()
        };
        let instance = Instance::begin(&note)?;
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nics = Nics::open(&cluster, host)?;
        let mut rerouting = Rerouting::open(&name)?;
        let forwarded =
            nics.names().iter().map(|name| rerouting.forwards(name)).collect::<Result<Vec<_>, _>>()?;
        let view = View::new(cluster, host, since_epoch.as_millis() as u64)?;
        let run = since_epoch.as_nanos() as u64;
        let relays = view.plan().hosts[host.0].relays();
        let stripes = Stripes::new(view.cluster(), view.plan(), host);
        Ok(Self {
            view,
            nics,
            rerouting,
            instance,
            note,
            host,
            state: state.into(),
            began: Instant::now(),
            run,
            number: 0,
            forwarded,
            relays,
            is_half: false,
            unsure: false,
            failure: None,
            stripes,
            returns: returns::Returns::default(),
        })
    }

    fn watch(&mut self, stop: &AtomicBool) -> Result<(), WatchError> {
        let mut next = self.began.elapsed() + TICK;
        let mut reviewed = self.began.elapsed();
        while !stop.load(Ordering::Relaxed) {
            let now = self.began.elapsed();
            self.unsure |= self.nics.wait(next.saturating_sub(now))?;
            let mut changed = self.drain();
            let now = self.began.elapsed();
            let is_time = now >= next;
            if is_time {
                changed |= self.look_and_tick(now)?;
                // Ticks that were missed are skipped.
                next = if now > next + TICK { now + TICK } else { next + TICK };
            }
            if let Some(stripes) = self.stripes.as_mut().filter(|_| is_time || changed) {
                stripes.tell(&self.view.dead());
            }
            let is_doubtful = self.unsure || !self.note.dead.is_empty();
            if changed || (is_doubtful && now.saturating_sub(reviewed) > REVIEW) {
                reviewed = now;
                self.reroute()?;
            }
            if is_time || changed {
                self.turn();
            }
        }
        Ok(())
    }

    /// Handles all frames that have arrived.
    fn drain(&mut self) -> bool {
        let now = self.began.elapsed();
        let mut changed = false;
        for (index, _, ring) in &mut self.nics.open {
            // At most as many as the ring holds, so that a flood does not keep the loop from its other work.
            for _ in 0..SLOTS {
                let Some(frame) = ring.as_mut().and_then(PacketRing::next_frame) else { break };
                if let Some(Ok(probe)) = frame.get(ETHERNET..).map(CableProbe::parse) {
                    changed |= self.view.hear(now, *index, &probe);
                }
            }
        }
        changed
    }

    fn look_and_tick(&mut self, now: Duration) -> Result<bool, WatchError> {
        let looks = self.rerouting.look(&self.nics.names())?;
        self.take_back(now, &looks);
        for ((index, ..), look) in self.nics.open.iter().zip(looks) {
            self.view.look(now, *index, look.carrier, look.received);
        }
        Ok(self.view.tick(now))
    }

    /// Sends a hello on every NIC.
    fn turn(&mut self) {
        self.number = self.number.wrapping_add(1);
        self.greet(false);
    }

    fn greet(&mut self, leaving: bool) {
        let now = self.began.elapsed();
        let cluster = self.view.cluster();
        let own = cluster.host_of(self.host);
        let mut probe = Vec::new();
        for (index, name, ring) in &self.nics.open {
            let Some(ring) = ring else { continue };
            let socket = ring.socket();
            let interface = socket.interface();
            let room = (interface.mtu as usize).saturating_sub(CABLE_HEAD_LEN + own.name.len() + name.len());
            let body = self.view.hello(now, *index, leaving).emit(room);
            let hello = CableProbe {
                kind: CableKind::Hello,
                number: self.number,
                run: self.run,
                cluster: self.view.fingerprint(),
                sender: CableNic { host: self.host.0 as u16 + 1, nic: *index as u16 + 1 },
                host_name: &own.name,
                nic_name: name,
                body: &body,
            };
            if hello.emit(&mut probe).is_none() {
                continue;
            }
            let mut frame = vec![0xff; 6];
            frame.extend(interface.mac);
            frame.extend(CABLE_ETHERTYPE.to_be_bytes());
            frame.extend(&probe);
            // A NIC that cannot send is noticed by its carrier and by the silence of the other end. After it
            // was down for a moment, which neither shows, its next frame fails.
            let is_down = |error: Error| error.raw_os_error() == Some(Errno::ENETDOWN as i32);
            self.unsure |= socket.send(&frame).is_err_and(is_down);
        }
    }
}
