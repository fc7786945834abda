//! Opening raw lanes, on a thread of their own while the program goes on.
//!
//! To open a raw lane takes some 15 ms, in which the kernel waits until no processor can hold a frame for the
//! new socket. An MPI that starts has something else to do meanwhile: its ranks tell each other their
//! addresses. Most often the lanes are open before the first greeting, which names them. Peers that were
//! greeted before are told of them as of any change of the rails.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};

use tasuki_link::broker::Broker;
use tasuki_link::{RawLink, RawOptions, open_lanes};
use tasuki_sys::fork::Uninherited;
use tasuki_tuning::raw_lanes;

use super::link::Link;
use super::rails::RailTable;
use crate::deferred_close::close_later;
use crate::options::Options;
use crate::threads::without_signals;

/// Further references to the sockets of the raw lanes, once they are open: to sleep on them, and to close
/// them without waiting.
pub(crate) type Sockets = Arc<OnceLock<Vec<Uninherited<OwnedFd>>>>;

/// One for each link that has a NIC, in their order; `None` where no raw lane is to be had.
type Lanes = Vec<Option<RawLink>>;

/// Raw lanes that are being opened.
pub(crate) struct Opening {
    thread: Option<JoinHandle<Lanes>>,
    /// Lanes that were opened without a thread.
    lanes: Lanes,
    /// IEEE 802.1Q priority of their frames.
    priority: Option<u8>,
    /// The lanes are not wanted any more: the thread closes what it has opened.
    given_up: Arc<AtomicBool>,
}

impl Opening {
    /// Begins to open the raw lane of every NIC that has one to offer, by own permission or through the
    /// broker. Rails of other NICs keep UDP: `tasuki stats` shows the lanes, `tasuki doctor` says why.
    pub fn begin(links: &[Link], endpoint: u32, options: &Options) -> Option<Opening> {
        let nics: Vec<_> = links.iter().filter_map(|link| link.nic.clone()).collect();
        if nics.is_empty() {
            return None;
        }
        // How many processes a host will have is not known; one per processor is the usual number.
        let processes = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let each = (options.ring_bytes / (nics.len() as u64 * processes)).min(raw_lanes::RING_MAX);
        let wanted: Vec<_> =
            nics.into_iter().map(|nic| RawOptions { nic, endpoint, ring_bytes: each }).collect();
        let (broker, priority) = (options.broker.clone(), options.priority);
        let given_up = Arc::new(AtomicBool::new(false));
        let work = {
            let (wanted, broker, given_up) = (wanted.clone(), broker.clone(), Arc::clone(&given_up));
            move || {
                without_signals(|| {
                    let lanes = open_lanes(&wanted, broker.map(Broker::in_background));
                    if given_up.load(Ordering::Acquire) { close_lanes(lanes) } else { lanes }
                })
            }
        };
        let builder = Builder::new().name("tasuki-open".to_owned()).stack_size(256 << 10);
        Some(match builder.spawn(work) {
            Ok(thread) => Opening { thread: Some(thread), lanes: Lanes::new(), priority, given_up },
            // Without a thread (a limit of the process) the program waits for the lanes.
            Err(_) => {
                let lanes = open_lanes(&wanted, broker.map(Broker::at));
                Opening { thread: None, lanes, priority, given_up }
            }
        })
    }

    fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn wait(&mut self) -> Lanes {
        let opened = std::mem::take(&mut self.lanes);
        // A panic of the thread has been reported on stderr; without lanes there is UDP.
        self.thread.take().map_or(opened, |thread| thread.join().unwrap_or_default())
    }
}

impl Drop for Opening {
    /// A program that ends before its lanes are open does not wait for them: the thread that opens them
    /// closes them too.
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Release);
        if self.is_finished() {
            close_lanes(self.wait());
        }
    }
}

/// Closes lanes that were not used, without waiting for the kernel. Gives an empty list.
fn close_lanes(lanes: Lanes) -> Lanes {
    let sockets = lanes.iter().flatten().filter_map(|raw| raw.as_fd().try_clone_to_owned().ok()).collect();
    drop(lanes);
    close_later(sockets);
    Lanes::new()
}

/// The raw lanes of an endpoint: still being opened, or in use.
pub(super) struct RawLanes {
    opening: Option<Opening>,
    sockets: Sockets,
}

impl RawLanes {
    pub fn new(opening: Option<Opening>) -> RawLanes {
        RawLanes { opening, sockets: Sockets::default() }
    }

    /// Further references to the sockets of the lanes, once they are open.
    pub fn sockets(&self) -> Sockets {
        self.sockets.clone()
    }

    /// Gives up lanes that are still being opened.
    pub fn give_up(&mut self) {
        self.opening = None;
    }

    /// Lanes are being opened, or have been and are not in use yet.
    #[inline(always)]
    pub fn is_opening(&self) -> bool {
        self.opening.is_some()
    }

    /// Gives the lanes that were opened to their links, if all of them have been. True if so.
    pub fn install(&mut self, links: &mut [Link], rails: &mut RailTable) -> bool {
        let Some(mut opening) = self.opening.take_if(|opening| opening.is_finished()) else { return false };
        let lanes = opening.wait();
        let mut sockets = Vec::new();
        for (link, raw) in links.iter_mut().filter(|link| link.nic.is_some()).zip(lanes) {
            let Some(mut raw) = raw else { continue };
            // A lane on which nobody can sleep, because the process may open no more descriptors, is not
            // used.
            let Ok(socket) = raw.as_fd().try_clone_to_owned() else { continue };
            sockets.push(Uninherited::new(socket));
            raw.set_priority(opening.priority);
            rails.offer_raw(raw.nic(), raw.mac());
            link.raw = Some(raw);
        }
        // This happens once in the life of an endpoint, so the cell is empty.
        let _ = self.sockets.set(sockets);
        true
    }
}
