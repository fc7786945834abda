//! Rates of flows by SimGrid.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tasuki_topo::{ChannelId, Network};

pub struct SimGrid {
    work: PathBuf,
    libraries: PathBuf,
}

impl Drop for SimGrid {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.work);
    }
}

impl SimGrid {
    /// Builds the program that asks SimGrid.
    pub fn find(test: &str) -> Option<Self> {
        let folder = super::folder("simgrid", test, true)?;
        let libraries = folder.join("usr/lib/x86_64-linux-gnu");
        let work = std::env::temp_dir().join(format!("tasuki-simgrid-{}", std::process::id()));
        fs::create_dir_all(&work).expect("a folder");
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/common/oracle/simgrid.cpp");
        let built = Command::new("g++")
            .args(["-std=c++17", "-O1", "-o"])
            .arg(work.join("rates"))
            .arg(source)
            .arg("-I")
            .arg(folder.join("usr/include"))
            .arg("-L")
            .arg(&libraries)
            .arg("-lsimgrid")
            .arg(format!("-Wl,-rpath-link,{}", libraries.display()))
            .output()
            .expect("g++ starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(Self { work, libraries })
    }

    /// Rates of flows over paths, all at once, bit/s.
    pub fn rates_bps(&self, net: &Network, paths: &[Vec<ChannelId>]) -> Vec<f64> {
        let mut text = String::new();
        for channel in (0..net.channels() as u32).map(ChannelId) {
            let _ = writeln!(text, "l {}", net.rate_bps(channel) as f64 / 8.0);
        }
        for path in paths {
            let numbers: Vec<String> = path.iter().map(|channel| channel.0.to_string()).collect();
            let _ = writeln!(text, "f {} {}", path.len(), numbers.join(" "));
        }
        let input = self.work.join("flows");
        fs::write(&input, text).expect("the flows are written");
        let output = Command::new(self.work.join("rates"))
            .arg(&input)
            .env("LD_LIBRARY_PATH", &self.libraries)
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().map(|line| line.parse::<f64>().expect("a rate") * 8.0).collect()
    }
}
