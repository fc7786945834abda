//! The state of this host: NICs, addresses, routes, settings, and programs that use the processor.

use super::{Place, hardware};
use crate::protocol::{AddressFacts, Facts, RouteFacts};
use std::{
    collections::BTreeMap,
    fs, iter,
    net::Ipv4Addr,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Instant,
};
use tasuki_sys::netlink::Netlink;

/// Least share of a core that is worth reporting.
const BUSY_MIN: f64 = 0.05;
/// Clock ticks per second in `/proc/PID/stat`: USER_HZ, 100 on every Linux of today.
const TICKS: f64 = 100.0;
/// Reads the state of the host, and remembers how much processor time processes had used at the last look.
#[derive(Default)]
pub struct Looker {
    used: BTreeMap<i32, Used>,
    at: Option<Instant>,
}

impl Looker {
    pub fn look(&mut self, place: &Place) -> Facts {
        let mut facts = Facts { busy: self.busy(), watch: tasuki_watch::note(), ..Facts::default() };
        let sysfs = Path::new(hardware::SYSFS);
        let delay = hardware::set_delay_us;
        let nic = |(index, name): (usize, String)| hardware::nic(sysfs, index, &name, delay(&name));
        facts.nics = place.nics().into_iter().map(nic).collect();
        // What cannot be read is missing in the facts, and that is judged elsewhere.
        let _ = network(&mut facts, place);
        let own = &place.plan.hosts[place.host.0];
        let setting = |path: &String| Some((path.clone(), text(Path::new("/proc/sys").join(path))?));
        facts.settings = own.sysctls.iter().filter_map(|setting_of| setting(&setting_of.path)).collect();
        facts.tcp_again = snmp("RetransSegs");
        facts.tcp_damaged = snmp("InCsumErrors");
        facts.buses = hardware::buses(sysfs, &place.nics());
        facts
    }

    /// Processes that have used the processor since the last look: cores, name.
    fn busy(&mut self) -> Vec<(f64, String)> {
        let now = Instant::now();
        let used = processes();
        let seconds = self.at.map_or(f64::INFINITY, |at| now.duration_since(at).as_secs_f64());
        let mut busy = Vec::new();
        for (pid, of) in &used {
            let cores = of.wanted_since(self.used.get(pid), seconds.max(0.05));
            if cores >= BUSY_MIN && !is_ours(*pid, &used) {
                busy.push((cores, format!("{} (process {pid})", of.name)));
            }
        }
        busy.sort_by(|a, b| b.0.total_cmp(&a.0));
        busy.truncate(8);
        self.used = used;
        self.at = Some(now);
        busy
    }
}

/// The processor time of a process since it began.
#[derive(Clone, Debug, Default)]
struct Used {
    name: String,
    /// Process id of its parent.
    parent: i32,
    /// Clock ticks that it ran.
    ticks: u64,
    /// Nanoseconds for which it was ready to run but other processes ran.
    waited_ns: u64,
    /// How often it gave the processor away, and how often it was taken from it.
    gave: u64,
    lost: u64,
}

impl Used {
    /// The number of cores that the process wanted since `before`. On a machine with more work than cores (a
    /// virtual one, for instance) a program that computes without rest gets little processor time and waits
    /// for the rest, so waiting counts. For a process that sleeps and wakes, waiting does not count: its wait
    /// is as long as other processes make it, however little it does itself.
    fn wanted_since(&self, before: Option<&Self>, seconds: f64) -> f64 {
        let since = |count: fn(&Self) -> u64| count(self).saturating_sub(before.map_or(0, count));
        let ran = since(|used| used.ticks) as f64 / TICKS / seconds;
        let waited = since(|used| used.waited_ns) as f64 / 1e9 / seconds;
        let is_restless = since(|used| used.lost) > since(|used| used.gave);
        if is_restless { ran + waited } else { ran }
    }

