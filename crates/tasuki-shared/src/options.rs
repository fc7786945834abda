//! What a process says when it joins.

use std::ops::Range;
use std::sync::Arc;

use crate::segment::PAGE;
use crate::watch::Watch;

/// How a process takes part in shared memory. All processes of a program must use the same values.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of the memory, of which pages that nobody touches cost nothing.
    pub bytes: usize,
    /// Where the memory lies in every process, so that pointers mean the same in all. `None`: anywhere, which
    /// differs from process to process.
    pub address: Option<usize>,
    /// Memory that the process has already, in whole pages, and that [`crate::Shared::adopt`] is to make
    /// shared: at the same addresses in all processes.
    pub adopt: Vec<Range<usize>>,
    /// System calls are given addresses of this memory, as in a program whose heap and stacks lie there: they
    /// must find pages that are elsewhere, which takes a right that ordinary users may lack.
    pub system_calls: bool,
    /// So many pages in a row have the same home, a process that knows who has copies of them.
    pub run: u32,
    /// A page that has come stays for at least this time, ns, so that the threads that waited for it can use
    /// it before another process takes it away.
    pub hold: u64,
    /// Told, once and from any thread, why the memory is lost. It may end the process, and must not call
    /// [`crate::Shared`].
    pub on_loss: fn(&str),
    /// Told what happens to pages here.
    pub watch: Option<Arc<dyn Watch>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            bytes: 16 << 30,
            // Far from where programs, heaps and libraries lie on x86-64 and aarch64 with 47 bits or more.
            address: Some(0x2000_0000_0000),
            adopt: Vec::new(),
            system_calls: false,
            run: 16,
            hold: 50_000,
            on_loss: end_process,
            watch: None,
        }
    }
}

impl Options {
    /// Pages of the memory that is new.
    pub(crate) fn pages(&self) -> u32 {
        u32::try_from(self.bytes.div_ceil(PAGE)).unwrap_or(u32::MAX)
    }

    /// Pages of all memory.
    pub(crate) fn all_pages(&self) -> u32 {
        let adopted: usize = self.adopt.iter().map(|range| range.len() / PAGE).sum();
        self.pages().saturating_add(u32::try_from(adopted).unwrap_or(u32::MAX))
    }
}

/// Says why, and ends the process without waiting for threads that can never go on.
fn end_process(reason: &str) {
    eprintln!("tasuki: shared memory is lost, and this process ends: {reason}");
    // SAFETY: the call takes a number and does not return.
    unsafe { libc::_exit(1) }
}
