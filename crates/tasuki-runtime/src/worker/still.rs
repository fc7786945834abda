//! A job whose processes stand still, and the thread that saves them or makes them again.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::AtomicBool,
        mpsc::{Receiver, TryRecvError, channel},
    },
    thread,
};
use tasuki_control::Epoch;
use tasuki_shepherd::Command;

/// What a thread does with a job's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Save(Epoch),
    Restore(Epoch),
    /// It waits until a checkpoint that an earlier daemon began is not being written any more.
    Wait,
}

/// A job whose processes stand still, or soon will.
pub(super) struct Still {
    pub what: What,
    pub proxies: BTreeMap<u32, Vec<u32>>,
    /// What comes of it: bytes that were written, and the shepherd's process.
    pub working: Option<Receiver<Result<(u64, i32), String>>>,
    /// The shepherd's process, once the thread is done.
    pub shepherd: Option<i32>,
    /// The job is to end, or to go on without a checkpoint, as soon as the thread is done.
    pub is_given_up: bool,
    /// It is to end.
    pub ends: bool,
    /// Tells the thread to stop.
    pub stop: Arc<AtomicBool>,
    /// Standard input that has come meanwhile, at most as much as rank 0 may be sent at once. What else the
    /// queue says it says again when the processes go on.
    pub input: Vec<Command>,
}

impl Still {
    /// Begins it on a thread.
    pub fn begin(
        what: What,
        proxies: BTreeMap<u32, Vec<u32>>,
        work: impl FnOnce(&AtomicBool) -> Result<(u64, i32), String> + Send + 'static,
    ) -> Self {
        let (tell, working) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        // Without a thread nobody tells, which counts as a failure.
        let _ = thread::Builder::new().name("image".into()).spawn(move || tell.send(work(&stops)));
        let working = Some(working);
        let (shepherd, is_given_up, ends, input) = (None, false, false, Vec::new());
        Self { what, proxies, working, shepherd, is_given_up, ends, stop, input }
    }

    /// The job's shepherd cannot be told anything now.
    pub fn keep(&mut self, command: Command) {
        if matches!(command, Command::Input { .. } | Command::InputEnd) {
            self.input.push(command);
        }
    }

    /// What has come of the thread's work, once.
    pub fn done(&mut self) -> Option<Result<(u64, i32), String>> {
        let done = match self.working.as_ref()?.try_recv() {
            Ok(done) => done,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err("there is no thread for it".into()),
        };
        self.working = None;
        Some(done)
    }
}
