//! The state in words, for watchdogs.

use std::fmt::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::peer::Way;
use crate::state::State;

// A signal handler can reach nothing but statics. It only counts; the helper threads of all endpoints look.
static ASKED: AtomicU64 = AtomicU64::new(0);
static INSTALLED: Once = Once::new();

thread_local! {
    static ANSWERED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

extern "C" fn on_signal(_: i32) {
    ASKED.fetch_add(1, Ordering::Relaxed);
}

/// From now on SIGUSR2 asks for a dump.
pub(crate) fn listen() {
    INSTALLED.call_once(|| {
        let action = SigAction::new(SigHandler::Handler(on_signal), SaFlags::SA_RESTART, SigSet::empty());
        // SAFETY: the handler does one relaxed addition, which is safe at any moment.
        let _ = unsafe { sigaction(Signal::SIGUSR2, &action) };
    });
}

/// Somebody has asked since this thread last looked.
pub(crate) fn asked() -> bool {
    let asked = ASKED.load(Ordering::Relaxed);
    ANSWERED.replace(asked) != asked
}

impl State {
    /// Operations, peers and carriers.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = writeln!(text, "tasuki endpoint {} (pid {})", self.core.address, std::process::id());
        let _ = writeln!(
            text,
            "  sends {}, receives {}, completions waiting {}, copies {} B, helper rounds {}, program rounds {}",
            self.core.sends.len(),
            self.core.recvs.len(),
            self.core.completions.len(),
            self.core.copied,
            self.helped,
            self.polled
        );
        let _ = writeln!(text, "  {:?}", self.core.msg.status());
        let _ = writeln!(text, "  stalled rings {:?}, drops {:?}", self.stalled, self.proto.drops());
        let _ = writeln!(text, "  copies by both ends {:?}", self.core.dual_copies.counters);
        for (index, state) in self.core.peers.iter().enumerate().filter(|(_, state)| state.is_known()) {
            let way = match &state.way {
                Way::Unknown => "no way yet".to_owned(),
                Way::Own => "itself".to_owned(),
                Way::Shared(shared) => {
                    let reads =
                        if shared.cma.is_some() { "reads its memory" } else { "cannot read its memory" };
                    format!("shared memory, {reads}, waiting {:?}", shared.waiting)
                }
                Way::Packets(_) => "packets".to_owned(),
                Way::Gone => format!("gone ({})", state.reason.as_deref().unwrap_or("parted")),
            };
            let _ = writeln!(text, "  peer {index} {}: {way}", state.address);
            let _ = writeln!(text, "    {:?}", self.core.msg.peer_status(state.id));
            let _ = writeln!(text, "    {:?}", self.core.msg.counters(state.id));
            if let Some(conn) = state.conn {
                let _ = writeln!(text, "    {}", self.proto.describe(conn).replace('\n', "\n    "));
            }
        }
        text
    }
}
