//! Waiting in the kernel for a word of this process's memory to change: futex(2). Nothing is locked while a
//! thread waits, nor when it is woken, so that a handler of a signal may run there and do what it likes.

use std::sync::atomic::AtomicU32;

/// Waits until threads are woken, if the word has this value still. May return for no reason.
pub fn wait(word: &AtomicU32, value: u32) {
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let no_limit = std::ptr::null::<libc::timespec>();
    // SAFETY: the kernel reads the word, which is there, and there is no time to be read.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, no_limit) };
}

/// Wakes all threads that wait for the word.
pub fn wake_all(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel takes the word's address, and does not look at it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, i32::MAX) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_thread_waits_until_the_word_changes() {
        let word = AtomicU32::new(7);
        // Another value: it returns at once.
        wait(&word, 6);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(SeqCst) == 7 {
                    wait(&word, 7);
                }
            });
            word.store(8, SeqCst);
            wake_all(&word);
        });
    }
}
