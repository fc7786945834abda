//! What the Wireshark dissector says of packets that real programs have sent: tshark in a host of a lab, at the receiver.

mod support;

use std::{path::Path, process::Command};
use support::{
    TestLab, background, eventually,
    mpis::{build, mpis, run_over},
    ok, skip_without_root,
};

/// The dissector of this tree.
fn script() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/wireshark/tasuki.lua");
    format!("lua_script:{}", file.display())
}

#[test]
fn real_runs_are_understood_packet_by_packet() {
    let test = "real_runs_are_understood_packet_by_packet";
    if skip_without_root(test) {
        return;
    }
    if Command::new("tshark").arg("--version").output().is_err() {
        assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "tshark is missing: scripts/setup");
        eprintln!("SKIPPED {test}: no tshark");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let lab = TestLab::up("capture", &["--shape", "full:2"]);
    let mpi = mpis(test).into_iter().next().expect("an MPI");
    let program = build(&mpi, "pingpong.c", folder.path());
    for lanes in ["raw,udp", "udp"] {
        let capture = folder.path().join(format!("{lanes}.pcap"));
        let capture = capture.to_str().expect("UTF-8");
        // Without privileges dropped dumpcap may write where the test reads.
        let mut dump = background(&mut lab.exec("n2", &["dumpcap", "-q", "-P", "-i", "eth1", "-w", capture]));
        eventually("dumpcap captures", || std::fs::metadata(capture).is_ok_and(|file| file.len() >= 24));
        ok(run_over("tasuki", &lab, mpi.name, 2, &program).env("TASUKI_LANES", lanes));
        // Packets reach the file in batches: the goodbyes are the last.
        let text = std::cell::RefCell::new(String::new());
        eventually("the goodbyes are in the file", || {
            let fields = ["frame", "malformed", "bad_checksum", "checksum.good", "lane"];
            let mut tshark = Command::new("tshark");
            tshark.args(["-X", &script(), "-r", capture, "-Y", "tasuki", "-T", "fields"]);
            tshark.args(fields.iter().flat_map(|name| ["-e".into(), format!("tasuki.{name}")]));
            let output = tshark.output().expect("tshark runs");
            *text.borrow_mut() = String::from_utf8(output.stdout).expect("UTF-8");
            text.borrow().contains("0x1b")
        });
        let _ = dump.0.kill();
        let text = text.into_inner();
        let (mut kinds, mut ways) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        for line in text.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let [frames, malformed, bad, good, lane] = columns[..] else { panic!("{line}") };
            assert_eq!((malformed, bad, good), ("", "", "1"), "{line}");
            kinds.extend(frames.split(',').map(str::to_owned));
            ways.insert(lane.to_owned());
        }
        // A greeting, acknowledgements, eager messages, requests with their data and grants, the end.
        for kind in ["0x02", "0x10", "0x11", "0x12", "0x13", "0x14", "0x1b"] {
            assert!(kinds.contains(kind), "no frame {kind} among {kinds:?} over {lanes}");
        }
        assert!(kinds.contains("0x03") || kinds.contains("0x04"), "no greeting among {kinds:?}");
        let expected = if lanes == "udp" { &["1"][..] } else { &["0", "1"] };
        assert!(ways.iter().eq(expected), "{ways:?} over {lanes}");
    }
}
