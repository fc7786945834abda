//! What can be learnt of pages while a program runs.

use std::fmt::Debug;

/// Is told what happens to pages in this process, by their addresses.
///
/// The threads that serve call it, with their lock held: it must not call [`crate::Shared`], and must not
/// touch shared memory beside the bytes that it is given. What it takes long for, threads of the program wait
/// for.
pub trait Watch: Debug + Send + Sync {
    /// A thread, as gettid(2) names it, waits for the page of this address from now on. Kernels before Linux
    /// 5.18 tell the page's address, and 0 for the thread.
    fn fault(&self, address: usize, writes: bool, thread: u32);

    /// The page is here, holds these bytes, and may be written if `writes`. `fresh`: no process has used it
    /// before. Threads that waited for it go on once this returns.
    fn arrived(&self, page: usize, writes: bool, fresh: bool, bytes: &[u8]);

    /// Threads that wait for the page need not: it has come meanwhile.
    fn was_here(&self, page: usize);

    /// The page could be written, and holds these bytes now, which nobody changes any more.
    fn leaves(&self, page: usize, bytes: &[u8]);

    /// The page may not be used here any more.
    fn is_gone(&self, page: usize);
}
