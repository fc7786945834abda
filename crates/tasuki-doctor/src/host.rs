//! What the facts of a host mean.

use crate::{
    Finding, HostFacts, NicFacts,
    setup::{Expected, no_rails, other_file},
};
use tasuki_cluster::{HostRail, RailTable};

/// What one receiving socket should be able to hold: 4 ms of a 10 Gbit/s line.
const SOCKET_BYTES: u64 = 4 << 20;
/// Least free space of /dev/shm, bytes: with less there is room for few rings.
const SHM_BYTES_MIN: u64 = 64 << 20;

/// All findings about a host. `expected` is what a host of a lab or a cluster should be, whose messages must
/// find a route to other hosts; a machine alone (`None`) needs no rails.
pub fn findings(facts: &HostFacts, expected: Option<&Expected>) -> Vec<Finding> {
    let mut all = kernel(facts);
    all.extend(within_the_host(facts));
    all.extend(sockets(facts));
    let other = expected.and_then(|expected| other_file(facts, expected));
    all.extend(match (&facts.rails, other) {
        (Some(_), Some(other)) => vec![raw(facts), other],
        (Some(table), None) => [vec![raw(facts)], rails(facts, table, expected)].concat(),
        (None, _) => vec![no_rails(facts, expected)],
    });
    all
}

fn kernel(facts: &HostFacts) -> Vec<Finding> {
    let mut numbers = facts.kernel.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (5, 15) {
        return Vec::new();
    }
    vec![Finding::broken(&facts.host, format!("Linux {}", facts.kernel), "install Linux 5.15 or newer")]
}

/// Findings about the shared-memory lane, which ranks on one host use.
fn within_the_host(facts: &HostFacts) -> Vec<Finding> {
    let host = &facts.host;
    let mib = |bytes: u64| bytes >> 20;
    let shm = match facts.shm {
        None => Finding::slower(
            host,
            "within the host: udp, as there is no /dev/shm",
            "mount -t tmpfs -o mode=1777,size=1G tmpfs /dev/shm",
        ),
        Some((size, free)) if free < SHM_BYTES_MIN => Finding::slower(
            host,
            format!("within the host: shm, but /dev/shm has only {} of {} MiB free", mib(free), mib(size)),
            "mount -o remount,size=1G /dev/shm, or remove what lies there",
        ),
        Some((size, free)) => Finding::well(
            host,
            format!("within the host: shm, /dev/shm has {} of {} MiB free", mib(free), mib(size)),
        ),
    };
    vec![shm, cma(facts)]
}

/// The command that makes a setting of the kernel now, and at every start of the machine (sysctl.d(5)).
pub(crate) fn lasting(setting: &str) -> String {
    let file = "/etc/sysctl.d/90-tasuki.conf";
    format!("echo {setting} | sudo tee --append {file} && sudo sysctl --load {file}")
}

/// Whether one process may read another's memory. The scopes are Yama's
/// (Documentation/admin-guide/LSM/Yama.rst); in scope 1 a process may name its readers, which Tasuki's do.
fn cma(facts: &HostFacts) -> Finding {
    const COST: &str = "large messages within the host are copied twice";
    let host = &facts.host;
    match (&facts.cma_refused, facts.ptrace_scope) {
        (Some(why), _) => Finding::slower(
            host,
            format!("process_vm_readv is refused ({why}): {COST}"),
            "let the container have it: docker run --cap-add SYS_PTRACE, or a seccomp profile that allows it",
        ),
        (None, Some(scope @ 2..)) => Finding::slower(
            host,
            format!("kernel.yama.ptrace_scope is {scope}: {COST}, unless ranks have CAP_SYS_PTRACE"),
            match scope {
                2 => lasting("kernel.yama.ptrace_scope=1"),
                // Once the scope is 3, it cannot be lowered before the machine is started again.
                _ => "set kernel.yama.ptrace_scope = 1 in /etc/sysctl.d and start the machine anew".into(),
            },
        ),
        (None, scope) => {
            let scope = scope.map_or("no Yama".into(), |scope| format!("Yama's scope is {scope}"));
            Finding::well(
                host,
                format!("process_vm_readv is allowed ({scope}): large messages are copied once"),
            )
        }
    }
}

fn sockets(facts: &HostFacts) -> Vec<Finding> {
    let limits = [("rmem_max", facts.rmem_max), ("wmem_max", facts.wmem_max)];
    let small = limits.into_iter().filter_map(|(name, limit)| Some((name, limit?)));
    small
        .filter(|(_, limit)| *limit < SOCKET_BYTES)
        .map(|(name, limit)| {
            Finding::slower(
                &facts.host,
                format!(
                    "net.core.{name} is {limit}: sockets without privileges drop what more comes in a burst"
                ),
                lasting(&format!("net.core.{name}={SOCKET_BYTES}")),
            )
        })
        .collect()
}

