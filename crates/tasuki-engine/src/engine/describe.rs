//! The state of an endpoint in words, for a user whose program does not go on.

use std::fmt::Write;

use super::Engine;
use crate::peers::{PeerRecord, Route};

/// Operations, peers and carriers.
pub(crate) fn describe(engine: &Engine) -> String {
    let mut text = String::new();
    let (sends, recvs, copied) = engine.messages.census();
    let (waiting, activity) = (engine.messages.completions().len(), &engine.activity);
    // Writing into a string cannot fail.
    let _ = writeln!(text, "tasuki endpoint {} (pid {})", engine.address, std::process::id());
    let _ = writeln!(
        text,
        "  sends {sends}, receives {recvs}, completions waiting {waiting}, copies {copied} B, \
         helper rounds {}, program rounds {}",
        activity.helper, activity.program
    );
    let _ = writeln!(text, "  {:?}", engine.messages.layer().status());
    let (stalled, drops) = (engine.shm.stalled(), engine.net.proto().drops());
    let _ = writeln!(text, "  stalled rings {stalled:?}, drops {drops:?}");
    let _ = writeln!(text, "  dual copies {:?}", engine.shm.dual_copy_counters());
    for (peer, record) in engine.peers.iter().filter(|(_, record)| record.is_acquainted()) {
        let _ = writeln!(text, "  peer {} {}: {}", peer.0, record.address, route(engine, record));
        let _ = writeln!(text, "    {:?}", engine.messages.layer().peer_status(record.id));
        let _ = writeln!(text, "    {:?}", engine.messages.layer().counters(record.id));
        if let Some(conn) = record.conn {
            let _ = writeln!(text, "    {}", engine.net.proto().describe(conn).replace('\n', "\n    "));
        }
    }
    text
}

fn route(engine: &Engine, record: &PeerRecord) -> String {
    match record.route {
        Route::Unknown => "no route yet".to_owned(),
        Route::Loopback => "itself".to_owned(),
        Route::Shm => {
            let peer = record.id.into();
            let readable = engine.shm.outbound(peer).is_some_and(|outbound| outbound.cma.is_some());
            let reads = if readable { "reads its memory" } else { "cannot read its memory" };
            let waits = if engine.shm.has_unsent(peer) { "a frame waits for room" } else { "no frame waits" };
            format!("shared memory, {reads}, {waits}")
        }
        Route::Net(_) => "packets".to_owned(),
        Route::Gone => format!("gone ({})", record.failure.as_deref().unwrap_or("parted")),
    }
}
