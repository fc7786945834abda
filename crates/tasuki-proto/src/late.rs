//! Acknowledgements that are put off: a packet with a message often brings one, and the program waits for the message alone.

use tasuki_wire::{Ack, DropReason, Path as PathId, Run, Runs};

use crate::conn::{Conn, Context};
use crate::proto::Proto;
use crate::time::Time;
use crate::upcalls::Upcalls;

/// What was acknowledged, and when that was heard.
#[derive(Clone, Copy)]
pub(crate) struct LateAck {
    path: PathId,
    delay_us: u64,
    run: Run,
    heard: Time,
}

impl LateAck {
    /// `None`: it says more than can be put off.
    pub fn new(ack: &Ack<'_>, heard: Time) -> Option<LateAck> {
        let run = ack.runs.only()?;
        Some(LateAck { path: ack.path, delay_us: ack.delay_us, run, heard })
    }
}

impl Proto {
    /// As [`Proto::handle_packet`], but if the packet brings a message, what it acknowledges may be put off until [`Proto::catch_up`] or anything
    /// else that concerns the connection, save [`Proto::send_now`]. Nothing is lost if the former is never called, but payload is released later,
    /// at the latest after a time-out.
    pub fn handle_message_first(
        &mut self,
        now: Time,
        datagram: &[u8],
        upcalls: &mut impl Upcalls,
    ) -> Result<(), DropReason> {
        self.handle(now, datagram, upcalls, true)
    }

    /// [`Proto::poll_transmit`] will do what was put off; whether anything was.
    pub fn catch_up(&mut self) -> bool {
        let any = !self.put_off.is_empty();
        while let Some(id) = self.put_off.pop() {
            let Some(conn) = self.table.get_mut(id) else { continue };
            conn.listed = false;
            if conn.late.is_some() {
                Self::enqueue(&mut self.ready, conn);
            }
        }
        any
    }
}

impl Conn {
    /// Takes the acknowledgement that was put off, as of when it came.
    pub fn take_late(&mut self, cx: &mut Context<'_>, upcalls: &mut impl Upcalls) {
        let Some(late) = self.late.take() else { return };
        let runs = [late.run];
        let ack = Ack { path: late.path, delay_us: late.delay_us, runs: Runs::new(&runs) };
        let now = std::mem::replace(&mut cx.now, late.heard);
        self.on_ack(&ack, cx, upcalls);
        cx.now = now;
    }
}
