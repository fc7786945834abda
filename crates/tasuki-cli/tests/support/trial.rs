//! Trials of `tasuki check`: a cluster, a fault that the checker is not told about, and the parts that it
//! must name.

use super::{Background, MARK, TestLab, background, ok, tasuki, text};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};
use tasuki_cluster::{AddressPlan, Cluster, End, HostId, NicId, generate};
use tasuki_random::Random;

/// The kinds of faults that are planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    Nothing,
    DeadCable,
    SwappedCables,
    Loss,
    TenthOfRate,
    Mtu,
    Damage,
    DuplicateAddress,
    Loop,
    WrongAddress,
    ReceiveDelay,
    Load,
}

pub const FAULTS: [Plant; 11] = [
    Plant::DeadCable,
    Plant::SwappedCables,
    Plant::Loss,
    Plant::TenthOfRate,
    Plant::Mtu,
    Plant::Damage,
    Plant::DuplicateAddress,
    Plant::Loop,
    Plant::WrongAddress,
    Plant::ReceiveDelay,
    Plant::Load,
];

/// Clusters of 4 to 16 hosts: rings, meshes of cables, tori, switches, mixtures.
const SHAPES: [&str; 20] = [
    "full:4",
    "ring:4",
    "star:4",
    "planes:4x2",
    "ring:5",
    "full:5",
    "mesh:2x3",
    "mixed:6/3",
    "star:6",
    "ring:7",
    "mixed:8/4",
    "torus:3x3",
    "ring:9",
    "star:10",
    "mesh:3x4",
    "ring:12",
    "star:12",
    "ring:14",
    "torus:4x4",
    "ring:16",
];

/// The findings that are expected.
struct Expected {
    kinds: &'static [&'static str],
    parts: BTreeSet<String>,
    /// Whether only some of the parts need be named; no others may be.
    some: bool,
}

impl Expected {
    fn new(kinds: &'static [&'static str], parts: impl IntoIterator<Item = String>) -> Self {
        Self { kinds, parts: parts.into_iter().collect(), some: false }
    }
}

struct Trial {
    plan: Cluster,
    addresses: AddressPlan,
    lab: TestLab,
    random: Random,
    /// Loads on processors, which end with the trial.
    loads: Vec<Background>,
}

/// The cluster as it is really cabled: two cables between NICs have exchanged one end each. `None`: there are
/// no two such cables.
fn swapped(plan: &Cluster, random: &mut Random) -> Option<(Cluster, Vec<NicId>)> {
    let direct: Vec<(usize, [NicId; 2])> = plan
        .cables
        .iter()
        .enumerate()
        .filter_map(|(at, cable)| match cable.ends {
            [End::Nic(a), End::Nic(b)] => Some((at, [a, b])),
            _ => None,
        })
        .collect();
    let mut pairs = Vec::new();
    for (at, a) in &direct {
        for (other, b) in direct.iter().filter(|(other, _)| other > at) {
            // The exchange must not cable a host to itself.
            if a[0].host != b[1].host && b[0].host != a[1].host {
                pairs.push((*at, *other, [*a, *b].concat()));
            }
        }
    }
    // Some exchanges take a cluster apart, and a lab refuses such a cluster.
    while !pairs.is_empty() {
        let (one, other, nics) = pairs.swap_remove(random.below(pairs.len() as u64) as usize);
        let mut real = plan.clone();
        let kept = real.cables[one].ends[1];
        real.cables[one].ends[1] = real.cables[other].ends[1];
        real.cables[other].ends[1] = kept;
        if Cluster::parse(&real.to_toml(), None).is_ok() {
            return Some((real, nics));
        }
    }
    None
}

