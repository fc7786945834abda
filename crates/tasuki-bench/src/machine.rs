//! The machine on which figures are measured: kernel, processors, user.

use nix::{sys::utsname::uname, unistd::geteuid};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A machine, and the user that measures on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Kernel name and release, e.g. `Linux 6.1.0-18-amd64`.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Number of processors that this process may use.
    pub cores: usize,
    /// `root` or `user`, which decides what the measurement was allowed to do.
    pub user: String,
}

/// The line above tables: `2 x Xeon, Linux 6.1, as root`.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, cpu, cores, user } = self;
        write!(f, "{cores} x {cpu}, {kernel}, as {user}")
    }
}

impl Machine {
    /// This machine and user.
    pub fn here() -> Self {
        let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            kernel: kernel(),
            cpu: cpu_model(&cpus).unwrap_or_else(|| std::env::consts::ARCH.into()),
            cores: std::thread::available_parallelism().map(usize::from).unwrap_or(1),
            user: if geteuid().is_root() { "root" } else { "user" }.into(),
        }
    }
}

fn kernel() -> String {
    let Ok(name) = uname() else { return "unknown".into() };
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

/// The processor model from `/proc/cpuinfo`: x86 has `model name`, RISC-V `uarch`, POWER `cpu`, 64-bit ARM
/// only numbers.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "uarch", "cpu"].iter().find_map(|key| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == *key).then(|| value.split_whitespace().collect::<Vec<_>>().join(" "))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_processor_names() {
        let x86 = "processor\t: 0\nvendor_id\t: X\nmodel name\t: Intel(R)  Core(TM) i5\ncpu MHz\t: 1\n";
        assert_eq!(cpu_model(x86).as_deref(), Some("Intel(R) Core(TM) i5"));
        assert_eq!(cpu_model("cpu\t\t: POWER9, altivec\n").as_deref(), Some("POWER9, altivec"));
        assert_eq!(cpu_model("processor : 0\nBogoMIPS : 50\n"), None);
    }

    #[test]
    fn knows_this_machine() {
        let machine = Machine::here();
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        assert_eq!(machine.kernel, format!("Linux {}", release.trim()));
        assert!(machine.cores >= 1 && !machine.cpu.is_empty());
    }
}
