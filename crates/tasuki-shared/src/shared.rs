//! A process's part in shared memory, as the program uses it.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use nix::sys::eventfd::{EfdFlags, EventFd};
use tasuki_dsm::{Access, Config, Counters, Lock, Node, NodeId};
use tasuki_engine::Endpoint;
use tasuki_sys::signals::Held;

use crate::core::Core;
use crate::error::{Lost, OpenError};
use crate::meeting::Meeting;
use crate::note;
use crate::options::Options;
use crate::segment::{PAGE, Segment};
use crate::service::{Inner, answer_faults, take_messages};

/// One process's part in shared memory. All functions may be called by any thread.
///
/// After this is dropped the memory is gone: no thread may touch it any more.
pub struct Shared {
    inner: Arc<Inner>,
    threads: Vec<JoinHandle<()>>,
    rank: u32,
    size: u32,
    bytes: usize,
    /// See [`Options::adopt`].
    adopt: Vec<Range<usize>>,
    /// Bytes from the beginning that have been given away.
    given: Mutex<usize>,
}

impl Shared {
    /// Joins the processes that meet, and waits for all of them. `endpoint` says how they reach each other.
    pub fn open(
        meeting: &Meeting,
        options: &Options,
        endpoint: &tasuki_engine::Options,
    ) -> Result<Shared, OpenError> {
        let segment = Segment::reserve(options)?;
        // Shared memory of one host wakes nobody who sleeps, and the threads here do.
        let endpoint = tasuki_engine::Options { shm: false, ..endpoint.clone() };
        let endpoint = Endpoint::open(&endpoint)?;
        let bytes = u64::from(options.all_pages()) * PAGE as u64;
        let addresses = meeting.meet(&endpoint.address(), bytes)?;
        let peer = |(rank, address)| (rank != meeting.rank as usize).then(|| endpoint.add_peer(address));
        let peers = addresses.iter().enumerate().map(peer).collect();
        let node = Node::new(Config {
            me: NodeId(meeting.rank as u8),
            nodes: meeting.size as usize,
            pages: options.all_pages(),
            run: options.run,
            hold: options.hold,
        });
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(|error| OpenError::Thread(error.into()))?;
        let inner = Arc::new(Inner {
            endpoint,
            core: Mutex::new(Core::new(node, peers, options.all_pages(), options.watch.clone())),
            changed: AtomicU32::new(0),
            segment,
            ending: AtomicBool::new(false),
            bell,
            on_loss: options.on_loss,
        });
        let mut shared = Shared {
            inner,
            threads: Vec::new(),
            rank: meeting.rank,
            size: meeting.size,
            bytes: options.pages() as usize * PAGE,
            adopt: options.adopt.clone(),
            given: Mutex::new(0),
        };
        // A peer that is gone by now is told like one that goes later.
        let _ = shared.inner.with(|core, endpoint, _| core.listen(endpoint));
        shared.serve("tasuki-faults", answer_faults)?;
        shared.serve("tasuki-pages", take_messages)?;
        Ok(shared)
    }

