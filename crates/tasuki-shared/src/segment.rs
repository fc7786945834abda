//! The memory itself, and its pages in the hands of the kernel.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tasuki_dsm::{Access, Page};
use tasuki_engine::Buffer;
use tasuki_sys::userfault::{self, UserFault};

use crate::error::OpenError;
use crate::options::Options;

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// Reserved memory whose page faults are told to this process.
pub(crate) struct Segment {
    base: Window,
    /// Memory that the process had before, once it is shared.
    adopted: OnceLock<Vec<Window>>,
    pub faults: UserFault,
    /// The memory stays when this object goes.
    keep: AtomicBool,
}

/// Pages that follow each other in memory and in number.
#[derive(Clone, Copy)]
struct Window {
    start: usize,
    first: u32,
    pages: u32,
}

impl Window {
    fn page_of(&self, address: usize) -> Option<Page> {
        let index = address.checked_sub(self.start)? / PAGE;
        (index < self.pages as usize).then(|| Page(self.first + index as u32))
    }

    fn address(&self, page: Page) -> Option<usize> {
        let index = page.0.checked_sub(self.first).filter(|&index| index < self.pages)?;
        Some(self.start + index as usize * PAGE)
    }
}

impl Segment {
    /// Reserves the memory; no page is there.
    pub fn reserve(options: &Options) -> Result<Segment, OpenError> {
        // SAFETY: the call takes a number.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        if size != PAGE {
            return Err(OpenError::PageSize(size));
        }
        if options.bytes == 0 || options.bytes > PAGE * u32::MAX as usize {
            return Err(OpenError::Size(options.bytes));
        }
        let pages = options.pages();
        let faults = UserFault::open().map_err(|error| match error {
            userfault::OpenError::Refused(error) => OpenError::Faults(error),
            userfault::OpenError::NoProtection(error) => OpenError::Protection(error),
        })?;
        if options.system_calls && faults.is_user_mode_only() {
            return Err(OpenError::SystemCalls);
        }
        let start = map(pages as usize * PAGE, options.address.unwrap_or(0), libc::MAP_FIXED_NOREPLACE)?;
        let base = Window { start, first: 0, pages };
        let segment = Segment { base, adopted: OnceLock::new(), faults, keep: AtomicBool::new(false) };
        segment.register(base).map_err(OpenError::Faults)?;
        Ok(segment)
    }

    fn register(&self, window: Window) -> io::Result<()> {
        // SAFETY: nobody has a reference to the memory: it is new, or its owner gave it away.
        unsafe { self.faults.register(window.start, window.pages as usize * PAGE) }
    }

    /// Puts empty shared memory in the place of what the process had there, and returns the bytes that were
    /// there if `save` is set.
    ///
    /// # Safety
    /// The ranges are of whole pages that can be read and written, and no thread that serves shared memory
    /// touches them from now on.
    pub unsafe fn adopt(&self, ranges: &[Range<usize>], save: bool) -> Result<Vec<Box<[u8]>>, OpenError> {
        let (mut first, mut windows, mut saved) = (self.base.pages, Vec::new(), Vec::new());
        for range in ranges {
            if save {
                // SAFETY: the memory can be read, as the caller promises.
                let bytes = unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) };
                saved.push(bytes.into());
            }
            let start = map(range.len(), range.start, libc::MAP_FIXED)?;
            let window = Window { start, first, pages: (range.len() / PAGE) as u32 };
            first += window.pages;
            self.register(window).map_err(OpenError::Faults)?;
            windows.push(window);
        }
        // Only the first call counts; there is no second one.
        let _ = self.adopted.set(windows);
        Ok(saved)
    }

    /// The memory stays when this object goes: the process ends soon, and its threads may still use what is
    /// there.
    pub fn keep(&self) {
        self.keep.store(true, Ordering::Relaxed);
    }

    /// The first byte of what is new.
    pub fn base(&self) -> usize {
        self.base.start
    }

    fn windows(&self) -> impl Iterator<Item = &Window> {
        std::iter::once(&self.base).chain(self.adopted.get().into_iter().flatten())
    }

    /// The page in which an address lies.
    pub fn page_of(&self, address: usize) -> Option<Page> {
        self.windows().find_map(|window| window.page_of(address))
    }

    /// Where a page begins.
    pub fn address(&self, page: Page) -> usize {
        let address = self.windows().find_map(|window| window.address(page));
        // The node knows no other pages; an address that is none makes the kernel refuse.
        address.unwrap_or(usize::MAX / PAGE * PAGE)
    }

    /// The bytes of a page that is here, for sending.
    pub fn buffer(&self, page: Page) -> Buffer {
        Buffer { ptr: self.address(page) as *mut u8, len: PAGE }
    }

    /// Puts a page in place, and wakes threads that wait for it.
    pub fn install(&self, page: Page, bytes: &[u8], access: Access) -> io::Result<()> {
        debug_assert_eq!(bytes.len(), PAGE);
        // SAFETY: the page is one of this memory, which is registered.
        unsafe { self.faults.install(self.address(page), bytes, access == Access::Write) }
    }

    /// Puts a page of zeros in place that may be written, and wakes threads that wait for it.
    pub fn zero(&self, page: Page) -> io::Result<()> {
        // SAFETY: as above.
        unsafe { self.faults.install_zeros(self.address(page), PAGE) }
    }

    /// Threads may only read the page from now on, or write it again.
    pub fn protect(&self, page: Page, protect: bool) -> io::Result<()> {
        // SAFETY: as above.
        unsafe { self.faults.protect(self.address(page), PAGE, protect) }
    }

    /// Takes a page away: who touches it waits.
    pub fn drop_page(&self, page: Page) -> io::Result<()> {
        // SAFETY: the page lies in memory that this object has reserved, to which nobody has a reference of
        // Rust; a thread that reads it meanwhile waits for the page to come again.
        let result = unsafe { libc::madvise(self.address(page) as *mut _, PAGE, libc::MADV_DONTNEED) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Threads that wait for the page try again.
    pub fn wake(&self, page: Page) -> io::Result<()> {
        self.faults.wake(self.address(page), PAGE)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if self.keep.load(Ordering::Relaxed) {
            return;
        }
        for window in self.windows() {
            // SAFETY: the object reserved this memory; its owner says that no thread uses it any more.
            unsafe { libc::munmap(window.start as *mut _, window.pages as usize * PAGE) };
        }
    }
}

/// Anonymous memory that takes nothing as long as nobody touches it.
fn map(bytes: usize, address: usize, fixed: i32) -> Result<usize, OpenError> {
    let fixed = if address == 0 { 0 } else { fixed };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let failed = |error| OpenError::Reserve { bytes, address, error };
    // SAFETY: the mapping is new, or replaces one that its owner has given away.
    let base = unsafe { libc::mmap(address as *mut _, bytes, rights, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(failed(io::Error::last_os_error()));
    }
    // A huge page would come and go as a whole, and a child after fork would see copies that nobody keeps
    // equal: it must not see the memory at all.
    for advice in [libc::MADV_NOHUGEPAGE, libc::MADV_DONTFORK] {
        // SAFETY: the memory was mapped above. A kernel without huge pages refuses the first, which is fine.
        unsafe { libc::madvise(base, bytes, advice) };
    }
    Ok(base as usize)
}
