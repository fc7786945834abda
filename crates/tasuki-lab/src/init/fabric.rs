//! Cables and switches, in the network namespace of `lab-init`.
//!
//! A shaped cable `i` is a *wire*: two ports `w<i>a` and `w<i>b`. Each port is one end of a veth pair whose
//! other end is a host's NIC or a port `s<i>a`/`s<i>b` of a switch's bridge. The program on the ports sends
//! every frame from one port to the other, through the other's token bucket. So both directions of every
//! cable are shaped, for every way of sending a frame that a host has: a token bucket in the host itself
//! would be passed by (packet sockets with qdisc bypass, AF_XDP). An unshaped cable is a bare veth pair.

use super::{
    faults::{PROGRAM, PortRule, WireProgram},
    host::LabHost,
    outcome::{Outcome, while_doing},
};
use crate::LabOptions;
use std::fs;
use tasuki_cluster::{Cluster, End, NicId, Rate};
use tasuki_sys::{
    ethtool::Ethtool,
    netlink::{Netlink, TokenBucket, VethEnd},
};

/// Time that a full token bucket takes on the wire, seconds. Smaller buckets run empty when several links are
/// busy on few cores, because a bucket is refilled by a timer that may come late.
const BURST_SECONDS: f64 = 0.004;
/// Smallest bucket: two full frames of the largest MTU.
const BURST_MINIMUM_BYTES: u64 = 20_000;
/// Size of a port's queue, bytes.
const QUEUE_BYTES: u32 = 1 << 20;

/// A shaped cable.
pub struct Wire {
    /// Interface indices of its two ports.
    pub ports: [u32; 2],
    /// Rules of its two ports: rule `k` applies to frames that end `k` sends.
    pub rules: [PortRule; 2],
    /// Its rate now.
    pub rate: Rate,
    /// Whether the ports are up.
    pub up: bool,
}

/// All cables and switches of a lab.
pub struct Fabric {
    netlink: Netlink,
    program: Option<WireProgram>,
    /// One entry per cable, in the order of the file; `None`: the cable is unshaped.
    pub wires: Vec<Option<Wire>>,
    largest_mtu: u32,
}

/// The token bucket for a line of this rate.
fn bucket(rate: Rate) -> TokenBucket {
    let burst = (rate.bits_per_second as f64 / 8.0 * BURST_SECONDS) as u64;
    TokenBucket {
        bits_per_second: rate.bits_per_second,
        burst_bytes: u32::try_from(burst.max(BURST_MINIMUM_BYTES)).unwrap_or(u32::MAX),
        limit_bytes: QUEUE_BYTES,
    }
}

/// The rate of a cable: that of the slower of its two ends.
pub fn cable_rate(cluster: &Cluster, cable: usize) -> Rate {
    let rate = |end: &End| match end {
        End::Nic(NicId { host, index }) => cluster.hosts[host.0].nics[*index].rate,
        End::Port { switch, .. } => cluster.switches[switch.0].rate,
    };
    let [a, b] = &cluster.cables[cable].ends;
    rate(a).min(rate(b))
}

/// Turns segmentation offload of a port off. Frames leave the port one by one in any case. But as long as a
/// port could send frames that are still to be segmented, the kernel never delivers its frames by NAPI, and
/// then a host could not delay its receive interrupts (`veth_skb_is_eligible_for_gro`, drivers/net/veth.c).
fn send_one_by_one(port: &str) -> Outcome<()> {
    let is_segmentation = |name: &str| name.starts_with("tx-") && name.ends_with("-segmentation");
    let ethtool = Ethtool::open(port).map_err(|error| error.to_string())?;
    ethtool.set_features(is_segmentation, false).map_err(|error| error.to_string())
}

impl Fabric {
    /// Begins the fabric with its switches. The calling thread's network namespace becomes the fabric.
    pub fn new(cluster: &Cluster, options: &LabOptions) -> Outcome<Self> {
        // Switches and wires have no addresses, and must not send packets of their own.
        for which in ["all", "default"] {
            let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
            // The file does not exist in a kernel without IPv6.
            let _ = fs::write(path, "1");
        }
        let mut netlink = Netlink::open().map_err(while_doing("open rtnetlink"))?;
        let program =
            if options.unshaped { None } else { Some(WireProgram::load(2 * cluster.cables.len())?) };
        let nics = cluster.hosts.iter().flat_map(|host| &host.nics);
        let largest_mtu = nics.map(|nic| nic.mtu).max().unwrap_or(1500).max(1500);
        for switch in 0..cluster.switches.len() {
            make_bridge(&mut netlink, &bridge_name(switch), largest_mtu)?;
        }
        Ok(Self { netlink, program, wires: Vec::new(), largest_mtu })
    }

    /// Adds the next cable.
    pub fn add_cable(&mut self, cluster: &Cluster, hosts: &[LabHost], options: &LabOptions) -> Outcome<()> {
        let cable = self.wires.len();
        let ends = &cluster.cables[cable].ends;
        if options.unshaped {
            self.add_bare(cluster, hosts, cable)?;
            self.wires.push(None);
            return Ok(());
        }
        let rate = options.rate.unwrap_or_else(|| cable_rate(cluster, cable));
        let mut ports = [0; 2];
        for (side, end) in ends.iter().enumerate() {
            let name = format!("w{cable}{}", letter(side));
            let far = FarEnd::new(cluster, hosts, cable, side, end, self.largest_mtu);
            ports[side] = self.connect(&name, &far)?;
            if !options.offloads {
                send_one_by_one(&name)?;
            }
        }
        let rule = |side: usize| PortRule {
            redirect: ports[1 - side],
            seed: options.seed.wrapping_mul(0x9e37_79b9).wrapping_add((2 * cable + side) as u32),
            ..PortRule::default()
        };
        let wire = Wire { ports, rules: [rule(0), rule(1)], rate, up: true };
        self.attach(&wire)?;
        self.wires.push(Some(wire));
        Ok(())
    }

