//! What the kernel does with pages, and who is told of it.

use std::io;

use tasuki_dsm::{Access, Action, Page};
use tasuki_engine::Buffer;

use crate::core::Core;
use crate::segment::{PAGE, Segment};
use crate::watch::Watch;

impl Core {
    /// Does with a page what the kernel does, and tells of it.
    pub fn of_kernel(&self, action: Action, came: &[u8], segment: &Segment) -> io::Result<()> {
        let told = Told { watch: self.watch.as_deref(), segment };
        match action {
            Action::Protect(page) => segment.protect(page, true).map(|()| told.leaves(page)),
            Action::Unprotect(page) => {
                told.may_be_written(page);
                segment.protect(page, false)
            }
            Action::Drop(page) => {
                told.is_gone(page);
                segment.drop_page(page)
            }
            Action::Install { page, access } => {
                told.arrived(page, access == Access::Write, false, came);
                segment.install(page, came, access)
            }
            Action::Zero(page) => {
                told.arrived(page, true, true, &[0; PAGE]);
                segment.zero(page)
            }
            Action::Wake(page) => {
                told.was_here(page);
                segment.wake(page)
            }
            _ => Ok(()),
        }
    }
}

/// The watch, if there is one.
struct Told<'a> {
    watch: Option<&'a dyn Watch>,
    segment: &'a Segment,
}

impl Told<'_> {
    fn arrived(&self, page: Page, writes: bool, fresh: bool, bytes: &[u8]) {
        if let Some(watch) = self.watch {
            watch.arrived(self.segment.address(page), writes, fresh, bytes);
        }
    }

    /// A page that could only be read until now.
    fn may_be_written(&self, page: Page) {
        if self.watch.is_some() {
            // SAFETY: the page is here, and protected from writes until after this.
            self.arrived(page, true, false, unsafe { bytes(self.segment.buffer(page)) });
        }
    }

    /// A page that is protected from writes by now.
    fn leaves(&self, page: Page) {
        if let Some(watch) = self.watch {
            // SAFETY: the page is here, and no thread can write to it any more.
            watch.leaves(self.segment.address(page), unsafe { bytes(self.segment.buffer(page)) });
        }
    }

    fn is_gone(&self, page: Page) {
        self.watch.inspect(|watch| watch.is_gone(self.segment.address(page)));
    }

    fn was_here(&self, page: Page) {
        self.watch.inspect(|watch| watch.was_here(self.segment.address(page)));
    }
}

/// # Safety
/// The memory is here, and nobody writes to it as long as the bytes are used.
unsafe fn bytes<'a>(buffer: Buffer) -> &'a [u8] {
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(buffer.ptr, buffer.len) }
}
