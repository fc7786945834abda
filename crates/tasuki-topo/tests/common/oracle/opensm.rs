//! Routes a network with OpenSM over ibsim and reads its tables.

use crate::common::needed;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tasuki_topo::{HostId, Network, NodeId, Port, Tables};

pub struct OpenSm {
    folder: PathBuf,
}

/// The simulator. Dropping this ends it, even if the test panics.
struct Simulator(Child);

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Limit of the time for one run of OpenSM; no run takes nearly as long.
const RUN_LIMIT: Duration = Duration::from_secs(60);

impl OpenSm {
    pub fn find(test: &str) -> Option<Self> {
        super::folder("opensm", test, false).map(|folder| Self { folder })
    }

    /// Tables by one of OpenSM's engines, and the number of virtual lanes that it says it needs. Up*/down*
    /// gets the root that the definition in docs/internals/topologies.md gives; the roots that OpenSM looks
    /// for by itself are those of fat trees.
    pub fn route(&self, net: &Network, engine: &str) -> (Tables, Option<u32>) {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let socket = format!("tasuki-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let work = std::env::temp_dir().join(&socket);
        fs::create_dir_all(&work).expect("a folder for one run");
        fs::write(work.join("net"), fabric(net)).expect("the fabric is written");
        fs::write(work.join("root"), root_guid(net)).expect("the root is written");
        let simulator = self.simulate(&work, &socket);
        let log = work.join("osm.log");
        let library = self.folder.join("usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so");
        let mut opensm = self
            .command("usr/sbin/opensm", &work, &socket)
            .args(["-o", "-e", "-D", "0x43", "-R", engine, "-a", "root", "-f"])
            .arg(&log)
            .env("LD_PRELOAD", library)
            .spawn()
            .expect("opensm starts");
        let begin = Instant::now();
        while opensm.try_wait().expect("opensm is our child").is_none() {
            if begin.elapsed() > RUN_LIMIT {
                let _ = opensm.kill();
                panic!("{}, {engine}: opensm does not end; see {}", net.name(), log.display());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(simulator);
        let read = |name: &str| fs::read_to_string(work.join(name)).unwrap_or_default();
        let (tables, said) = (read("opensm-lfts.dump"), read("osm.log"));
        assert!(
            said.contains(&format!("{engine} tables configured")),
            "{}: OpenSM fell back from {engine}:\n{said}",
            net.name()
        );
        let _ = fs::remove_dir_all(&work);
        (tables_of(net, &tables), lanes(&said))
    }

    fn simulate(&self, work: &Path, socket: &str) -> Simulator {
        let mut command = self.command("usr/bin/ibsim", work, socket);
        let child = command.args(["-s", "-n"]).arg(work.join("net")).spawn().expect("ibsim starts");
        let simulator = Simulator(child);
        let begin = Instant::now();
        // The socket of the simulator has a name in the abstract namespace.
        while !fs::read_to_string("/proc/net/unix").is_ok_and(|all| all.contains(&format!("@{socket}:ctl"))) {
            assert!(begin.elapsed() < RUN_LIMIT, "ibsim does not come up: {}", work.display());
            std::thread::sleep(Duration::from_millis(5));
        }
        simulator
    }

    fn command(&self, program: &str, work: &Path, socket: &str) -> Command {
        let output = |name: &str| File::create(work.join(name)).map_or_else(|_| Stdio::null(), Stdio::from);
        let name = program.rsplit('/').next().unwrap_or(program);
        let mut command = Command::new(self.folder.join(program));
        command
            .current_dir(work)
            .env("LD_LIBRARY_PATH", self.folder.join("usr/lib/x86_64-linux-gnu"))
            .env("IBSIM_SOCKNAME", socket)
            .env("OSM_TMP_DIR", work)
            .env("OSM_CACHE_DIR", work)
            .stdin(Stdio::null())
            .stdout(output(&format!("{name}.out")))
            .stderr(output(&format!("{name}.err")));
        command
    }
}

/// The number by which ibsim and OpenSM know the switch whose farthest switch is nearest; of several the one
/// that is nearest to all, then the first.
fn root_guid(net: &Network) -> String {
    let switches: Vec<NodeId> =
        (0..net.nodes().len() as u32).map(NodeId).filter(|&node| net.host_of(node).is_none()).collect();
    let far = |&index: &usize| {
        let cables = needed(net, switches[index]);
        let others = || switches.iter().map(|node| cables.get(node).copied().unwrap_or(u32::MAX));
        (others().max(), others().map(u64::from).sum::<u64>(), index)
    };
    let root = (0..switches.len()).min_by_key(far).unwrap_or(0);
    format!("0x{:016x}\n", 0x0020_0000 + root)
}

/// A network of switches and hosts as ibsim reads it; hosts first, because the manager runs at the first
/// port. Ports count from 1 there.
fn fabric(net: &Network) -> String {
    let mut text = String::new();
    let hosts_first = net.hosts().iter().copied();
    let switches = (0..net.nodes().len() as u32).map(NodeId).filter(|&node| net.host_of(node).is_none());
    for node in hosts_first.chain(switches) {
        let kind = if net.host_of(node).is_some() { "Hca" } else { "Switch" };
        let _ = writeln!(text, "{kind} {} \"N{}\"", net.ports(node), node.0);
        for channel in net.out(node) {
            let (out, to, port) = (net.out_port(channel), net.to(channel), net.in_port(channel));
            let _ = writeln!(text, "[{}]\t\"N{}\"[{}]", out.0 + 1, to.0, port.0 + 1);
        }
        text.push('\n');
    }
    text
}

/// Reads `opensm-lfts.dump`: a heading per switch, `... ('N12'):`, then lines `0x0001 003 # ...: 'N7'` or
/// without a port where there is no route.
fn tables_of(net: &Network, dump: &str) -> Tables {
    let nodes: Vec<NodeId> =
        (0..net.nodes().len() as u32).map(NodeId).filter(|&node| net.host_of(node).is_none()).collect();
    let mut tables = Tables::new("OpenSM", net, &nodes);
    let named = |line: &str| line.split('\'').nth(1)?.strip_prefix('N')?.parse().ok().map(NodeId);
    let mut row = None;
    for line in dump.lines() {
        if line.starts_with("Unicast lids") {
            row = named(line).and_then(|node| tables.row(node));
        } else if let (Some(row), Some(to)) = (row, named(line).and_then(|node| net.host_of(node))) {
            let port = line.split_whitespace().nth(1).and_then(|port| port.parse::<u16>().ok());
            tables.set_port(row, to, port.filter(|&port| port > 0).map(|port| Port(port - 1)));
        }
    }
    assert!((0..net.hosts().len() as u32).map(HostId).any(|h| tables.port(0, h).is_some()), "{dump}");
    tables
}

/// `... Lanes needed: 2, Balancing` or `... Virtual Lanes needed: 2`
fn lanes(log: &str) -> Option<u32> {
    let line = log.lines().filter_map(|line| line.split("anes needed: ").nth(1)).next_back()?;
    line.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
