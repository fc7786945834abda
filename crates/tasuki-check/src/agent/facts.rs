//! How this host is: NICs, addresses, routes, settings, who uses the processor.

use super::Place;
use crate::protocol::{Facts, NicFacts, RouteFacts};
use std::{
    collections::BTreeMap,
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::Instant,
};
use tasuki_sys::netlink::Netlink;

/// Least part of a core that is worth telling.
const BUSY_MIN: f64 = 0.05;
/// Clock ticks per second in `/proc/PID/stat`: USER_HZ, 100 on every Linux of today.
const TICKS: f64 = 100.0;
/// Error counters of `/sys/class/net/NIC/statistics`.
const COUNTERS: [&str; 9] = [
    "rx_errors",
    "tx_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_length_errors",
    "rx_missed_errors",
    "rx_fifo_errors",
    "tx_carrier_errors",
    "collisions",
];

/// Looks, and remembers what processes had used the last time.
#[derive(Default)]
pub struct Looker {
    used: BTreeMap<i32, u64>,
    at: Option<Instant>,
}

impl Looker {
    pub fn look(&mut self, place: &Place) -> Facts {
        let mut facts = Facts { busy: self.busy(), watch: tasuki_watch::note(), ..Facts::default() };
        facts.nics = place.nics().into_iter().map(|(index, name)| nic(index, &name)).collect();
        // What cannot be read is missing, and that is judged.
        let _ = network(&mut facts, place);
        let own = &place.plan.hosts[place.host.0];
        let setting = |path: &String| Some((path.clone(), text(Path::new("/proc/sys").join(path))?));
        facts.settings = own.sysctls.iter().filter_map(|setting_of| setting(&setting_of.path)).collect();
        facts.tcp_again = snmp("RetransSegs");
        facts.tcp_damaged = snmp("InCsumErrors");
        facts.buses = buses(&place.nics());
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
        // utime and stime, proc_pid_stat(5) fields 14 and 15; the third is the first here.
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some((pid, (ticks, name.to_owned())))
    };
    pids.filter_map(time).collect()
}

fn text(path: PathBuf) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn nic(index: usize, name: &str) -> NicFacts {
    let folder = Path::new("/sys/class/net").join(name);
    let number = |file: &str| text(folder.join(file)).and_then(|text| text.parse::<i64>().ok());
    let mut nic = NicFacts { index, exists: folder.exists(), ..NicFacts::default() };
    // Unreadable while the interface is down; -1: unknown.
    nic.speed_mbits = number("speed").and_then(|speed| u64::try_from(speed).ok()).filter(|speed| *speed > 0);
    nic.duplex = text(folder.join("duplex")).filter(|duplex| duplex != "unknown");
    let flush_ns = number("gro_flush_timeout").filter(|_| number("napi_defer_hard_irqs").unwrap_or(0) > 0);
    let held_us = flush_ns.map(|ns| ns.unsigned_abs() / 1000);
    let coalesced_us = tasuki_sys::ethtool::Ethtool::open(name).and_then(|tool| tool.receive_delay_us()).ok();
    nic.delay_us = held_us.max(coalesced_us);
    let counter = |name: &&str| {
        let value = number(&format!("statistics/{name}"))?.unsigned_abs();
        (value > 0).then(|| ((*name).to_owned(), value))
    };
    nic.errors = COUNTERS.iter().filter_map(counter).collect();
    nic
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

/// PCIe devices with the rate of their buses. A card with several ports has one function each on one bus.
fn buses(nics: &[(usize, String)]) -> Vec<(String, u64, Vec<String>)> {
    let mut buses: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    for (_, name) in nics {
        let folder = Path::new("/sys/class/net").join(name).join("device");
        let speed = text(folder.join("current_link_speed")).unwrap_or_default();
        let width = text(folder.join("current_link_width")).and_then(|width| width.parse::<u64>().ok());
        let transfers: Option<f64> = speed.split_whitespace().next().and_then(|speed| speed.parse().ok());
        let (Some(width), Some(transfers), Ok(device)) = (width, transfers, folder.canonicalize()) else {
            continue;
        };
        let device = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let slot = device.split('.').next().unwrap_or_default().to_owned();
        // Generations 1 and 2 spend a fifth on coding, later ones 2 of 130 bits.
        let coding = if transfers <= 5.0 { 0.8 } else { 128.0 / 130.0 };
        let entry = buses.entry(slot).or_default();
        entry.0 = (transfers * 1000.0 * coding) as u64 * width;
        entry.1.push(name.clone());
    }
    buses.into_iter().map(|(slot, (rate, nics))| (slot, rate, nics)).collect()
}
