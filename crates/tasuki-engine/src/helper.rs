//! The thread that steps in when the program does not call: a rank that computes must still acknowledge and grant.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::endpoint::Inner;

/// The running thread; dropping it stops it.
pub(crate) struct Helper {
    inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
}

/// The program is held to be busy with something else if it has not entered for this long.
const PATIENCE: Duration = Duration::from_millis(1);

impl Helper {
    pub fn start(inner: &Arc<Inner>) -> std::io::Result<Helper> {
        let shared = Arc::clone(inner);
        let thread = std::thread::Builder::new()
            .name("tasuki".to_owned())
            .stack_size(256 << 10)
            .spawn(move || without_signals(|| run(&shared)))?;
        Ok(Helper { inner: Arc::clone(inner), thread: Some(thread) })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.inner.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported; there is nothing to be saved.
            let _ = thread.join();
        }
    }
}

/// The program's signals are for the program's own threads.
fn without_signals(work: impl FnOnce()) {
    let all = nix::sys::signal::SigSet::all();
    let _ = all.thread_set_mask();
    work();
}

fn run(inner: &Inner) {
    let mut entries = inner.entries.load(Ordering::Relaxed);
    let mut away = false;
    while !inner.stop.load(Ordering::Acquire) {
        if away {
            // Nobody else reads the sockets, so a packet may wake us.
            inner.sleeper.sleep(PATIENCE);
        } else {
            std::thread::sleep(PATIENCE);
        }
        let seen = inner.entries.load(Ordering::Relaxed);
        if crate::dump::asked() {
            eprintln!("{}", inner.lock().describe());
        }
        away = seen == entries;
        entries = seen;
        if !away {
            continue;
        }
        // Whoever holds the lock is making progress.
        if let Ok(mut state) = inner.state.try_lock() {
            state.helped += 1;
            state.progress();
            state.prepare_to_sleep();
        }
    }
}
