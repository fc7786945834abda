//! Deferred acknowledgements: a packet with a message often brings an acknowledgement too, and the program
//! waits for the message alone, so the acknowledgement is processed after the message has been delivered.

use tasuki_wire::{Ack, Path as PathId, Run, Runs};

use crate::conn::{Conn, Context};
use crate::time::Time;
use crate::upcalls::Upcalls;

/// An acknowledgement that has arrived and is still to be processed.
#[derive(Clone, Copy)]
pub(crate) struct DeferredAck {
    path: PathId,
    delay_us: u64,
    run: Run,
    heard: Time,
}

impl DeferredAck {
    /// `None`: it has more than one run, and must be processed at once.
    pub fn new(ack: &Ack<'_>, heard: Time) -> Option<DeferredAck> {
        let run = ack.runs.only()?;
        Some(DeferredAck { path: ack.path, delay_us: ack.delay_us, run, heard })
    }
}

impl Conn {
    /// Processes the deferred acknowledgement, with the time at which it arrived.
    pub fn take_deferred_ack(&mut self, cx: &mut Context<'_>, upcalls: &mut impl Upcalls) {
        let Some(deferred) = self.deferred_ack.take() else { return };
        let runs = [deferred.run];
        let ack = Ack { path: deferred.path, delay_us: deferred.delay_us, runs: Runs::new(&runs) };
        let now = std::mem::replace(&mut cx.now, deferred.heard);
        self.on_ack(&ack, cx, upcalls);
        cx.now = now;
    }
}
