//! The agent of one host: answers every line of its input with a [`HostSample`].

use crate::{
    processes,
    sample::{HostSample, NicSample},
    system,
};
use std::{
    fs,
    io::{self, BufRead, Write},
    path::Path,
    time::Instant,
};
use tasuki_sys::netlink::{Link, Netlink};

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
    let mut sample = HostSample { at_ns, celsius: system::hottest(), ..HostSample::default() };
    let mut note = |what: &str, result: Result<(), String>| {
        if let Err(error) = result {
            sample.problems.push(format!("{what}: {error}"));
        }
    };
    let processors = system::processors();
    let memory = system::memory();
    let links = netlink.links();
    note("processors", processors.as_ref().map(drop).map_err(Clone::clone));
    note("memory", memory.as_ref().map(drop).map_err(Clone::clone));
    note("NICs", links.as_ref().map(drop).map_err(ToString::to_string));
    sample.processors = processors.unwrap_or_default();
    sample.memory = memory.unwrap_or_default();
    sample.nics = links.unwrap_or_default().iter().filter(|link| is_ethernet(link)).map(nic).collect();
    let (found, mut problems) = processes::local();
    sample.processes = found;
    sample.problems.append(&mut problems);
    sample
}

/// Whether an interface sends Ethernet frames of its own: the loopback interface has an address of zeroes,
/// and a dummy reaches nobody.
fn is_ethernet(link: &Link) -> bool {
    link.mac.is_some_and(|mac| mac != [0; 6]) && link.kind.as_deref() != Some("dummy")
}

fn nic(link: &Link) -> NicSample {
    let counters = link.counters;
    NicSample {
        name: link.name.clone(),
        up: link.up && link.carrier,
        device: link.kind.is_none(),
        bits_per_second: speed(&Path::new("/sys/class/net").join(&link.name)),
        received_bytes: counters.received_bytes,
        sent_bytes: counters.sent_bytes,
        received_frames: counters.received_frames,
        sent_frames: counters.sent_frames,
        errors: counters.errors,
        dropped: counters.dropped,
    }
}

/// The rate that a driver states, bit/s. Of a device that software makes it means nothing.
fn speed(folder: &Path) -> Option<u64> {
    // The file cannot be read while the interface is down; -1 means that the speed is unknown.
    let text = fs::read_to_string(folder.join("speed")).ok().filter(|_| folder.join("device").exists())?;
    let megabits: u64 = text.trim().parse().ok()?;
    megabits.checked_mul(1_000_000).filter(|rate| *rate > 0)
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
            assert!(pair[0].processors.busy_ticks <= pair[1].processors.busy_ticks);
            assert!(pair[0].processors.all_ticks <= pair[1].processors.all_ticks);
        }
    }

    #[test]
    fn the_rate_of_a_device_is_what_its_driver_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let says = |text: &str| {
            fs::write(folder.path().join("speed"), text).expect("writes");
            speed(folder.path())
        };
        assert_eq!(says("2500\n"), None, "it is no device");
        fs::create_dir(folder.path().join("device")).expect("a folder");
        assert_eq!(says("2500\n"), Some(2_500_000_000));
        assert_eq!(says("-1\n"), None);
    }
}
