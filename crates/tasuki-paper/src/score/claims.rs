//! What the paper states, and when our figures agree.

use crate::cell::Claim;
use crate::data::Score;
use crate::rule::Rule;

/// Numbers of nodes of table 3.
const NODES: [u32; 6] = [16, 32, 64, 128, 256, 512];
/// The claims of the paper, in its order.
pub fn claims(data: &Score) -> Vec<Claim> {
    let (myrinet, ethernet) = (&data.myrinet, &data.ethernet);
    let input = |item, cell: &str, unit, value| Claim::new(item, cell, unit, value, Rule::Input);
    let mut claims = vec![
        input("T1", "hosts", "hosts", data.table1.hosts),
        input("3.1", "Myrinet link, one direction", "Gbit/s", myrinet.link_gbps_per_direction),
        input("3.1", "ports of a crossbar", "ports", myrinet.crossbar_ports),
        Claim::new(
            "3.1",
            "Myrinet bisection, both directions",
            "Tbit/s",
            myrinet.bisection_tbps,
            Rule::Equal,
        ),
        input("3.2", "planes", "planes", ethernet.planes),
        input("3.2", "hosts of a switch", "hosts", ethernet.hosts_per_leaf),
        input("3.2", "switches with hosts", "switches", ethernet.leaves),
        input("3.2", "link of a host", "Mbit/s", ethernet.leaf_mbps),
        input("3.2", "link between switches", "Gbit/s", ethernet.uplink_gbps),
        Claim::new(
            "3.2",
            "Ethernet bisection, both directions",
            "Gbit/s",
            ethernet.bisection_gbps,
            Rule::Equal,
        ),
        input("3.2", "full bisection", "Gbit/s", ethernet.full_bisection_gbps).noted("arithmetic"),
        input("3.3", "racks with hosts", "racks", data.racks.module_racks).noted("arithmetic"),
    ];
    claims.extend(messages(data));
    claims.extend(starts(data));
    let peak = data.linpack.aug_2001_cpus * CLOCK_GHZ;
    let share = data.linpack.aug_2001_gflops / peak * 100.0;
    let note = "618.3 of 1,012 processors of 0.933 Gflop/s";
    claims.push(Claim::new("6.4", "Linpack, share of peak", "%", share, Rule::Within(5.0)).noted(note));
    claims
}

/// Clock of the processors, which finish an operation a cycle.
const CLOCK_GHZ: f64 = 0.933;
const HARDWARE: &str = "a figure of that hardware";

/// Table 2, figures 10 and 11.
fn messages(data: &Score) -> Vec<Claim> {
    let latency = |key| data.latency.get(key).copied().unwrap_or(f64::NAN);
    let rate = |key| data.bandwidth.get(key).copied().unwrap_or(f64::NAN);
    let mut claims: Vec<Claim> = ["PM_Myrinet", "GM", "PM_Ethernet", "PM_Ethernet_2way", "TCP_LAM"]
        .map(|key| {
            Claim::new("T2", key.replace('_', " "), "us", latency(key), Rule::Percent(5.0)).noted(HARDWARE)
        })
        .into();
    claims.extend([
        Claim::new(
            "T2",
            "PM/Ethernet over TCP",
            "times",
            latency("PM_Ethernet") / latency("TCP_LAM"),
            Rule::Effect,
        )
        .noted("here Tasuki over TCP under the same MPI"),
        Claim::new(
            "T2",
            "PM/Ethernet, 2 NICs over 1",
            "times",
            latency("PM_Ethernet_2way") / latency("PM_Ethernet"),
            Rule::Effect,
        ),
        Claim::new("F10", "MPICH-SCore, Myrinet", "MB/s", rate("MPICH_SCore_Myrinet"), Rule::Percent(5.0))
            .noted(HARDWARE),
        Claim::new("F10", "MPI-GM, Myrinet", "MB/s", rate("MPI_GM"), Rule::Percent(5.0)).noted(HARDWARE),
        Claim::new(
            "F11",
            "own protocol, one Ethernet",
            "MB/s",
            rate("MPICH_SCore_Ethernet_1"),
            Rule::Percent(5.0),
        ),
        Claim::new("F11", "TCP, one Ethernet", "MB/s", rate("LAM_TCP"), Rule::Percent(5.0)),
        Claim::new(
            "F11",
            "own protocol, two Ethernets",
            "MB/s",
            rate("MPICH_SCore_Ethernet_2way"),
            Rule::Percent(5.0),
        ),
    ]);
    claims
}

/// Table 3: times of that hardware, and how they grow, which can be compared.
fn starts(data: &Score) -> Vec<Claim> {
    let mut claims = Vec::new();
    for nodes in NODES {
        for (network, seconds) in ["Myrinet", "Ethernet", "two Ethernets"].iter().zip(data.startup_s(nodes)) {
            let cell = format!("{nodes} nodes, {network}");
            claims.push(Claim::new("T3", cell, "s", seconds, Rule::Percent(5.0)).noted(HARDWARE));
        }
    }
    let [_, one, two] = data.startup_s(64);
    let [_, one_16, two_16] = data.startup_s(16);
    claims.push(Claim::new("T3", "64 nodes over 16, Ethernet", "times", one / one_16, Rule::Effect));
    claims.push(Claim::new("T3", "64 nodes over 16, two Ethernets", "times", two / two_16, Rule::Effect));
    claims
}