    /// Adds the times of a process's threads (`/proc/PID/task/TID/schedstat`: nanoseconds run, nanoseconds
    /// waited, number of turns; proc_pid_status(5)).
    fn add_threads(&mut self, pid: i32) {
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
            self.waited_ns += nth(&read("schedstat"), 1);
            for line in read("status").lines() {
                match line.split_once(':') {
                    Some(("voluntary_ctxt_switches", count)) => self.gave += nth(count, 0),
                    Some(("nonvoluntary_ctxt_switches", count)) => self.lost += nth(count, 0),
                    _ => {}
                }
            }
        }
    }
}

/// Whether a process is the check's own, another part of Tasuki (a host's watch), or the ssh that carries its
/// messages: on a slow machine these are busy, and the user cannot end any of them.
fn is_ours(pid: i32, all: &BTreeMap<i32, Used>) -> bool {
    let Some(of) = all.get(&pid) else { return false };
    let own = std::process::id().cast_signed();
    let is_tasuki = |pid: i32| program(pid).is_some_and(|of| program(own) == Some(of));
    let parent = |pid: &i32| all.get(pid).map(|of| of.parent);
    match of.name.as_str() {
        "ssh" => is_tasuki(of.parent),
        // The processes of ssh by which this agent was started count, and not those of other users.
        "sshd" | "sshd-session" => {
            iter::successors(Some(own), parent).take(all.len()).any(|above| above == pid)
        }
        _ => is_tasuki(pid),
    }
}

/// The file that a process runs: device and inode.
fn program(pid: i32) -> Option<(u64, u64)> {
    let file = fs::metadata(format!("/proc/{pid}/exe")).ok()?;
    Some((file.dev(), file.ino()))
}

/// The number at a position in the text; 0 if there is none.
fn nth(text: &str, at: usize) -> u64 {
    text.split_whitespace().nth(at).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Whether a process is a thread of the kernel that handles interrupts, queues or memory: frames keep those
/// busy, including the frames of the check, and the user cannot end any of them.
fn is_kernels_own(flags: u32, name: &str) -> bool {
    // PF_KTHREAD of include/linux/sched.h; proc_pid_stat(5), field 9.
    const KERNEL_THREAD: u32 = 0x0020_0000;
    let serves = ["ksoftirqd/", "kworker/", "napi/", "irq/", "rcu", "khugepaged", "kcompactd", "kswapd"];
    flags & KERNEL_THREAD != 0 && serves.iter().any(|prefix| name.starts_with(prefix))
}

/// Processor time of all processes that this host's `/proc` shows, with their names.
fn processes() -> BTreeMap<i32, Used> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let time = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may hold any characters.
        let (head, rest) = stat.rsplit_once(')')?;
        let name = head.split_once('(').map_or("", |(_, name)| name);
        let fields: Vec<&str> = rest.split_whitespace().collect();
        if is_kernels_own(fields.get(6)?.parse().ok()?, name) {
            return None;
        }
        // utime and stime are fields 14 and 15 of proc_pid_stat(5); the first field here is the third there.
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        let parent = fields.get(1)?.parse().ok()?;
        let mut used = Used { name: name.to_owned(), parent, ticks, ..Used::default() };
        used.add_threads(pid);
        Some((pid, used))
    };
    pids.filter_map(time).collect()
}

fn text(path: PathBuf) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Interfaces, addresses and routes, by rtnetlink.
fn network(facts: &mut Facts, place: &Place) -> Option<()> {
    let mut netlink = Netlink::open().ok()?;
    let links = netlink.links().ok()?;
    let names: BTreeMap<u32, String> = links.iter().map(|link| (link.index, link.name.clone())).collect();
    for (nic, (_, name)) in facts.nics.iter_mut().zip(place.nics()) {
        let link = links.iter().find(|link| link.name == name);
        nic.exists = link.is_some();
        if let Some(link) = link {
            (nic.up, nic.carrier, nic.mtu) = (link.up, link.up && link.carrier, link.mtu);
        }
    }
    for address in netlink.addresses().ok()? {
        if let Some(name) = names.get(&address.index) {
            let (interface, address, prefix) = (name.clone(), address.address, address.prefix);
            facts.addresses.push(AddressFacts { interface, address, prefix });
        }
    }
    for saved in netlink.host_routes().ok()? {
        let destination: Ipv4Addr = saved.destination();
        let hop = |gateway: tasuki_sys::netlink::Gateway| {
            (names.get(&gateway.index).cloned().unwrap_or_default(), gateway.via)
        };
        let hops = saved.gateways().into_iter().map(hop).collect();
        facts.routes.push(RouteFacts { destination, hops });
    }
    Some(())
}

