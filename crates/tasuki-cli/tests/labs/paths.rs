//! The wires that packets really take after `apply`, captured where they come in on every NIC of every host,
//! and compared with the plan's tables: for each pair of hosts, in both directions, probes from many ports.

use crate::support::{MARK, TestLab, ok, skip_without_root, tasuki};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdout, Stdio},
};
use tasuki_cluster::{AddressPlan, Cluster, End, HostId, NicId, generate};

const PATHS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/paths.py");

/// Number of ports from which every host sends to every other. That all of them leave out one of four routes
/// happens once in 10^8 times.
const FLOWS: usize = 64;

/// The packets of one direction of one conversation, which the kernel keeps on one route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Flow {
    from: HostId,
    to: HostId,
    port: String,
    what: String,
}

/// The probing program on one host.
struct Prober {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Prober {
    fn start(lab: &TestLab, host: &str, address: &str) -> Self {
        let mut command = lab.exec(host, &["python3", PATHS, address]);
        command.env(MARK, &lab.name).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("reads");
        line.trim().to_owned()
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().expect("piped"), "{line}").expect("writes");
    }

    /// Ends the program. Returns everything that came in.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.output.read_to_string(&mut text).expect("reads");
        assert!(self.child.wait().expect("ends").success());
        text
    }
}

/// The wires of every flow, each as the NIC that sends and the one that receives.
fn observe(lab: &TestLab, cluster: &Cluster, plan: &AddressPlan) -> BTreeMap<Flow, BTreeSet<[NicId; 2]>> {
    let identities: Vec<String> = plan.hosts.iter().map(|host| host.identity.to_string()).collect();
    let hosts = plan.hosts.iter().zip(&identities);
    let mut probers: Vec<_> = hosts.map(|(host, own)| Prober::start(lab, &host.host, own)).collect();
    probers.iter_mut().for_each(|prober| assert_eq!(prober.line(), "ready"));
    for (prober, own) in probers.iter_mut().zip(&identities) {
        let others: Vec<_> = identities.iter().filter(|other| *other != own).map(String::as_str).collect();
        prober.tell(&format!("go {FLOWS} {}", others.join(" ")));
    }
    for (prober, host) in probers.iter_mut().zip(&plan.hosts) {
        assert_eq!(prober.line(), "all answered", "{}", host.host);
    }
    let by_mac: BTreeMap<String, NicId> =
        cluster.nics().map(|nic| (cluster.nic_of(nic).mac.expect("a lab's").to_string(), nic)).collect();
    let by_identity = |address: &str| HostId(identities.iter().position(|own| own == address).expect("ours"));
    let mut wires: BTreeMap<Flow, BTreeSet<[NicId; 2]>> = BTreeMap::new();
    for (prober, host) in probers.into_iter().zip(&plan.hosts) {
        for line in prober.end().lines() {
            let [interface, mac, from, to, port, what] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let receiver = cluster.nic(&format!("{}:{interface}", host.host)).expect("a NIC");
            let flow =
                Flow { from: by_identity(from), to: by_identity(to), port: port.into(), what: what.into() };
            wires.entry(flow).or_default().insert([by_mac[mac], receiver]);
        }
    }
    wires
}

/// Number of cables from a host to every other, counted without the plan: breadth first over cables and
/// switches.
fn distances(cluster: &Cluster, from: HostId) -> Vec<usize> {
    let place = |end: &End| match end {
        End::Nic(nic) => (true, nic.host.0),
        End::Port { switch, .. } => (false, switch.0),
    };
    let mut distance = BTreeMap::from([((true, from.0), 0)]);
    let mut ring = vec![(true, from.0)];
    while let Some(node) = ring.pop() {
        for cable in &cluster.cables {
            let [a, b] = [place(&cable.ends[0]), place(&cable.ends[1])];
            for (near, far) in [(a, b), (b, a)] {
                // A switch does not count as a hop.
                let step = distance[&node] + usize::from(far.0);
                if near == node && distance.get(&far).is_none_or(|known| *known > step) {
                    distance.insert(far, step);
                    ring.push(far);
                }
            }
        }
    }
    (0..cluster.hosts.len()).map(|host| distance[&(true, host)]).collect()
}

