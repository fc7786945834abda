//! What is said of core files.

use crate::collect::Core;
use nix::sys::signal::Signal;
use std::path::Path;
use tasuki_process::quote;

/// How many hosts are named.
const NAMED: usize = 4;

/// Names of hosts, of which not all are named where there are many.
pub(crate) fn hosts(names: &[String]) -> String {
    match names.len() {
        0..=NAMED => names.join(", "),
        all => format!("{} and {} more", names[..NAMED].join(", "), all - NAMED),
    }
}

/// A line that tells of a core file: the rank, the signal that it died of, and how to look at it.
pub(crate) fn line(core: &Core, program: &Path) -> String {
    let Core { host, found, path } = core;
    let rank = found.rank.map_or("a process".into(), |rank| format!("rank {rank}"));
    let process = found.process.map_or(String::new(), |process| format!(" (process {process})"));
    let signal = found.signal.and_then(|signal| Signal::try_from(signal).ok());
    let signal = signal.map_or("a signal", Signal::as_str);
    let own = found.program.as_deref().map(Path::new).filter(|own| own.is_absolute() && own.is_file());
    let (program, file) = (quote(own.unwrap_or(program).as_os_str()), quote(path.as_os_str()));
    let cut = match found.is_cut {
        true => "; it is cut off, by a limit or a full disk",
        false => "",
    };
    let megabytes = found.bytes as f64 / 1e6;
    format!("{rank} on {host}{process} died of {signal}: gdb {program} {file} ({megabytes:.1} MB{cut})")
}
