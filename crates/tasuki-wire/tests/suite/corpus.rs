//! The packets in `corpus/`: each file says what a receiver must make of its packet.

use std::path::{Path, PathBuf};

use tasuki_wire::DropReason;

use crate::independent::unhex;
use crate::judged::judge;

/// One file of the corpus.
pub struct Case {
    pub name: String,
    pub expect: String,
    pub bytes: Vec<u8>,
}

pub fn all() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| load(path)).collect()
}

fn load(path: &Path) -> Case {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).expect("a readable file");
    let expect = text.lines().find_map(|line| line.strip_prefix("expect ")).expect("what to expect");
    let hex: String =
        text.lines().filter(|line| !line.starts_with("expect ")).map(|l| format!("{l}\n")).collect();
    Case { name, expect: expect.to_owned(), bytes: unhex(&hex) }
}

#[test]
fn every_packet_is_judged_as_its_file_says() {
    for case in all() {
        let verdict = judge(&case.bytes).map_or_else(|reason| reason.name(), |_| "ok");
        assert_eq!(verdict, case.expect, "{}", case.name);
    }
}

/// The corpus has a packet for every reason that can be seen from a packet alone, and packets that are
/// accepted.
#[test]
fn the_corpus_shows_every_reason() {
    let cases = all();
    let shown = |name: &str| cases.iter().any(|case| case.expect == name);
    assert!(shown("ok"));
    for reason in DropReason::ALL.iter().filter(|reason| **reason <= DropReason::Handshake) {
        assert!(shown(reason.name()), "no packet is dropped for {reason}");
    }
}
