//! The Wireshark dissector (`packaging/wireshark/tasuki.lua`) against this crate: tshark must show what was
//! put into packets, and call those malformed that receivers drop.

use std::fmt::Write as _;
use std::path::{Path as File, PathBuf};
use std::process::Command;

use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use tasuki_wire::{
    CableKind, CableNic, CableProbe, Control, DropReason, Frame, Greeting, HEADER_LEN, Header, Mark, Packet,
    PacketBuilder, Path, Rails, RefuseReason,
};

use crate::independent::crc32c;
use crate::strategies::{Owned, frame, header, hello};

/// How a packet travels in the capture.
#[derive(Clone, Copy)]
enum Encapsulation {
    Udp,
    Raw(u16),
}

const PACKET: u16 = 0x88b5;
const CABLE: u16 = 0x88b6;

/// What tshark shows: `name=value` of Tasuki's own fields, packet by packet. `None`, with a note, if there is
/// no tshark.
fn shown(test: &str, packets: &[(Encapsulation, Vec<u8>)]) -> Option<Vec<Vec<String>>> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("dissector-{test}"));
    std::fs::create_dir_all(&folder).unwrap();
    let capture = folder.join("packets.pcap");
    std::fs::write(&capture, pcap(packets)).unwrap();
    let text = tshark(&capture)?;
    assert!(!text.contains("Lua Error"), "{text}");
    let shown: Vec<Vec<String>> = text.split("<packet>").skip(1).map(own_fields).collect();
    assert_eq!(shown.len(), packets.len());
    Some(shown)
}

fn tshark(capture: &File) -> Option<String> {
    let script = File::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/wireshark/tasuki.lua");
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{}", script.display())).arg("-r").arg(capture);
    // The heuristic dissector is enabled because ports are random; no other dissector may claim the packets.
    let output = command.args(["-T", "pdml", "--enable-heuristic", "tasuki_udp"]).output();
    match output {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !errors.contains("Lua"), "tshark: {errors}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "tshark: {error}; run scripts/setup");
            eprintln!("skipped: tshark: {error}");
            None
        }
    }
}

