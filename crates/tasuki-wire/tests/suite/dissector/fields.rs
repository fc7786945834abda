//! The fields that the dissector must show.

use std::fmt::Write as _;

use tasuki_wire::{Control, Frame, Greeting, HEADER_LEN, Header, Mark, Path, Rails, RefuseReason};

use crate::independent::crc32c;

/// The fields that a packet must be shown with.
#[derive(Default)]
pub struct Fields(pub Vec<String>);

impl Fields {
    fn dec(&mut self, name: &str, value: impl Into<u64>) -> &mut Self {
        self.0.push(format!("tasuki.{name}={}", value.into()));
        self
    }

    fn hex(&mut self, name: &str, value: u64) -> &mut Self {
        self.0.push(format!("tasuki.{name}=0x{value:016x}"));
        self
    }

    fn text(&mut self, name: &str, value: impl std::fmt::Display) -> &mut Self {
        self.0.push(format!("tasuki.{name}={value}"));
        self
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) -> &mut Self {
        self.text(name, colons(bytes))
    }

    fn kind(&mut self, kind: u8) -> &mut Self {
        self.text("frame", format!("0x{kind:02x}"))
    }

    fn path(&mut self, prefix: &str, path: Path) -> &mut Self {
        self.dec(&format!("{prefix}rail"), path.rail).dec(&format!("{prefix}lane"), path.lane as u8)
    }

    pub fn packet(&mut self, header: &Header, packet: &[u8], frames: &[Frame<'_>]) {
        let sum = crc32c(packet[..28].iter().chain(&packet[HEADER_LEN..]).copied());
        self.dec("version", 1u8).dec("keyed", 0u8).path("", header.path);
        self.dec("length", packet.len() as u64).dec("number", header.number);
        self.dec("endpoint", header.endpoint).dec("peer", header.peer).hex("token", header.token);
        self.text("checksum", format!("0x{sum:08x}")).dec("checksum.good", 1u8);
        frames.iter().for_each(|frame| self.frame(frame));
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        match frame {
            Frame::Padding(count) => drop(self.kind(0).dec("padding", *count as u64)),
            Frame::Ping => drop(self.kind(1)),
            Frame::Ack(ack) => {
                self.kind(2).path("ack.", ack.path).dec("ack.delay", ack.delay_us);
                for run in ack.runs.iter() {
                    self.dec("ack.last", run.last).dec("ack.first", run.first);
                }
            }
            Frame::Hello(greeting) => self.kind(3).greeting(greeting),
            Frame::Welcome(greeting) => self.kind(4).greeting(greeting),
            Frame::Refuse { incarnation, reason } => {
                let reason = match reason {
                    RefuseReason::NoRoom => 1u8,
                    RefuseReason::Leaving => 2,
                    RefuseReason::GivenUp => 3,
                };
                self.kind(5).hex("refuse.incarnation", *incarnation).dec("refuse.reason", reason);
            }
            Frame::Rails(rails) => self.kind(6).rails(rails),
            Frame::Probe { nonce } => drop(self.kind(7).hex("probe.nonce", *nonce)),
            Frame::ProbeReply { nonce, path, length } => {
                self.kind(8).hex("probe.nonce", *nonce).path("probe.", *path).dec("probe.length", *length);
            }
            Frame::Start(start) => self.start(start),
            Frame::Data(data) => {
                self.kind(0x12)
                    .dec("position", data.position)
                    .dec("seq", data.seq)
                    .dec("offset", data.offset);
                self.dec("early", data.early).dec("bytes", data.payload.len() as u64);
                self.bytes("payload", data.payload);
            }
            Frame::Control { position, control } => self.control(*position, control),
        }
    }

    fn greeting(&mut self, greeting: &Greeting<'_>) {
        self.hex("greeting.addressee", greeting.addressee).hex("greeting.proof", greeting.proof);
        self.hex("greeting.incarnation", greeting.incarnation).dec("greeting.endpoint", greeting.endpoint);
        self.dec("greeting.name", greeting.name).bytes("greeting.secret", &greeting.secret.0);
        self.text("greeting.identity", greeting.identity).dec("greeting.port", greeting.port);
        self.dec("greeting.ack_delay", greeting.ack_delay_us).rails(&greeting.rails);
    }

    fn rails(&mut self, rails: &Rails<'_>) {
        self.dec("rails.change", rails.change).dec("rails.count", rails.list.iter().count() as u64);
        for rail in rails.list.iter() {
            let lanes = [0, 1, 2].into_iter().filter(|bit| {
                let lane = [tasuki_wire::Lane::Raw, tasuki_wire::Lane::Udp, tasuki_wire::Lane::Xdp][*bit];
                rail.lanes.contains(lane)
            });
            let lanes = lanes.fold(0, |all, bit| all | 1 << bit);
            self.dec("rails.rail", rail.rail).text("rails.lanes", format!("0x{lanes:02x}"));
            self.dec("rails.mtu", rail.mtu)
                .dec("rails.rate", rail.rate_mbps)
                .text("rails.address", rail.address);
            self.dec("rails.port", rail.port).bytes("rails.mac", &rail.mac);
        }
    }

    fn start(&mut self, start: &tasuki_wire::Start<'_>) {
        let inline = start.payload.len() as u64;
        let eager = (start.early, inline) == (start.len, start.len);
        self.kind(if eager { 0x10 } else { 0x11 });
        let flags = [
            ("tagged", start.tag.is_some()),
            ("has_data", start.data.is_some()),
            ("has_key", start.remote_key.is_some()),
            ("charged", start.charged),
            ("ack", start.ack),
            ("internal", start.internal),
        ];
        for (name, set) in flags {
            self.dec(&format!("start.{name}"), set);
        }
        self.dec("position", start.position).dec("seq", start.seq);
        for (name, value) in [("tag", start.tag), ("data", start.data), ("key", start.remote_key)] {
            if let Some(value) = value {
                self.hex(name, value);
            }
        }
        self.dec("len", start.len);
        if !eager {
            self.dec("early", start.early).dec("inline", inline);
        }
        if inline > 0 {
            self.bytes("payload", start.payload);
        }
    }

    fn control(&mut self, position: u64, control: &Control) {
        let mark = |fields: &mut Self, mark: &Mark| {
            fields.dec("sent.frames", mark.frames).dec("sent.bytes", mark.bytes);
        };
        let kind = match control {
            Control::Grant { .. } => 0x13,
            Control::Done { .. } => 0x14,
            Control::Credit { .. } => 0x15,
            Control::Recall { .. } => 0x16,
            Control::Return { .. } => 0x17,
            Control::Quiesce { .. } => 0x18,
            Control::Quiesced { .. } => 0x19,
            Control::Resume { .. } => 0x1a,
            Control::Bye { .. } => 0x1b,
        };
        self.kind(kind).dec("position", position);
        match control {
            Control::Grant { seq, upto } => drop(self.dec("seq", *seq).dec("upto", *upto)),
            Control::Done { seq } => drop(self.dec("seq", *seq)),
            Control::Credit { total } | Control::Return { total } => drop(self.dec("total", *total)),
            Control::Recall { keep } => drop(self.dec("keep", *keep)),
            Control::Quiesce { epoch, mark: said } | Control::Quiesced { epoch, mark: said } => {
                self.dec("epoch", *epoch);
                mark(self, said);
            }
            Control::Resume { epoch } => drop(self.dec("epoch", *epoch)),
            Control::Bye { mark: said } => mark(self, said),
        }
    }
}

pub fn colons(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        let colon = if at == 0 { "" } else { ":" };
        write!(text, "{colon}{byte:02x}").unwrap();
    }
    text
}