    fn serve(&mut self, name: &str, serve: fn(&Inner)) -> Result<(), OpenError> {
        let inner = Arc::clone(&self.inner);
        // The program's signals are for its own threads: a handler here would wait for a page that nobody
        // else can get. A thread begins with the mask of the one that starts it.
        let _held = Held::all();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || serve(&inner));
        self.threads.push(thread.map_err(OpenError::Thread)?);
        Ok(())
    }

    /// This process, counted from 0.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of processes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The first byte of the memory.
    pub fn base(&self) -> *mut u8 {
        self.inner.segment.base() as *mut u8
    }

    /// Gives memory that was never given before, filled with zeros: `None` if not so much is left. Nothing is
    /// asked of other processes: all of them get the same if they ask for the same, in the same order. What
    /// fills a page or more begins with a page.
    pub fn allocate(&self, bytes: usize, align: usize) -> Option<*mut u8> {
        if !align.is_power_of_two() {
            return None;
        }
        let align = align.max(if bytes >= PAGE { PAGE } else { 64 });
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let at = given.checked_next_multiple_of(align)?;
        let end = at.checked_add(bytes).filter(|&end| end <= self.bytes)?;
        *given = end;
        Some((self.inner.segment.base() + at) as *mut u8)
    }

    /// Makes the memory shared that [`Options::adopt`] names: all processes call this, and it holds what it
    /// held at rank 0.
    ///
    /// # Safety
    /// It can be read and written, and no other thread touches it before this returns.
    pub unsafe fn adopt(&self) -> Result<(), OpenError> {
        // SAFETY: as the caller promises.
        let saved = unsafe { self.inner.segment.adopt(&self.adopt, self.rank == 0) }?;
        for (range, bytes) in self.adopt.iter().zip(saved) {
            // SAFETY: the memory was mapped again just now. Every page is touched for the first time, by this
            // process, which gets it to write.
            unsafe { (range.start as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        self.barrier().map_err(|lost| OpenError::Thread(std::io::Error::other(lost)))
    }

    /// Waits until every process has come here. One thread of a process at a time may; others wait for it.
    pub fn barrier(&self) -> Result<(), Lost> {
        self.barrier_of(self.size)
    }

    /// As [`Shared::barrier`], for the first `of` processes, of which this one must be one.
    ///
    /// # Panics
    /// If it is not.
    pub fn barrier_of(&self, of: u32) -> Result<(), Lost> {
        assert!(self.rank < of && of <= self.size, "rank {} in a barrier of {of}", self.rank);
        let of = of as usize;
        let passed = |core: &Core| core.passed.get(&of).copied().unwrap_or(0);
        loop {
            let (before, enters) = self.inner.with(|core, endpoint, segment| {
                let entered = (passed(core), core.node.enter_barrier(of));
                core.act(&[], endpoint, segment)?;
                Ok(entered)
            })?;
            let is_over = |core: &mut Core| core.dismissed || passed(core) > before;
            let dismissed = self.inner.wait(|core| is_over(core).then_some(core.dismissed))?;
            if enters || dismissed {
                return Ok(());
            }
        }
    }

    /// Tells all other processes up to 2048 bytes: each hears them by [`Shared::hear`], in no order with what
    /// other processes tell.
    ///
    /// # Panics
    /// If there are more.
    pub fn tell_all(&self, note: &[u8]) -> Result<(), Lost> {
        assert!(note.len() <= note::LONGEST, "a note of {} bytes", note.len());
        self.inner.with(|core, endpoint, _| core.tell_all(note, endpoint))
    }

    /// Waits for what another process tells, each of which one thread hears.
    pub fn hear(&self) -> Result<Box<[u8]>, Lost> {
        self.inner.wait(|core| core.notes.next())
    }

    /// A phase of the program begins here, known by its key, and the one before it ends. What threads of this
    /// process waited for in earlier phases of the same key is asked for now, if that has gained time.
    pub fn phase(&self, key: u64) -> Result<(), Lost> {
        self.inner.with(|core, endpoint, segment| core.phase(key, endpoint, segment))
    }

    /// Takes a lock, which is known by its number in all processes, and waits for it.
    pub fn lock(&self, lock: u32) -> Result<(), Lost> {
        let lock = Lock(lock);
        self.inner.with(|core, endpoint, segment| {
            let now = core.now();
            core.node.acquire(lock, now);
            core.act(&[], endpoint, segment)
        })?;
        self.inner.wait(|core| {
            let granted = core.granted.get_mut(&lock).filter(|granted| **granted > 0)?;
            *granted -= 1;
            Some(())
        })
    }

    /// Gives a lock back: false if no thread of this process has it.
    pub fn unlock(&self, lock: u32) -> Result<bool, Lost> {
        self.inner.with(|core, endpoint, segment| {
            let now = core.now();
            let had = core.node.release(Lock(lock), now);
            core.act(&[], endpoint, segment)?;
            Ok(had)
        })
    }

    /// Asks for pages that will be used soon, and does not wait for them. What lies outside of the memory is
    /// left out.
    pub fn fetch(&self, from: *const u8, bytes: usize, access: Access) -> Result<(), Lost> {
        if bytes == 0 || access == Access::None {
            return Ok(());
        }
        let base = self.inner.segment.base();
        let first = (from as usize).max(base);
        let end = (from as usize).saturating_add(bytes).min(base + self.bytes);
        self.inner.with(|core, endpoint, segment| {
            for address in (first / PAGE * PAGE..end).step_by(PAGE) {
                let Some(page) = segment.page_of(address) else { continue };
                if core.node.access(page) < access {
                    core.fault(page, access, endpoint, segment)?;
                }
            }
            Ok(())
        })
    }

    /// The page at this address is never asked for early, as what follows pages that are read in a row is: a
    /// process has made it one that must not be touched, and could not send it.
    pub fn leave_out(&self, address: usize) {
        if let Some(page) = self.inner.segment.page_of(address) {
            self.inner.lock().prefetch.leave_out(page);
        }
    }

    /// What has happened here since the process joined.
    pub fn counters(&self) -> Counters {
        self.inner.lock().node.counters()
    }

    /// Leaves together with all other processes. No thread may touch the memory any more. The memory is lost
    /// if one of them ends without this.
    pub fn close(self) -> Result<(), Lost> {
        self.barrier_to_leave()
    }

    /// Leaves as [`Shared::close`] does, but leaves the memory where it is: for a process that ends, whose
    /// threads may still have their stacks there. Pages that are not here never come.
    pub fn depart(self) -> Result<(), Lost> {
        self.inner.segment.keep();
        self.barrier_to_leave()
    }

    /// All come to the end, or one is missed. Then all know that all have come, and each may go: those who
    /// have passed this last barrier may be gone before this process is told.
    fn barrier_to_leave(&self) -> Result<(), Lost> {
        self.barrier()?;
        self.inner.lock().leaving = true;
        self.barrier()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.inner.ending.store(true, Ordering::Release);
        let _ = self.inner.bell.write(1);
        for thread in self.threads.drain(..) {
            // A panic of the thread has been reported on stderr; there is nothing to be saved.
            let _ = thread.join();
        }
    }
}