/// Tasuki's own fields of one packet in PDML.
fn own_fields(text: &str) -> Vec<String> {
    let attribute = |line: &str, name: &str| {
        let rest = line.split_once(&format!(" {name}=\""))?.1;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let fields = text.lines().map(str::trim_start).filter(|line| line.starts_with("<field name=\"tasuki"));
    fields
        .filter_map(|line| Some(format!("{}={}", attribute(line, "name")?, attribute(line, "show")?)))
        .collect()
}

/// A capture file of Ethernet frames (libpcap's format, draft-ietf-opsawg-pcap).
fn pcap(packets: &[(Encapsulation, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 262_144, 1] {
        file.extend(word.to_le_bytes());
    }
    for (way, packet) in packets {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        match way {
            Encapsulation::Raw(kind) => frame.extend(kind.to_be_bytes()),
            Encapsulation::Udp => {
                let length = packet.len() as u16 + 8;
                frame.extend([0x08, 0x00, 0x45, 0]);
                frame.extend((length + 20).to_be_bytes());
                frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
                frame.extend([0xc3, 0x50, 0xc3, 0x51]);
                frame.extend(length.to_be_bytes());
                frame.extend([0, 0]);
            }
        }
        frame.extend(packet);
        // A NIC pads frames to this length.
        frame.resize(frame.len().max(60), 0);
        for word in [0, 0, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// The fields that a packet must be shown with.
#[derive(Default)]
struct Fields(Vec<String>);

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

    fn packet(&mut self, header: &Header, packet: &[u8], frames: &[Frame<'_>]) {
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
                let reason = if *reason == RefuseReason::NoRoom { 1u8 } else { 2 };
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
            ("service", start.service),
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

fn colons(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        let colon = if at == 0 { "" } else { ":" };
        write!(text, "{colon}{byte:02x}").unwrap();
    }
    text
}

/// A random packet; every run draws the same ones.
fn draw(runner: &mut TestRunner) -> (Header, Vec<Owned>) {
    let first = hello().new_tree(runner).unwrap().current();
    let (head, frames) = (header(), vec(frame(), 1..6)).new_tree(runner).unwrap().current();
    match head.number % 8 {
        0 => (Header { peer: 0, ..head }, std::iter::once(first).chain(frames).collect()),
        _ => (head, frames),
    }
}

fn build(header: Header, frames: &[Owned], padding: usize) -> Vec<u8> {
    let mut buffer = vec![0; 60_000];
    let mut builder = PacketBuilder::new(&mut buffer, header).unwrap();
    for owned in frames {
        builder.push(&owned.frame()).unwrap();
    }
    let length = builder.len() + padding;
    builder.pad_to(length).unwrap();
    let length = builder.finish().unwrap();
    buffer.truncate(length);
    buffer
}

#[test]
fn every_kind_of_frame_is_shown_with_its_fields() {
    let mut runner = TestRunner::deterministic();
    let (mut packets, mut expected) = (Vec::new(), Vec::new());
    for number in 0..300usize {
        let (mut header, owned) = draw(&mut runner);
        let way = match number % 2 {
            // Over UDP, the dissector takes only those packets for Tasuki's whose header says UDP.
            0 => Encapsulation::Udp,
            _ => Encapsulation::Raw(PACKET),
        };
        if matches!(way, Encapsulation::Udp) {
            header.path.lane = tasuki_wire::Lane::Udp;
        }
        let padding = if number % 5 == 0 { number % 50 } else { 0 };
        let packet = build(header, &owned, padding);
        let mut frames: Vec<Frame<'_>> = owned.iter().map(Owned::frame).collect();
        if padding > 0 {
            frames.push(Frame::Padding(padding));
        }
        let mut fields = Fields::default();
        fields.packet(&header, &packet, &frames);
        packets.push((way, packet));
        expected.push(fields.0);
    }
    let all = expected.concat();
    for kind in (0..=8).chain(0x10..=0x1b) {
        assert!(all.contains(&format!("tasuki.frame=0x{kind:02x}")), "no frame of kind {kind:#x} was drawn");
    }
    let Some(shown) = shown("fields", &packets) else { return };
    for (number, (shown, expected)) in shown.iter().zip(&expected).enumerate() {
        assert_eq!(shown, expected, "packet {number}");
    }
}

/// Bytes are changed at random and checksums corrected: tshark must call malformed what this crate drops, and
/// nothing else.
#[test]
fn what_receivers_drop_is_called_malformed() {
    let mut runner = TestRunner::deterministic();
    let (mut packets, mut reasons) = (Vec::new(), Vec::new());
    let mut random = 7u64;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % bound
    };
    while packets.len() < 1500 {
        let (header, owned) = draw(&mut runner);
        let mut packet = build(header, &owned, 0);
        for _ in 0..=below(3) {
            // Most changes are in the heads of frames, because payload may be anything.
            let at = HEADER_LEN + below((packet.len() - HEADER_LEN).min(40));
            packet[at] = [0, 1, 247, 248, 255, below(256) as u8][below(6)];
        }
        match below(8) {
            0 => packet[4..6].copy_from_slice(&(below(120) as u16).to_le_bytes()),
            1 => packet[below(4)] ^= 1 << below(8),
            2 => packet[16..20].fill(0),
            _ => {}
        }
        let length = usize::from(u16::from_le_bytes([packet[4], packet[5]]));
        if (HEADER_LEN..=packet.len()).contains(&length) && below(10) > 0 {
            let sum = crc32c(packet[..28].iter().chain(&packet[HEADER_LEN..length]).copied());
            packet[28..32].copy_from_slice(&sum.to_le_bytes());
        }
        // The packet as it is on the wire, with padding.
        packet.resize(packet.len().max(46), 0);
        let reason = Packet::parse(&packet).err();
        // No algorithm for tags is defined yet, so tshark only shows where a tag is.
        if reason != Some(DropReason::Tag) {
            packets.push((Encapsulation::Raw(PACKET), packet));
            reasons.push(reason);
        }
    }
    let malformed = reasons.iter().flatten().count();
    assert!((300..1300).contains(&malformed), "{malformed} of {} are malformed", reasons.len());
    let Some(shown) = shown("malformed", &packets) else { return };
    for ((shown, reason), (_, packet)) in shown.iter().zip(&reasons).zip(&packets) {
        let called = shown
            .iter()
            .any(|field| field.starts_with("tasuki.malformed") || field.starts_with("tasuki.bad_checksum"));
        assert_eq!(called, reason.is_some(), "{reason:?}: {shown:#?}\n{}", colons(packet));
    }
}

#[test]
fn cable_probes_are_shown() {
    let probe = CableProbe {
        kind: CableKind::Ping,
        number: 77,
        run: 0x0123_4567_89ab_cdef,
        cluster: 0xdead_beef,
        sender: CableNic { host: 3, nic: 2 },
        host_name: "n3",
        nic_name: "eth1",
        body: b"abc",
    };
    let mut packet = Vec::new();
    probe.emit(&mut packet).unwrap();
    let mut damaged = packet.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let packets = [packet, damaged].map(|packet| (Encapsulation::Raw(CABLE), packet));
    let Some(shown) = shown("cable", &packets) else { return };
    let all = "version=1 kind=2 length=49 number=77 run=0x0123456789abcdef cluster=0xdeadbeef host=3 nic=2 \
               host_name=n3 nic_name=eth1 body=61:62:63 checksum.good=1";
    for field in all.split_whitespace() {
        assert!(shown[0].contains(&format!("tasuki_cable.{field}")), "{field}: {:#?}", shown[0]);
    }
    assert!(shown[1].contains(&"tasuki_cable.checksum.good=0".to_owned()), "{:#?}", shown[1]);
}