/// Runs one trial. `Err`: what the checker said, and what it should have said.
pub fn run(seed: u64, plant: Plant, hosts_max: usize) -> Result<(), String> {
    let mut random = Random::new(seed);
    let shapes: Vec<_> = SHAPES.iter().filter(|shape| count(shape) <= hosts_max).collect();
    let shape = *shapes[random.below(shapes.len() as u64) as usize];
    // Only cables between NICs can be told apart when they are exchanged.
    let is_switched = shape.starts_with("star") || shape.starts_with("planes");
    let shape = if plant == Plant::SwappedCables && is_switched { "ring:6" } else { shape };
    let options = generate::Options { rate: "100M".parse().expect("a rate"), ..generate::Options::default() };
    let plan = generate::generate(&shape.parse().expect("a shape"), &options).expect("a cluster");
    let real = if plant == Plant::SwappedCables { swapped(&plan, &mut random) } else { None };
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let write = |name: &str, cluster: &Cluster| {
        let file = folder.path().join(name);
        fs::write(&file, cluster.to_toml()).expect("writes");
        file.to_str().expect("UTF-8").to_owned()
    };
    let plan_file = write("plan.toml", &plan);
    let real_file = write("real.toml", real.as_ref().map_or(&plan, |(real, _)| real));
    let lab_seed = (seed % 1_000_000 + 1).to_string();
    let lab = TestLab::up("trial", &[&real_file, "--bare", "--seed", &lab_seed]);
    ok(tasuki().args(["apply", &plan_file, "--lab", &lab.name, "--no-watch"]));
    let addresses = AddressPlan::new(&plan).expect("a plan");
    let mut trial = Trial { plan, addresses, lab, random, loads: Vec::new() };
    let expected = match &real {
        Some((_, nics)) => Expected::new(&["miswired"], nics.iter().map(|nic| trial.plan.nic_name(*nic))),
        None => trial.plant(plant),
    };
    let verdict = trial.check(Path::new(&plan_file), &expected);
    verdict.map_err(|why| format!("{plant:?} in {shape}, TASUKI_TRIAL={seed}: {why}"))
}

/// Number of hosts of a shape.
fn count(shape: &str) -> usize {
    let numbers = shape.split(':').nth(1).unwrap_or("0");
    let first = numbers.split('/').next().unwrap_or("0");
    let factors = first.split('x').map(|part| part.parse::<usize>().expect("a number"));
    if shape.starts_with("planes") { factors.take(1).product() } else { factors.product() }
}

impl Trial {
    fn any_nic(&mut self) -> NicId {
        let nics: Vec<_> =
            self.plan.nics().filter(|nic| self.plan.cable_at(End::Nic(*nic)).is_some()).collect();
        nics[self.random.below(nics.len() as u64) as usize]
    }

    fn cable(&self, nic: NicId) -> String {
        let cable = self.plan.cable_at(End::Nic(nic)).expect("a cable");
        self.plan.cable_of(cable).ends.map(|end| self.plan.end_name(end)).join(" - ")
    }

    fn address(&self, nic: NicId) -> String {
        let name = &self.plan.nic_of(nic).name;
        let links = &self.addresses.hosts[nic.host.0].links;
        links.iter().find(|link| link.interface == *name).expect("cabled").address.to_string()
    }

    fn plant(&mut self, plant: Plant) -> Expected {
        let nic = self.any_nic();
        let (host, name) = (self.plan.host_of(nic.host).name.clone(), self.plan.nic_name(nic));
        let device = self.plan.nic_of(nic).name.clone();
        let end =
            |trial: &mut Self| if trial.random.below(2) == 0 { name.clone() } else { trial.other_end(nic) };
        match plant {
            Plant::Nothing | Plant::SwappedCables => Expected::new(&[], []),
            Plant::DeadCable => {
                let from = end(self);
                let argv: &[&str] = match self.random.below(3) {
                    0 => &[&name],
                    1 => &[&name, "--keep-carrier"],
                    _ => &[&name, "--from", &from],
                };
                self.lab.fault("cut", argv);
                Expected::new(&["dead"], [self.cable(nic)])
            }
            Plant::Loss => {
                let from = end(self);
                self.lab.fault("loss", &[&name, "0.5%", "--from", &from]);
                Expected::new(&["loss"], [self.cable(nic)])
            }
            Plant::TenthOfRate => {
                self.lab.fault("rate", &[&name, "10M"]);
                Expected::new(&["slow"], [self.cable(nic)])
            }
            Plant::Damage => {
                let from = end(self);
                self.lab.fault("corrupt", &[&name, "1%", "--from", &from]);
                Expected::new(&["damage"], [self.cable(nic)])
            }
            Plant::Mtu => {
                let mtu = [1280, 1400, 1492, 4000][self.random.below(4) as usize];
                self.lab.sh(&host, &format!("ip link set {device} mtu {mtu}"));
                Expected::new(&["mtu"], [name])
            }
            Plant::DuplicateAddress => {
                let others: Vec<_> = self.plan.nics().filter(|other| other.host != nic.host).collect();
                let other = others[self.random.below(others.len() as u64) as usize];
                self.lab.sh(&host, &format!("ip addr add {}/32 dev {device}", self.address(other)));
                Expected::new(&["duplicate-address"], [name])
            }
            Plant::WrongAddress => {
                let planned = self.address(nic);
                let wrong = format!("10.78.200.{}", 1 + self.random.below(250));
                self.lab.sh(
                    &host,
                    &format!("ip addr add {wrong}/32 dev {device}; ip addr del {planned}/32 dev {device}"),
                );
                Expected::new(&["address"], [name])
            }
            Plant::Loop => self.plant_loop(nic),
            Plant::ReceiveDelay => {
                // Fifty times what it takes to receive a frame here, which is some 20 us.
                let script = "for d in /sys/class/net/eth*; do ethtool -K ${d##*/} gro on; \
                              echo 1000000 > $d/gro_flush_timeout; echo 100 > $d/napi_defer_hard_irqs; done";
                self.lab.sh(&host, script);
                Expected::new(&["delay"], [host])
            }
            Plant::Load => {
                let mut spin = self.lab.exec(
                    &host,
                    &["sh", "-c", "(while :; do :; done) & (while :; do :; done) & while :; do :; done"],
                );
                self.loads.push(background(spin.env(MARK, &self.lab.name)));
                Expected::new(&["load"], [host])
            }
        }
    }

