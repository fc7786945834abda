//! Running tshark on packets.

use std::path::{Path as File, PathBuf};
use std::process::Command;

/// How a packet travels in the capture.
#[derive(Clone, Copy)]
pub enum Encapsulation {
    Udp,
    Raw(u16),
}

/// EtherType of packets.
pub const PACKET: u16 = 0x88b5;
/// EtherType of cable probes.
pub const CABLE: u16 = 0x88b6;

/// What tshark shows: `name=value` of Tasuki's own fields, packet by packet. `None`, with a note, if there is
/// no tshark.
pub fn shown(test: &str, packets: &[(Encapsulation, Vec<u8>)]) -> Option<Vec<Vec<String>>> {
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
    for (encapsulation, packet) in packets {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        match encapsulation {
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
