//! Reads the packets that pass, for the report: what was sent again, and how. It checks nothing.

use std::collections::BTreeMap;
use std::fmt::Write;

use tasuki_proto::ConnId;
use tasuki_wire::{Control, Frame, Packet};

use tasuki_testkit::Coverage;

/// For each sender and connection, the positions that were sent and their lengths.
#[derive(Default)]
pub(crate) struct Seen {
    sent: BTreeMap<(usize, ConnId), BTreeMap<u64, u64>>,
    /// Packets are not read.
    pub off: bool,
}

impl Seen {
    /// Takes note of a packet that a node sends.
    pub fn packet(&mut self, node: usize, conn: ConnId, packet: &[u8], coverage: &mut Coverage) {
        if self.off {
            return;
        }
        let Ok(packet) = Packet::parse(packet) else {
            coverage.add("a packet that nobody can read was sent", 1);
            return;
        };
        let sent = self.sent.entry((node, conn)).or_default();
        let mut greeted = false;
        for frame in packet.frames() {
            let what = match &frame {
                Frame::Hello(_) => "hello",
                Frame::Welcome(_) => "welcome",
                Frame::Refuse { .. } => "refuse",
                Frame::Rails(_) => "rails frame",
                Frame::Probe { .. } => "probe",
                Frame::ProbeReply { .. } => "probe reply",
                Frame::Ping => "ping",
                Frame::Ack(ack) if ack.runs.iter().count() > 1 => "ack with gaps",
                Frame::Ack(_) => "ack",
                Frame::Padding(_) => "padding",
                Frame::Start(_) | Frame::Data(_) | Frame::Control { .. } => "",
            };
            if !what.is_empty() {
                coverage.add(what, 1);
            }
            greeted |= matches!(frame, Frame::Hello(_));
            let Some((position, len)) = frame.positions() else { continue };
            if greeted {
                coverage.add("message in the packet of the hello", 1);
            }
            match sent.insert(position, len) {
                None if matches!(frame, Frame::Data(_)) && again(sent, position, len) => {
                    coverage.add("data cut anew", 1);
                }
                None => {}
                Some(before) if before != len => coverage.add("data cut anew", 1),
                Some(_) => coverage.add(resent(&frame), 1),
            }
        }
    }
}

/// Whether some of these positions were sent before.
fn again(sent: &BTreeMap<u64, u64>, position: u64, len: u64) -> bool {
    let before = sent.range(..position).next_back();
    before.is_some_and(|(from, len)| from + len > position)
        || sent.range(position + 1..position.saturating_add(len)).next().is_some()
}

fn resent(frame: &Frame<'_>) -> &'static str {
    match frame {
        Frame::Start(_) => "start sent again",
        Frame::Data(_) => "data sent again",
        Frame::Control { control: Control::Bye { .. }, .. } => "bye sent again",
        _ => "control sent again",
    }
}

/// A packet as text.
pub(crate) fn text(packet: &[u8]) -> String {
    let parsed = match Packet::parse(packet) {
        Ok(parsed) => parsed,
        Err(reason) => return format!("{} bytes: {reason}", packet.len()),
    };
    let mut text = format!("#{} {} bytes:", parsed.header().number, packet.len());
    for frame in parsed.frames() {
        let _ = match frame {
            Frame::Padding(bytes) => write!(text, " padding({bytes})"),
            Frame::Ping => write!(text, " ping"),
            Frame::Ack(ack) => {
                let runs: Vec<String> =
                    ack.runs.iter().map(|run| format!("{}-{}", run.first, run.last)).collect();
                write!(text, " ack({:?} {})", ack.path, runs.join(" "))
            }
            Frame::Hello(greeting) => write!(text, " hello(change {})", greeting.rails.change),
            Frame::Welcome(greeting) => write!(text, " welcome(change {})", greeting.rails.change),
            Frame::Refuse { reason, .. } => write!(text, " refuse({reason:?})"),
            Frame::Rails(rails) => write!(text, " rails(change {})", rails.change),
            Frame::Probe { nonce } => write!(text, " probe({nonce:x})"),
            Frame::ProbeReply { nonce, path, length } => {
                write!(text, " reply({nonce:x} {path:?} {length})")
            }
            Frame::Start(start) => {
                write!(text, " start(@{} seq {} +{})", start.position, start.seq, start.payload.len())
            }
            Frame::Data(data) => {
                let len = data.payload.len();
                write!(text, " data(@{} seq {} {}+{len})", data.position, data.seq, data.offset)
            }
            Frame::Control { position, control } => write!(text, " {control:?}@{position}"),
        };
    }
    text
}