/// The finding about raw Ethernet frames, which carry short messages between hosts.
fn raw(facts: &HostFacts) -> Finding {
    match (&facts.raw_refused, &facts.broker_refused) {
        (None, _) => Finding::well(
            &facts.host,
            "between hosts: raw Ethernet frames are allowed: short messages take half the time",
        ),
        (Some(_), None) => Finding::well(
            &facts.host,
            "between hosts: raw Ethernet frames are to be had from the broker: short messages take half the \
             time",
        ),
        (Some(why), Some(broker)) => Finding::slower(
            &facts.host,
            format!(
                "between hosts: udp alone, as raw Ethernet frames are refused ({why}) and {}: short messages \
                 take twice as long as they could",
                broker.why
            ),
            &broker.remedy,
        ),
    }
}

fn rails(facts: &HostFacts, table: &RailTable, expected: Option<&Expected>) -> Vec<Finding> {
    let host = &facts.host;
    let mut all = Vec::new();
    if !facts.nics.values().any(|nic| nic.addresses.contains(&table.identity)) {
        all.push(Finding::broken(
            host,
            format!("no interface has the identity address {}", table.identity),
            expected.map_or("tasuki apply with the cluster file", |expected| expected.apply.as_str()),
        ));
    }
    for peer in table.peers.values() {
        if peer.rails.is_empty() {
            all.push(Finding::well(
                host,
                format!("to {}: udp, routed, as no cable or switch joins the two", peer.host),
            ));
        }
        for rail in &peer.rails {
            all.push(rail_finding(host, &peer.host, rail, facts.nics.get(&rail.nic)));
        }
    }
    all
}

