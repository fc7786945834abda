//! Raw lanes are opened while the program goes on.
//!
//! The kernel lets whoever opens one wait until no processor can hold a frame for it, some 15 ms. An MPI that starts has something else to do
//! meanwhile: its ranks tell each other their addresses. Most often the lanes are there before the first greeting, which names them. Peers that were
//! greeted before are told of them as of any change of the rails.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};

use tasuki_link::broker::Broker;
use tasuki_link::{RawLink, RawOptions, open_lanes};

use crate::aside::close_aside;
use crate::options::Options;
use crate::state::{Link, State};

/// Further references to the sockets of the raw lanes, once they are open: for whoever sleeps on them, and for closing them aside.
pub(crate) type Sockets = Arc<OnceLock<Vec<OwnedFd>>>;

/// In the order of the links that have a NIC.
type Lanes = Vec<Option<RawLink>>;

/// The lanes that are being opened.
pub(crate) struct Opening {
    thread: Option<JoinHandle<Lanes>>,
    /// What was opened without a thread.
    lanes: Lanes,
    priority: Option<u8>,
    /// Nobody wants them any more.
    given_up: Arc<AtomicBool>,
}

/// Most that one receive ring takes, bytes: streams go over UDP. The kernel clears it when it is opened, which takes up to a millisecond per MiB.
const RING_BYTES_MAX: u64 = 1 << 20;

impl Opening {
    /// Begins to open the raw lane of every NIC that has one to offer, by own permission or through the broker. Where there is none its
    /// rails keep UDP: `tasuki stats` shows the lanes, `tasuki doctor` says why.
    pub fn begin(links: &[Link], endpoint: u32, options: &Options) -> Option<Opening> {
        let nics: Vec<_> = links.iter().filter_map(|link| link.nic.clone()).collect();
        if nics.is_empty() {
            return None;
        }
        // Nobody knows how many processes a host will have; one per processor is the usual number.
        let processes = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let each = (options.ring_bytes / (nics.len() as u64 * processes)).min(RING_BYTES_MAX);
        let wanted: Vec<_> =
            nics.into_iter().map(|nic| RawOptions { nic, endpoint, ring_bytes: each }).collect();
        let (broker, priority) = (options.broker.clone(), options.priority);
        let given_up = Arc::new(AtomicBool::new(false));
        let work = {
            let (wanted, broker, given_up) = (wanted.clone(), broker.clone(), Arc::clone(&given_up));
            move || {
                crate::helper::without_signals(|| {
                    let lanes = open_lanes(&wanted, broker.map(Broker::aside));
                    if given_up.load(Ordering::Acquire) { close_lanes(lanes) } else { lanes }
                })
            }
        };
        let builder = Builder::new().name("tasuki-open".to_owned()).stack_size(256 << 10);
        Some(match builder.spawn(work) {
            Ok(thread) => Opening { thread: Some(thread), lanes: Lanes::new(), priority, given_up },
            // Where there is no thread to be had the program waits.
            Err(_) => {
                let lanes = open_lanes(&wanted, broker.map(Broker::at));
                Opening { thread: None, lanes, priority, given_up }
            }
        })
    }

    fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn wait(&mut self) -> Lanes {
        let opened = std::mem::take(&mut self.lanes);
        // A panic there has been reported; without lanes there is UDP.
        self.thread.take().map_or(opened, |thread| thread.join().unwrap_or_default())
    }
}

impl Drop for Opening {
    /// A program that ends before its lanes are open does not wait for them: the thread that opens them closes them, too.
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Release);
        if self.is_over() {
            close_lanes(self.wait());
        }
    }
}

/// Closes lanes that were not used, without waiting; leaves none.
fn close_lanes(lanes: Lanes) -> Lanes {
    let sockets = lanes.iter().flatten().filter_map(|raw| raw.as_fd().try_clone_to_owned().ok()).collect();
    drop(lanes);
    close_aside(sockets);
    Lanes::new()
}

impl State {
    /// If the lanes have been opened meanwhile they are used from now on.
    pub fn look_for_lanes(&mut self) {
        if let Some(mut opening) = self.opening.take_if(|opening| opening.is_over()) {
            let lanes = opening.wait();
            self.install(lanes, opening.priority);
        }
    }

    fn install(&mut self, lanes: Lanes, priority: Option<u8>) {
        let mut sockets = Vec::new();
        for (link, raw) in self.links.iter_mut().filter(|link| link.nic.is_some()).zip(lanes) {
            let Some(mut raw) = raw else { continue };
            // A lane on which nobody can sleep (a limit of the process) is none.
            let Ok(socket) = raw.as_fd().try_clone_to_owned() else { continue };
            sockets.push(socket);
            raw.set_priority(priority);
            self.core.rails.offer_raw(raw.nic(), raw.mac());
            link.raw = Some(raw);
        }
        // It is installed once.
        let _ = self.raw_sockets.set(sockets);
        self.write_lanes();
        self.tell_peers();
    }

    /// Those who have been greeted without the lanes hear of them.
    fn tell_peers(&mut self) {
        let now = self.now();
        for index in 0..self.core.peers.len() {
            let state = &self.core.peers[index];
            let Some(conn) = state.conn else { continue };
            let rails = self.core.own_rails(state.address.identity);
            self.proto.set_rails(now, conn, &rails);
            // Of the new paths, too.
            self.tell_carriers(conn, now);
        }
    }
}