    /// Attaches the program and the shaping to a new wire.
    fn attach(&mut self, wire: &Wire) -> Outcome<()> {
        let program = self.program.as_mut().ok_or("an unshaped lab has no wires")?;
        for (port, rule) in wire.ports.into_iter().zip(&wire.rules) {
            program.set(port, rule)?;
            self.netlink
                .set_token_bucket(port, &bucket(wire.rate))
                .and_then(|()| self.netlink.set_up(port, true))
                .map_err(|error| error.to_string())?;
            let descriptor = program.descriptor()?;
            self.netlink.attach_ingress(port, descriptor, PROGRAM).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Makes a veth pair between a new interface in this namespace and a host's NIC or a switch. Returns the
    /// index of the new interface.
    fn connect(&mut self, name: &str, far: &FarEnd) -> Outcome<u32> {
        let near = VethEnd { name, mac: None, mtu: self.largest_mtu, namespace: None };
        let netlink = &mut self.netlink;
        netlink.add_veth(&near, &far.veth()).map_err(|error| error.to_string())?;
        if let Some(switch) = far.switch {
            join_bridge(netlink, far.name.as_str(), &bridge_name(switch))?;
        }
        Ok(netlink.link(name).map_err(|error| error.to_string())?.index)
    }

    /// Adds a cable without a wire in the middle.
    fn add_bare(&mut self, cluster: &Cluster, hosts: &[LabHost], cable: usize) -> Outcome<()> {
        let ends = &cluster.cables[cable].ends;
        let far = |side: usize| FarEnd::new(cluster, hosts, cable, side, &ends[side], self.largest_mtu);
        let (a, b) = (far(0), far(1));
        self.netlink.add_veth(&a.veth(), &b.veth()).map_err(|error| error.to_string())?;
        for end in [a, b] {
            if let Some(switch) = end.switch {
                join_bridge(&mut self.netlink, &end.name, &bridge_name(switch))?;
            }
        }
        Ok(())
    }

    /// Adds the management network, with a port of it in every host.
    pub fn add_management(&mut self, hosts: &[LabHost], interface: &str) -> Outcome<()> {
        make_bridge(&mut self.netlink, "mgmt", 1500)?;
        for (number, host) in hosts.iter().enumerate() {
            let near = format!("m{number}");
            let end = VethEnd { name: &near, mac: None, mtu: 1500, namespace: None };
            let far = VethEnd { name: interface, mac: None, mtu: 1500, namespace: Some(host.network()) };
            self.netlink.add_veth(&end, &far).map_err(|error| error.to_string())?;
            join_bridge(&mut self.netlink, &near, "mgmt")?;
        }
        Ok(())
    }

    /// Puts a wire's rules, rate and state into effect.
    pub fn update(&mut self, cable: usize) -> Outcome<()> {
        let wire = self.wires[cable].as_ref().ok_or("an unshaped lab has no wires")?;
        let program = self.program.as_mut().ok_or("an unshaped lab has no wires")?;
        for (port, rule) in wire.ports.into_iter().zip(&wire.rules) {
            program.set(port, rule)?;
            self.netlink
                .set_token_bucket(port, &bucket(wire.rate))
                .and_then(|()| self.netlink.set_up(port, wire.up))
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The program of the wires, for its counters.
    pub fn program(&self) -> Option<&WireProgram> {
        self.program.as_ref()
    }
}

/// The far end of a wire port: a host's NIC or a switch's port.
struct FarEnd<'a> {
    name: String,
    mac: Option<[u8; 6]>,
    mtu: u32,
    host: Option<&'a LabHost>,
    switch: Option<usize>,
}

impl<'a> FarEnd<'a> {
    fn new(
        cluster: &Cluster,
        hosts: &'a [LabHost],
        cable: usize,
        side: usize,
        end: &End,
        largest_mtu: u32,
    ) -> Self {
        match *end {
            End::Nic(NicId { host, index }) => {
                let nic = &cluster.hosts[host.0].nics[index];
                let mac = nic.mac.map(|mac| mac.0);
                Self { name: nic.name.clone(), mac, mtu: nic.mtu, host: Some(&hosts[host.0]), switch: None }
            }
            End::Port { switch, .. } => Self {
                name: format!("s{cable}{}", letter(side)),
                mac: None,
                mtu: largest_mtu,
                host: None,
                switch: Some(switch.0),
            },
        }
    }

    fn veth(&self) -> VethEnd<'_> {
        VethEnd { name: &self.name, mac: self.mac, mtu: self.mtu, namespace: self.host.map(LabHost::network) }
    }
}

fn letter(side: usize) -> char {
    if side == 0 { 'a' } else { 'b' }
}

fn bridge_name(switch: usize) -> String {
    format!("sw{switch}")
}

fn make_bridge(netlink: &mut Netlink, name: &str, mtu: u32) -> Outcome<()> {
    let mut make = || {
        netlink.add_bridge(name)?;
        let index = netlink.link(name)?.index;
        netlink.set_mtu(index, mtu)?;
        netlink.set_up(index, true)
    };
    make().map_err(|error| error.to_string())
}

fn join_bridge(netlink: &mut Netlink, port: &str, bridge: &str) -> Outcome<()> {
    let mut join = || {
        let (port, bridge) = (netlink.link(port)?.index, netlink.link(bridge)?.index);
        netlink.set_bridge(port, bridge)?;
        netlink.set_up(port, true)
    };
    join().map_err(|error| error.to_string())
}