    fn other_end(&self, nic: NicId) -> String {
        let ends = self.plan.cable_of(self.plan.cable_at(End::Nic(nic)).expect("a cable")).ends;
        let other = ends.into_iter().find(|end| *end != End::Nic(nic)).expect("two ends");
        self.plan.end_name(other)
    }

    /// Has two neighbours each send packets for a third host to the other.
    fn plant_loop(&mut self, nic: NicId) -> Expected {
        let rail = (0..self.plan.hosts.len())
            .map(HostId)
            .filter(|&other| other != nic.host)
            .flat_map(|other| self.plan.rails(nic.host, other))
            .find(|rail| rail.is_direct())
            .expect("every host has a neighbour");
        let [a, b] = rail.nics;
        let thirds: Vec<_> =
            (0..self.plan.hosts.len()).filter(|&host| host != a.host.0 && host != b.host.0).collect();
        let third = thirds[self.random.below(thirds.len() as u64) as usize];
        let to = self.addresses.hosts[third].identity;
        for (own, peer) in [(a, b), (b, a)] {
            let (host, device) = (&self.plan.host_of(own.host).name, &self.plan.nic_of(own).name);
            let script = format!(
                "ip route replace {to} via {} dev {device} onlink; echo 1 > \
                 /proc/sys/net/ipv4/conf/{device}/forwarding",
                self.address(peer)
            );
            self.lab.sh(host, &script);
        }
        let names = [a, b].map(|nic| self.plan.host_of(nic.host).name.clone());
        // If the plan itself leads that way, only one of the two routes is wrong.
        Expected { some: true, ..Expected::new(&["loop"], names) }
    }

    fn check(&self, plan: &Path, expected: &Expected) -> Result<(), String> {
        let mut command = tasuki();
        command.arg("check").arg(plan).args(["--lab", &self.lab.name, "--json"]);
        let output = command.output().expect("runs");
        let report: Value = serde_json::from_slice(&output.stdout).map_err(|_| text(&output))?;
        let findings = report["findings"].as_array().expect("findings");
        let field = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let parts: BTreeSet<String> =
            findings.iter().map(|finding| field(&finding["part"], "name")).collect();
        let kinds: BTreeSet<String> = findings.iter().map(|finding| field(finding, "kind")).collect();
        let is_named = if expected.some {
            !parts.is_empty() && parts.is_subset(&expected.parts)
        } else {
            parts == expected.parts
        };
        let is_kind = kinds.iter().all(|kind| expected.kinds.contains(&kind.as_str()));
        // A program that uses the processor, and a setting that differs from those of others, are warnings
        // (docs/reference/exit-codes.md); a host that was seen to answer late is at fault.
        let codes = match expected.kinds {
            _ if expected.parts.is_empty() => 0..=0,
            ["load"] => 1..=1,
            ["delay"] => 1..=2,
            _ => 2..=2,
        };
        if is_named && is_kind && output.status.code().is_some_and(|code| codes.contains(&code)) {
            return Ok(());
        }
        let says: Vec<_> = findings
            .iter()
            .map(|finding| {
                format!("[{}] {} {}", field(finding, "kind"), finding["says"], finding["evidence"])
            })
            .collect();
        Err(format!(
            "expected {:?} {:?}, exit code {codes:?}; found {:#?}, {}",
            expected.kinds, expected.parts, says, output.status
        ))
    }
}
