//! NCCL's plug-in between hosts: all connections that NCCL may ask for, over cablings in which not every host
//! has a cable to every other, with cables that are cut, and a rank that is killed.

use crate::support::{Background, TestLab, background, ok, seed, skip_without_root, tasuki};
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// The plug-in, as `tasuki env --for nccl` names it.
fn library() -> PathBuf {
    let settings = ok(tasuki().args(["env", "--for", "nccl", "--json"]));
    let settings: Vec<serde_json::Value> = serde_json::from_str(&settings).expect("JSON");
    let value = |name: &str| {
        let setting = settings.iter().find(|setting| setting["name"] == name).expect("the setting");
        setting["value"].as_str().expect("text").to_owned()
    };
    assert_eq!((value("NCCL_NET_PLUGIN"), value("NCCL_NET")), ("tasuki".into(), "Tasuki".into()));
    Path::new(&value("LD_LIBRARY_PATH")).join("libnccl-net-tasuki.so")
}

/// The program that drives the plug-in as NCCL does, a rank on each host of a lab.
struct Drive {
    folder: TempDir,
    library: PathBuf,
    seed: u64,
}

impl Drive {
    fn build(test: &str) -> Drive {
        let folder = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasuki-nccl/tests/c/drive.c");
        let program = folder.path().join("drive");
        ok(Command::new("cc").args(["-std=gnu11", "-O2"]).arg(source).arg("-o").arg(program).arg("-ldl"));
        Drive { folder, library: library(), seed: seed(test) }
    }

    fn start(&self, lab: &TestLab, version: u32, ranks: usize, rounds: u32, most: usize) -> Vec<Background> {
        let handles = self.folder.path().join(&lab.name);
        fs::create_dir(&handles).expect("a folder");
        let start = |rank: usize| {
            let program = self.folder.path().join("drive");
            let numbers = [version.to_string(), rank.to_string(), ranks.to_string()];
            let sizes = [rounds.to_string(), most.to_string(), self.seed.to_string()];
            let mut words = vec![program.display().to_string(), self.library.display().to_string()];
            words.extend(numbers);
            words.push(handles.display().to_string());
            words.extend(sizes);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            background(&mut lab.exec(&format!("n{}", rank + 1), &words))
        };
        (0..ranks).map(start).collect()
    }
}

/// Exit code and output of each rank.
fn end(ranks: Vec<Background>) -> Vec<(Option<i32>, String)> {
    let outcome = |mut rank: Background| {
        let mut said = String::new();
        for stream in [
            rank.0.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read>),
            rank.0.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read>),
        ] {
            stream.expect("a pipe").read_to_string(&mut said).expect("text");
        }
        (rank.0.wait().expect("ends").code(), said)
    };
    ranks.into_iter().map(outcome).collect()
}

/// Waits for what a rank says once it is connected with all others, and reads nothing of what it says then.
fn until_connected(rank: &mut Background) {
    let pipe = rank.0.stdout.as_mut().expect("a pipe");
    let (mut line, mut byte) = (Vec::new(), [0]);
    while byte != *b"\n" {
        line.extend(byte);
        pipe.read_exact(&mut byte).expect("a line");
    }
    assert!(line.ends_with(b": connected"), "{:?}", String::from_utf8_lossy(&line));
}

#[test]
fn every_byte_arrives_over_every_cabling() {
    let test = "every_byte_arrives_over_every_cabling";
    if skip_without_root(test) {
        return;
    }
    let drive = Drive::build(test);
    // The rate that NCCL is told is that of all NICs of a host; each cable of these labs has 1 Gbit/s.
    for (shape, version, ranks, speed) in
        [("ring:3", 8, 3, 2000), ("ring:4", 12, 4, 2000), ("torus:2x3", 11, 6, 3000), ("pair:2", 10, 2, 2000)]
    {
        let lab = TestLab::up("nccl", &["--shape", shape]);
        for (code, said) in end(drive.start(&lab, version, ranks, 120, 1 << 20)) {
            let good = said.contains(&format!(": speed {speed} messages ")) && said.contains(" wrong 0 ");
            assert!(code == Some(0) && good, "{shape}, version {version}: {code:?}\n{said}");
        }
    }
}

#[test]
fn a_cut_cable_costs_no_message() {
    let test = "a_cut_cable_costs_no_message";
    if skip_without_root(test) {
        return;
    }
    let drive = Drive::build(test);
    let lab = TestLab::up("ncclcut", &["--shape", "pair:2"]);
    let mut ranks = drive.start(&lab, 12, 2, 5000, 1 << 19);
    until_connected(&mut ranks[0]);
    for cable in ["n1:eth1", "n1:eth2"] {
        lab.fault("cut", &[cable]);
        lab.fault("heal", &["all"]);
    }
    lab.fault("cut", &["n1:eth1"]);
    for (code, said) in end(ranks) {
        assert!(code == Some(0) && said.contains(" wrong 0 "), "{code:?}\n{said}");
    }
}

#[test]
fn a_rank_that_dies_is_an_error_on_every_host() {
    let test = "a_rank_that_dies_is_an_error_on_every_host";
    if skip_without_root(test) {
        return;
    }
    let drive = Drive::build(test);
    let lab = TestLab::up("nccldead", &["--shape", "ring:3"]);
    let mut ranks = drive.start(&lab, 12, 3, u32::MAX / 2, 1 << 18);
    until_connected(&mut ranks[1]);
    lab.sh("n2", "pkill -KILL -x drive");
    let ended = end(ranks);
    for rank in [0, 2] {
        let (code, said) = &ended[rank];
        assert!(*code == Some(3) && said.contains("error 6 in"), "rank {rank}: {code:?}\n{said}");
    }
}