fn rail_finding(host: &str, peer: &str, rail: &HostRail, nic: Option<&NicFacts>) -> Finding {
    let HostRail { rail: number, nic: name, local, remote, mtu, rate_mbits } = rail;
    let what = format!("to {peer}: udp, rail {number}: {name}, {local} to {remote}");
    let Some(nic) = nic else {
        return Finding::slower(
            host,
            format!("{what}: there is no {name}"),
            "correct the cluster file's NIC names",
        );
    };
    if !nic.carrier {
        let remedy =
            format!("plug the cable in, or: ip link set {name} up (in a lab: tasuki lab heal {host}:{name})");
        return Finding::slower(host, format!("{what}: no carrier"), remedy);
    }
    if !nic.addresses.contains(local) {
        let remedy = format!("ip address add {local}/32 dev {name}");
        return Finding::slower(host, format!("{what}: {name} has not that address"), remedy);
    }
    if nic.mtu < *mtu {
        let remedy = format!("ip link set {name} mtu {mtu}");
        return Finding::slower(host, format!("{what}: its MTU is {}, not {mtu}", nic.mtu), remedy);
    }
    match nic.speed_mbits {
        Some(speed) if speed < *rate_mbits => Finding::slower(
            host,
            format!("{what}: the line runs at {speed} Mbit/s instead of {rate_mbits}"),
            format!("look at the cable and at: ethtool {name}"),
        ),
        _ => Finding::well(host, format!("{what}, MTU {mtu}, {rate_mbits} Mbit/s")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{facts::BrokerRefusal, finding::Weight};
    use super::*;
    use std::path::Path;

    /// Facts of a host on which all is well.
    fn healthy() -> HostFacts {
        let table = r#"{"version":1,"host":"n1","identity":"10.77.0.1","peers":{
            "10.77.0.2":{"host":"n2","rails":[
              {"rail":0,"nic":"eth1","local":"10.78.1.1","remote":"10.78.2.1","mtu":9000,"rate_mbits":1000}]},
            "10.77.0.3":{"host":"n3","rails":[]}}}"#;
        let table = RailTable::parse(table, Path::new("rails.json")).unwrap();
        let nic = |address: &str, speed_mbits| NicFacts {
            carrier: true,
            mtu: 9000,
            speed_mbits,
            addresses: vec![address.parse().unwrap()],
        };
        HostFacts {
            host: "n1".into(),
            rails_file: RailTable::PATH.into(),
            kernel: "6.1.0-18-amd64".into(),
            rails: Some(table),
            nics: [("tasuki0".into(), nic("10.77.0.1", None)), ("eth1".into(), nic("10.78.1.1", Some(1000)))]
                .into(),
            shm: Some((1 << 30, 1 << 30)),
            rmem_max: Some(16 << 20),
            wmem_max: None,
            ptrace_scope: Some(1),
            ..HostFacts::default()
        }
    }

    /// What the host of [`healthy`] should be: what it is.
    fn expected() -> Expected {
        Expected { apply: "tasuki apply my.toml".into(), table: healthy().rails.unwrap() }
    }

    fn without_frames(facts: &mut HostFacts) {
        facts.raw_refused = Some("Operation not permitted".into());
        facts.broker_refused =
            Some(BrokerRefusal { why: "the broker is not for this user".into(), remedy: "usermod".into() });
    }

    #[test]
    fn a_broker_makes_up_for_missing_permission() {
        let mut facts = healthy();
        facts.raw_refused = Some("Operation not permitted".into());
        let findings = findings(&facts, Some(&expected()));
        assert!(findings.iter().all(|finding| finding.weight == Weight::Well), "{findings:?}");
        assert!(findings.iter().any(|finding| finding.what.contains("from the broker")), "{findings:?}");
    }

    #[test]
    fn a_machine_alone_works_without_rails_and_a_host_of_a_fleet_does_not() {
        let facts = HostFacts { rails: None, ..healthy() };
        for (expected, weight) in [(Some(&expected()), Weight::Broken), (None, Weight::Slower)] {
            let worst = findings(&facts, expected).into_iter().map(|finding| finding.weight).max();
            assert_eq!(worst, Some(weight));
        }
    }

    #[test]
    fn a_healthy_host_needs_nothing() {
        let findings = findings(&healthy(), Some(&expected()));
        assert!(findings.iter().all(|finding| finding.weight == Weight::Well), "{findings:?}");
        let said = findings.iter().map(|finding| finding.what.as_str()).collect::<Vec<_>>().join("\n");
        for part in ["shm", "to n2: udp, rail 0: eth1", "MTU 9000, 1000 Mbit/s", "to n3: udp, routed"] {
            assert!(said.contains(part), "{part} is missing in\n{said}");
        }
    }

    #[test]
    fn each_fault_is_found_alone_and_has_a_remedy() {
        type Fault = (fn(&mut HostFacts), Weight, &'static str);
        let faults: [Fault; 15] = [
            (|f| without_frames(f), Weight::Slower, "usermod"),
            (|f| f.kernel = "5.10.0-28".into(), Weight::Broken, "5.15"),
            (|f| f.shm = None, Weight::Slower, "mount -t tmpfs"),
            (|f| f.shm = Some((64 << 20, 1 << 20)), Weight::Slower, "remount"),
            (|f| f.cma_refused = Some("Operation not permitted".into()), Weight::Slower, "SYS_PTRACE"),
            (|f| f.ptrace_scope = Some(2), Weight::Slower, "kernel.yama.ptrace_scope=1 | sudo tee"),
            (|f| f.ptrace_scope = Some(3), Weight::Slower, "anew"),
            (|f| f.rmem_max = Some(212_992), Weight::Slower, "net.core.rmem_max=4194304 | sudo tee"),
            (|f| f.rails = None, Weight::Broken, "tasuki apply my.toml"),
            (|f| f.rails.as_mut().unwrap().host = "x".into(), Weight::Broken, "tasuki apply my.toml"),
            (|f| drop(f.nics.remove("tasuki0")), Weight::Broken, "tasuki apply my.toml"),
            (|f| drop(f.nics.remove("eth1")), Weight::Slower, "cluster file"),
            (|f| f.nics.get_mut("eth1").unwrap().carrier = false, Weight::Slower, "ip link set eth1 up"),
            (|f| f.nics.get_mut("eth1").unwrap().mtu = 1500, Weight::Slower, "ip link set eth1 mtu 9000"),
            (|f| f.nics.get_mut("eth1").unwrap().speed_mbits = Some(100), Weight::Slower, "ethtool eth1"),
        ];
        for (number, (plant, weight, remedy)) in faults.into_iter().enumerate() {
            let mut facts = healthy();
            plant(&mut facts);
            let found: Vec<_> = findings(&facts, Some(&expected()))
                .into_iter()
                .filter(|f| f.weight != Weight::Well)
                .collect();
            assert_eq!(found.len(), 1, "fault {number}: {found:?}");
            assert_eq!(found[0].weight, weight, "{found:?}");
            assert!(found[0].remedy.as_ref().is_some_and(|text| text.contains(remedy)), "{found:?}");
        }
    }
}
