//! The agent of one host: answers every line of its input with a [`HostSample`].

use crate::{
    processes,
    sample::{HostSample, NicSample, WatchSample},
    system,
};
use std::{
    fmt::Display,
    io::{self, BufRead, Write},
    path::Path,
    time::Instant,
};
use tasuki_sys::{
    negotiated_mbits,
    netlink::{Link, Netlink},
};

/// The hidden subcommand of `tasuki` that runs the agent.
pub const AGENT_COMMAND: &str = "load-agent";

/// Answers lines until the input ends.
///
/// # Errors
/// If input or output fail, or the kernel cannot be asked for interfaces.
pub fn run(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let (began, mut netlink) = (Instant::now(), Netlink::open()?);
    for line in input.lines() {
        line?;
        let mut answer = serde_json::to_vec(&sample(began, &mut netlink))?;
        answer.push(b'\n');
        output.write_all(&answer)?;
        output.flush()?;
    }
    Ok(())
}

/// This host, now.
fn sample(began: Instant, netlink: &mut Netlink) -> HostSample {
    let at_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let (processes, mut problems) = processes::local();
    let links = known("NICs", netlink.links(), &mut problems);
    HostSample {
        at_ns,
        processors: known("processors", system::processors(), &mut problems),
        memory: known("memory", system::memory(), &mut problems),
        celsius: system::hottest(),
        nics: links.iter().filter(|link| is_ethernet(link)).map(nic).collect(),
        processes,
        watch: tasuki_watch::note().map(|note| WatchSample { dead: note.dead, detours: note.detours }),
        problems,
    }
}

/// What was read, or nothing and a problem.
fn known<T: Default>(what: &str, read: Result<T, impl Display>, problems: &mut Vec<String>) -> T {
    read.unwrap_or_else(|error| {
        problems.push(format!("{what}: {error}"));
        T::default()
    })
}

/// Whether an interface sends Ethernet frames of its own: the loopback interface has an address of zeroes,
/// and a dummy reaches nobody.
fn is_ethernet(link: &Link) -> bool {
    link.mac.is_some_and(|mac| mac != [0; 6]) && link.kind.as_deref() != Some("dummy")
}

fn nic(link: &Link) -> NicSample {
    let (counters, folder) = (link.counters, Path::new("/sys/class/net").join(&link.name));
    NicSample {
        name: link.name.clone(),
        up: link.up && link.carrier,
        device: link.kind.is_none(),
        bits_per_second: negotiated_mbits(&folder).map(|mbits| mbits * 1_000_000),
        received_bytes: counters.received_bytes,
        sent_bytes: counters.sent_bytes,
        received_frames: counters.received_frames,
        sent_frames: counters.sent_frames,
        errors: counters.errors,
        dropped: counters.dropped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_answered_and_counters_never_fall() {
        let mut output = Vec::new();
        run(&b"\n\n\n"[..], &mut output).expect("runs");
        let text = String::from_utf8(output).expect("text");
        let samples: Vec<HostSample> =
            text.lines().map(|line| serde_json::from_str(line).expect("a sample")).collect();
        assert_eq!(samples.len(), 3);
        for sample in &samples {
            assert_eq!(sample.problems, [""; 0]);
            assert!(sample.processors.count >= 1 && sample.memory.total > sample.memory.available);
            assert!(sample.nics.iter().all(|nic| nic.name != "lo"));
        }
        for pair in samples.windows(2) {
            assert!(pair[0].at_ns < pair[1].at_ns);
            assert!(pair[0].processors.busy_ns <= pair[1].processors.busy_ns);
            assert!(pair[0].processors.all_ns <= pair[1].processors.all_ns);
        }
    }
}
