//! How this host is: NICs, addresses, routes, settings, who uses the processor.

use super::{Place, hardware};
use crate::protocol::{Facts, RouteFacts};
use std::{
    collections::BTreeMap,
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::Instant,
};
use tasuki_sys::{ethtool::Ethtool, netlink::Netlink};

/// Least part of a core that is worth telling.
const BUSY_MIN: f64 = 0.05;
/// Clock ticks per second in `/proc/PID/stat`: USER_HZ, 100 on every Linux of today.
const TICKS: f64 = 100.0;
/// Looks, and remembers what processes had used the last time.
#[derive(Default)]
pub struct Looker {
    used: BTreeMap<i32, u64>,
    at: Option<Instant>,
}

impl Looker {
    pub fn look(&mut self, place: &Place) -> Facts {
        let mut facts = Facts { busy: self.busy(), watch: tasuki_watch::note(), ..Facts::default() };
        let sysfs = Path::new(hardware::SYSFS);
        let delay = |name: &str| Ethtool::open(name).and_then(|tool| tool.receive_delay_us()).ok();
        let nic = |(index, name): (usize, String)| hardware::nic(sysfs, index, &name, delay(&name));
        facts.nics = place.nics().into_iter().map(nic).collect();
        // What cannot be read is missing, and that is judged.
        let _ = network(&mut facts, place);
        let own = &place.plan.hosts[place.host.0];
        let setting = |path: &String| Some((path.clone(), text(Path::new("/proc/sys").join(path))?));
        facts.settings = own.sysctls.iter().filter_map(|setting_of| setting(&setting_of.path)).collect();
        facts.tcp_again = snmp("RetransSegs");
        facts.tcp_damaged = snmp("InCsumErrors");
        facts.buses = hardware::buses(sysfs, &place.nics());
        facts
    }

    /// Processes that used the processor since the last look.
    fn busy(&mut self) -> Vec<(f64, String)> {
        let now = Instant::now();
        let used = processes();
        let seconds = self.at.map_or(f64::INFINITY, |at| now.duration_since(at).as_secs_f64());
        let own = std::process::id().cast_signed();
        let mut busy = Vec::new();
        for (pid, (ticks, name)) in &used {
            let before = self.used.get(pid).copied().unwrap_or(0);
            let cores = ticks.saturating_sub(before) as f64 / TICKS / seconds.max(0.05);
            if *pid != own && cores >= BUSY_MIN {
                busy.push((cores, format!("{name} (process {pid})")));
            }
        }
        busy.sort_by(|a, b| b.0.total_cmp(&a.0));
        busy.truncate(8);
        self.used = used.into_iter().map(|(pid, (ticks, _))| (pid, ticks)).collect();
        self.at = Some(now);
        busy
    }
}

/// Whether a process is the kernel's way to deal with interrupts and queues: frames keep those busy, those of the check among them, and no
/// program can be ended for it.
fn is_kernels_own(flags: u32, name: &str) -> bool {
    // PF_KTHREAD of include/linux/sched.h; proc_pid_stat(5), field 9.
    const KERNEL_THREAD: u32 = 0x0020_0000;
    let serves = ["ksoftirqd/", "kworker/", "napi/", "irq/", "rcu"];
    flags & KERNEL_THREAD != 0 && serves.iter().any(|prefix| name.starts_with(prefix))
}

/// Processor time of all processes that this host's `/proc` shows, with their names.
fn processes() -> BTreeMap<i32, (u64, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let time = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is in brackets and may hold anything.
        let (head, rest) = stat.rsplit_once(')')?;
        let name = head.split_once('(').map_or("", |(_, name)| name);
        let fields: Vec<&str> = rest.split_whitespace().collect();
        if is_kernels_own(fields.get(6)?.parse().ok()?, name) {
            return None;
        }
        // utime and stime, proc_pid_stat(5) fields 14 and 15; the third is the first here.
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some((pid, (ticks, name.to_owned())))
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
            facts.addresses.push((name.clone(), address.address));
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

/// A counter of TCP since the start (`/proc/net/snmp`: a line of names, a line of values).
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
    fn the_kernel_s_own_work_is_no_program() {
        // Flags as `cat /proc/PID/stat` shows them for ksoftirqd, a worker and a shell.
        assert!(is_kernels_own(69_238_848, "ksoftirqd/0"));
        assert!(is_kernels_own(69_238_880, "kworker/1:2-events"));
        assert!(!is_kernels_own(4_194_560, "bash"));
        // A name alone proves nothing, and a thread that checks an array of disks is a load.
        assert!(!is_kernels_own(4_194_560, "kworker/1:2"));
        assert!(!is_kernels_own(69_238_848, "md0_resync"));
    }
}