/// A counter of TCP since the machine's start (`/proc/net/snmp`: a line of names, then a line of values).
fn snmp(name: &str) -> u64 {
    let table = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    let mut lines = table.lines().filter(|line| line.starts_with("Tcp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut both = names.split_whitespace().zip(values.split_whitespace());
    both.find(|(known, _)| *known == name).and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_waits_for_counts_if_it_never_rests() {
        let used = |ticks, waited_ms: u64, gave, lost| Used {
            name: "program".into(),
            parent: 1,
            ticks,
            waited_ns: waited_ms * 1_000_000,
            gave,
            lost,
        };
        let wanted = |after: Used| {
            let before = used(1000, 70_000, 50, 60);
            let after = Used {
                ticks: before.ticks + after.ticks,
                waited_ns: before.waited_ns + after.waited_ns,
                gave: before.gave + after.gave,
                lost: before.lost + after.lost,
                ..after
            };
            (after.wanted_since(Some(&before), 10.0) * 100.0).round() / 100.0
        };
        // A process that is alone on a core; one that gets a twentieth of a core; a daemon that has to wait
        // whenever it wakes; one that rests.
        assert_eq!(wanted(used(1000, 0, 0, 40)), 1.0);
        assert_eq!(wanted(used(50, 9_500, 0, 12)), 1.0);
        assert_eq!(wanted(used(10, 6_000, 100, 3)), 0.01);
        assert_eq!(wanted(used(0, 0, 0, 0)), 0.0);
        // A process that has begun since the last look.
        assert_eq!(used(20, 800, 0, 3).wanted_since(None, 2.0), 0.5);
    }

    #[test]
    fn a_thread_that_spins_wants_a_core() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let pid = std::process::id().cast_signed();
            // However little processor time this loop gets, it never gives the processor away, and is ready
            // all the time.
            let used = || (processes().remove(&pid), Instant::now());
            let (before, begun) = used();
            let mut wanted = 0;
            while wanted <= 20 && begun.elapsed().as_secs() < 60 {
                std::thread::sleep(std::time::Duration::from_millis(300));
                let (now, before) = (used().0.unwrap(), before.as_ref().unwrap());
                wanted = now.ticks - before.ticks + (now.waited_ns - before.waited_ns) / 10_000_000;
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(wanted > 20, "it neither ran nor waited for a fifth of a second");
        });
    }

    #[test]
    fn what_carries_the_check_is_no_load() {
        let own = std::process::id().cast_signed();
        let used = |name: &str, parent| Used { name: name.into(), parent, ..Used::default() };
        // No other process runs this test's program. The first process of the system has a number that every
        // process can see.
        let all = BTreeMap::from([
            (own, used("tasuki", -3)),
            (1, used("python3", 0)),
            (-1, used("ssh", own)),
            (-2, used("ssh", 1)),
            (-3, used("sshd", 1)),
            (-4, used("sshd", 1)),
        ]);
        assert!([own, -1, -3].iter().all(|pid| is_ours(*pid, &all)));
        assert!([1, -2, -4].iter().all(|pid| !is_ours(*pid, &all)), "others' programs, and others' ssh");
    }

    #[test]
    fn the_kernel_s_own_work_is_no_program() {
        // Flags as `cat /proc/PID/stat` shows them for ksoftirqd, for a worker and for a shell.
        assert!(is_kernels_own(69_238_848, "ksoftirqd/0"));
        assert!(is_kernels_own(69_238_880, "kworker/1:2-events"));
        assert!(is_kernels_own(2_097_216, "khugepaged"));
        assert!(!is_kernels_own(4_194_560, "bash"));
        // A name alone proves nothing, and a kernel thread that checks an array of disks is a load.
        assert!(!is_kernels_own(4_194_560, "kworker/1:2"));
        assert!(!is_kernels_own(69_238_848, "md0_resync"));
    }
}