/// Follows a flow's wires from its first host to its last: every step must be in the table of the step's
/// host, and no wire is left over. Returns the first step.
fn follow(cluster: &Cluster, plan: &AddressPlan, flow: &Flow, wires: &BTreeSet<[NicId; 2]>) -> [NicId; 2] {
    let says = || {
        let names = wires.iter().map(|wire| wire.map(|nic| cluster.nic_name(nic)).join(" to "));
        format!("{flow:?}: {}", names.collect::<Vec<_>>().join(", "))
    };
    let destination = plan.hosts[flow.to.0].identity;
    let (mut host, mut left, mut first) = (flow.from, wires.clone(), None);
    while host != flow.to {
        let out: Vec<_> = left.iter().copied().filter(|[sender, _]| sender.host == host).collect();
        let &[wire @ [sender, receiver]] = &out[..] else { panic!("no one way on from host: {}", says()) };
        let own = &plan.hosts[host.0];
        let route = own.routes.iter().find(|route| route.destination == destination).expect("a route");
        let link = |nic: NicId| {
            let links = &plan.hosts[nic.host.0].links;
            links.iter().find(|link| link.interface == cluster.nic_of(nic).name).map(|link| link.address)
        };
        let is_planned = route
            .next_hops
            .iter()
            .any(|hop| hop.interface == cluster.nic_of(sender).name && hop.via == link(receiver));
        assert!(is_planned, "{} has another way in its table: {}", own.host, says());
        left.remove(&wire);
        first.get_or_insert(wire);
        host = receiver.host;
    }
    assert!(left.is_empty(), "it was elsewhere, too: {}", says());
    first.expect("two hosts")
}

fn check_shape(shape: &str) {
    let cluster = generate::generate(&shape.parse().expect("a shape"), &generate::Options::default());
    let cluster = cluster.expect("a cluster").with_lab_macs();
    let plan = AddressPlan::new(&cluster).expect("a plan");
    let lab = TestLab::up("paths", &["--shape", shape, "--bare"]);
    // The watch is left out, because it would lead around hosts that the machine does not run for a while.
    ok(tasuki().args(["apply", "--lab", &lab.name, "--no-watch"]));
    let wires = observe(&lab, &cluster, &plan);
    let hosts = cluster.hosts.len();
    assert_eq!(wires.len(), hosts * (hosts - 1) * FLOWS * 2, "{shape}: not every flow was seen");
    let mut firsts: BTreeMap<(HostId, HostId), BTreeSet<NicId>> = BTreeMap::new();
    for from in (0..hosts).map(HostId) {
        let distances = distances(&cluster, from);
        for (flow, wires) in wires.iter().filter(|(flow, _)| flow.from == from) {
            assert_eq!(wires.len(), distances[flow.to.0], "{shape}: {flow:?} takes a detour: {wires:?}");
            let [sender, _] = follow(&cluster, &plan, flow, wires);
            firsts.entry((from, flow.to)).or_default().insert(sender);
        }
    }
    // Not only is nothing used but what is planned, but all of it is used: every next hop.
    for ((from, to), used) in firsts {
        let identity = plan.hosts[to.0].identity;
        let route = plan.hosts[from.0].routes.iter().find(|route| route.destination == identity);
        let nic = |interface: &str| cluster.nic(&format!("{}:{interface}", cluster.host_of(from).name));
        let hops = &route.expect("a route").next_hops;
        let planned: BTreeSet<_> = hops.iter().map(|hop| nic(&hop.interface).expect("a NIC")).collect();
        assert_eq!(used, planned, "{shape}: {from:?} to {to:?}");
    }
    eprintln!("{shape}: {} flows went as planned", wires.len());
}

#[test]
fn packets_take_the_ways_of_the_plan() {
    if skip_without_root("packets_take_the_ways_of_the_plan") {
        return;
    }
    for shape in ["full:4", "ring:4", "ring:5", "mixed:6/3"] {
        check_shape(shape);
    }
}

#[test]
fn packets_take_the_ways_of_the_plan_in_a_torus_of_relaying_hosts() {
    if skip_without_root("packets_take_the_ways_of_the_plan_in_a_torus_of_relaying_hosts") {
        return;
    }
    check_shape("torus:4x4");
}

#[test]
#[ignore = "long: more of the same"]
fn packets_take_the_ways_of_the_plan_in_every_shape() {
    if skip_without_root("packets_take_the_ways_of_the_plan_in_every_shape") {
        return;
    }
    for shape in [
        "full:2",
        "full:3",
        "full:5",
        "full:6",
        "full:7",
        "full:8",
        "ring:3",
        "ring:6",
        "ring:7",
        "ring:8",
        "pair:3",
        "star:5",
        "planes:4x2",
        "mesh:3x4",
        "torus:3x3",
        "mixed:8/4",
    ] {
        check_shape(shape);
    }
}
