//! `crate::file` of the ring: files and the locks by which a process is known to live.
//!
//! A process is a thread of the model. The kernel changes a file's locks one after the other under a lock of
//! its own, so that each sees what happened before the one before it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread::ThreadId;

use crate::map::Memory;
use crate::plan;

pub(crate) const DIRECTORY: &str = "/dev/shm";

thread_local! {
    static FILES: RefCell<Vec<Rc<Fd>>> = const { RefCell::new(Vec::new()) };
}

/// An open file.
#[derive(Debug)]
pub(crate) struct Fd {
    path: PathBuf,
    len: Cell<usize>,
    memory: OnceCell<Rc<Memory>>,
    /// The kernel's lock.
    kernel: AtomicUsize,
    locks: RefCell<BTreeMap<i64, ThreadId>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Nobody,
    This,
    Other(libc::pid_t),
}

#[derive(Debug)]
pub(crate) struct SharedFile(Rc<Fd>);

/// Begins an execution: no file exists.
pub(crate) fn begin_execution() {
    FILES.take();
}

/// Ends all locks of a process that has died.
pub(crate) fn process_died(process: ThreadId) {
    for file in FILES.with_borrow(Clone::clone) {
        file.kernel(|locks| locks.retain(|_, holder| *holder != process));
    }
}

pub(crate) fn sweep(_directory: &Path, _kinds: &[(&str, i64)]) {}

impl Fd {
    pub(crate) fn memory(&self, len: usize) -> Rc<Memory> {
        Rc::clone(self.memory.get_or_init(|| Rc::new(Memory::new(len))))
    }

    fn kernel<T>(&self, work: impl FnOnce(&mut BTreeMap<i64, ThreadId>) -> T) -> T {
        self.kernel.fetch_add(1, Ordering::AcqRel);
        work(&mut self.locks.borrow_mut())
    }
}

impl SharedFile {
    pub(crate) fn create(path: &Path, _mode: libc::mode_t) -> io::Result<SharedFile> {
        let file = Rc::new(Fd {
            path: path.to_path_buf(),
            len: Cell::new(0),
            memory: OnceCell::new(),
            kernel: AtomicUsize::new(0),
            locks: RefCell::default(),
        });
        FILES.with_borrow_mut(|files| files.push(Rc::clone(&file)));
        Ok(SharedFile(file))
    }

    pub(crate) fn open(path: &Path, _writable: bool) -> io::Result<SharedFile> {
        let found = FILES.with_borrow(|files| files.iter().find(|file| file.path == path).cloned());
        found.map(SharedFile).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(crate) fn fd(&self) -> &Fd {
        &self.0
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    pub(crate) fn stat(&self) -> io::Result<libc::stat> {
        // SAFETY: zero bytes are a value of this struct of integers.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: no pointers are passed.
        stat.st_uid = unsafe { libc::geteuid() };
        stat.st_nlink = 1;
        stat.st_size = self.0.len.get() as i64;
        stat.st_blocks = stat.st_size / 512;
        Ok(stat)
    }

    pub(crate) fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.len.set(len as usize);
        Ok(())
    }

    pub(crate) fn reserve(&self, _offset: usize, _len: usize) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        if !plan::step() {
            self.0.memory(self.0.len.get()).read(offset as usize, into);
        }
        Ok(())
    }

    pub(crate) fn try_lock(&self, byte: i64) -> io::Result<bool> {
        if plan::step() {
            return Ok(false);
        }
        let me = loom::thread::current().id();
        Ok(self.0.kernel(|locks| {
            let free = !locks.contains_key(&byte);
            if free {
                locks.insert(byte, me);
            }
            free
        }))
    }

    pub(crate) fn unlock(&self, byte: i64) {
        if !plan::step() {
            let me = loom::thread::current().id();
            self.0.kernel(|locks| locks.retain(|locked, holder| *locked != byte || *holder != me));
        }
    }

    pub(crate) fn holder(&self, byte: i64) -> io::Result<Holder> {
        if plan::step() {
            return Ok(Holder::This);
        }
        let me = loom::thread::current().id();
        Ok(match self.0.kernel(|locks| locks.get(&byte).copied()) {
            None => Holder::Nobody,
            Some(holder) if holder == me => Holder::This,
            Some(_) => Holder::Other(1),
        })
    }

    pub(crate) fn unlink(&self) {
        let gone = &self.0;
        FILES.with_borrow_mut(|files| files.retain(|file| !Rc::ptr_eq(file, gone)));
    }
}
