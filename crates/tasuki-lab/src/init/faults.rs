//! The eBPF program on the wires, and its tables.

use super::outcome::{Outcome, while_doing};
use aya::{Ebpf, EbpfLoader, maps::HashMap, programs::SchedClassifier};
use std::os::fd::{AsFd, BorrowedFd};

/// The program, compiled from `bpf/wire.bpf.c` by the build script.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/wire.bpf.o"));

/// Name of the classifier in the object.
pub const PROGRAM: &str = "wire";

/// What a wire port does with frames that come in: `struct port` of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortRule {
    /// Interface index of the port at the cable's other end.
    pub redirect: u32,
    /// Whether no frame passes.
    pub cut: bool,
    /// Seed of the port's random numbers.
    pub seed: u32,
    /// Likelihood that a frame is lost, 0..=1.
    pub loss: f64,
    /// Likelihood that a frame is delivered twice, 0..=1.
    pub duplicate: f64,
    /// Likelihood that a byte of a frame is changed, 0..=1.
    pub corrupt: f64,
}

impl PortRule {
    /// The rule as 32-bit words for the program. `first` is the number of the first frame to which it
    /// applies.
    fn words(&self, first: u64) -> [u32; 7] {
        // Rust's conversion saturates, so 1.0 becomes 2^32 - 1, which is all but one frame in four billion.
        let likelihood = |p: f64| (p.clamp(0.0, 1.0) * 2f64.powi(32)) as u32;
        // A loss of 1 is treated as a cut, so that no frame is spared by chance.
        let cut = self.cut || self.loss >= 1.0;
        [
            self.redirect,
            u32::from(cut),
            self.seed,
            likelihood(self.loss),
            likelihood(self.duplicate),
            likelihood(self.corrupt),
            // The program counts frames modulo 2^32 here.
            first as u32,
        ]
    }
}

/// Frames counted at a wire port; `struct counters` of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortCounters {
    /// Frames that came in.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames that a fault has dropped.
    pub dropped: u64,
    /// Frames that a fault has doubled.
    pub duplicated: u64,
    /// Frames that a fault has changed.
    pub corrupted: u64,
}

/// The loaded program of the wires.
pub struct WireProgram {
    ebpf: Ebpf,
}

impl WireProgram {
    /// Loads the program with room for `ports` wire ports.
    pub fn load(ports: usize) -> Outcome<Self> {
        let entries = u32::try_from(ports.max(1)).map_err(while_doing("count wire ports"))?;
        let mut ebpf = EbpfLoader::new()
            .map_max_entries("ports", entries)
            .map_max_entries("counts", entries)
            .load(OBJECT)
            .map_err(while_doing("load the wire program (is eBPF allowed here?)"))?;
        let program = ebpf.program_mut(PROGRAM).ok_or("the wire program has no classifier")?;
        let program: &mut SchedClassifier =
            program.try_into().map_err(while_doing("load the wire program"))?;
        program.load().map_err(while_doing("load the wire program"))?;
        Ok(Self { ebpf })
    }

    /// The program's descriptor, for attaching.
    pub fn descriptor(&self) -> Outcome<BorrowedFd<'_>> {
        let program = self.ebpf.program(PROGRAM).ok_or("the wire program has no classifier")?;
        Ok(program.fd().map_err(while_doing("use the wire program"))?.as_fd())
    }

    /// Sets the rule of a port. The port's counters start at zero with its first rule; its random numbers
    /// start again with every rule.
    pub fn set(&mut self, port: u32, rule: &PortRule) -> Outcome<()> {
        let fail = || while_doing::<aya::maps::MapError>("write a wire's rule");
        let table = self.ebpf.map_mut("counts").ok_or("the wire program has no table counts")?;
        let mut counts: HashMap<_, u32, [u64; 5]> = table.try_into().map_err(fail())?;
        let first = match counts.get(&port, 0) {
            Ok([frames, ..]) => frames,
            Err(_) => counts.insert(port, [0; 5], 0).map(|()| 0).map_err(fail())?,
        };
        let table = self.ebpf.map_mut("ports").ok_or("the wire program has no table ports")?;
        let mut ports: HashMap<_, u32, [u32; 7]> = table.try_into().map_err(fail())?;
        ports.insert(port, rule.words(first), 0).map_err(fail())
    }

    /// Reads a port's counters.
    pub fn counters(&self, port: u32) -> Outcome<PortCounters> {
        let fail = || while_doing::<aya::maps::MapError>("read a wire's counters");
        let table = self.ebpf.map("counts").ok_or("the wire program has no table counts")?;
        let counts: HashMap<_, u32, [u64; 5]> = table.try_into().map_err(fail())?;
        let [frames, bytes, dropped, duplicated, corrupted] = counts.get(&port, 0).map_err(fail())?;
        Ok(PortCounters { frames, bytes, dropped, duplicated, corrupted })
    }
}
