//! Sends and receives of one buffer with a tag, each of which completes.

use tasuki_engine::{Buffer, Endpoint, Peer, RecvArgs, Report, SendArgs};

const TAG: Option<u64> = Some(5);

fn buffer(bytes: &mut [u8]) -> [Buffer; 1] {
    [Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() }]
}

/// Posts a receive.
///
/// # Safety
/// The bytes outlive the receive, and nobody else uses them.
pub unsafe fn recv(endpoint: &Endpoint, source: Peer, into: &mut [u8]) {
    let (buffers, source, report) = (buffer(into), Some(source), Report::Completion);
    let recv = RecvArgs { source, tag: TAG, ignore: 0, buffers: &buffers, multi: None, report, context: 1 };
    // SAFETY: as the caller promises.
    unsafe { endpoint.recv(&recv) }.expect("a receive");
}

/// Posts a send.
///
/// # Safety
/// The bytes outlive the send, and nobody writes to them.
pub unsafe fn send(endpoint: &Endpoint, peer: Peer, from: &mut [u8]) {
    // SAFETY: as the caller promises.
    unsafe { send_more(endpoint, peer, from, false) }
}

/// Posts a send, of which the program says whether another one follows at once.
///
/// # Safety
/// As [`send`].
pub unsafe fn send_more(endpoint: &Endpoint, peer: Peer, from: &mut [u8], more: bool) {
    let buffers = buffer(from);
    let send = SendArgs {
        peer,
        tag: TAG,
        data: None,
        buffers: &buffers,
        inject: false,
        report: Report::Completion,
        delivery: false,
        more,
        context: 2,
    };
    // SAFETY: as the caller promises.
    unsafe { endpoint.send(&send) }.expect("a send");
}
