//! Random cablings: what is inferred from the frames that come through is exactly what was plugged in. Hellos
//! are lost, hosts are late or never answer, interfaces are shown twice, cables are broken.
//! `TASUKI_CABLING=seed cargo test --release -p tasuki-discover --test cablings` replays one.

use std::collections::{BTreeMap, BTreeSet};
use tasuki_discover::{Book, HostSight, Kind, Mac, NicSight, PortId, infer};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;
use tasuki_wire::{CABLE_ETHERTYPE, CableNic, Discovery};

const REPLAY: Replay =
    Replay { variable: "TASUKI_CABLING", command: "cargo test --release -p tasuki-discover --test cablings" };
const CABLINGS: u64 = 1_000;
/// Number of this run, and of another that strangers make.
const RUN: u64 = 7;
const OTHER_RUN: u64 = 8;
/// Times at which hellos are sent; the last ones come when all hosts listen.
const TIMES: u64 = 40;

/// What NICs are plugged into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Medium {
    Cable,
    Switch,
    /// A switch with two NICs, which says what it is by LLDP.
    SmallSwitch,
    /// A cable that carries frames from its first NIC to its second alone.
    Broken,
    /// No carrier.
    Nothing,
    /// A carrier, and nobody at the other end.
    Mute,
    /// A network that others use.
    Strangers,
}

#[derive(Debug, Default)]
struct Cabling {
    media: Vec<(Vec<PortId>, Medium)>,
    /// NICs of hosts, with those that are shown twice.
    nics: Vec<usize>,
    /// Interfaces that are the same port as another.
    twins: BTreeMap<PortId, PortId>,
    /// Hosts that never answer.
    absent: BTreeSet<usize>,
    /// Time from which a host listens and says hello.
    since: Vec<u64>,
}

impl Cabling {
    fn random(random: &mut Random) -> Self {
        let hosts = random.between(2, 16) as usize;
        let mut cabling =
            Self { nics: (0..hosts).map(|_| random.between(1, 5) as usize).collect(), ..Self::default() };
        let ports = cabling.nics.iter().enumerate();
        let mut free: Vec<PortId> =
            ports.flat_map(|(host, nics)| (0..*nics).map(move |nic| PortId { host, nic })).collect();
        for at in (1..free.len()).rev() {
            free.swap(at, random.index(at + 1));
        }
        while let Some(first) = free.pop() {
            let mut take = |count: u64| {
                let more = free.split_off(free.len() - free.len().min(count as usize - 1));
                [vec![first], more].concat()
            };
            let (ports, medium) = match random.below(20) {
                0..9 => (take(2), Medium::Cable),
                9..12 => (take(random.between(3, 8)), Medium::Switch),
                12 => (take(2), Medium::SmallSwitch),
                13 => (take(2), Medium::Broken),
                14..16 => (take(1), Medium::Nothing),
                16..18 => (take(1), Medium::Mute),
                _ => (take(1), Medium::Strangers),
            };
            cabling.media.push((ports, medium));
        }
        for host in 0..hosts {
            if random.chance(10) {
                let nic = cabling.nics[host];
                cabling.nics[host] += 1;
                let of = PortId { host, nic: random.index(nic) };
                cabling.twins.insert(PortId { host, nic }, of);
            }
            cabling.since.push(if random.chance(20) { random.below(TIMES / 2) } else { 0 });
            if hosts > 2 && random.chance(5) {
                cabling.absent.insert(host);
            }
        }
        cabling
    }

    fn is_here(&self, port: &PortId) -> bool {
        !self.absent.contains(&port.host)
    }

    fn medium(&self, port: PortId) -> &(Vec<PortId>, Medium) {
        let port = self.twins.get(&port).copied().unwrap_or(port);
        self.media.iter().find(|(ports, _)| ports.contains(&port)).expect("every NIC has a medium")
    }

    fn ports(&self) -> Vec<PortId> {
        let all = self
            .nics
            .iter()
            .enumerate()
            .flat_map(|(host, nics)| (0..*nics).map(move |nic| PortId { host, nic }));
        all.filter(|port| self.is_here(port)).collect()
    }

    /// MAC address of a NIC; a twin has that of its port.
    fn mac(&self, port: PortId) -> [u8; 6] {
        let port = self.twins.get(&port).copied().unwrap_or(port);
        [2, 0x54, 0, port.host as u8 + 1, 0, port.nic as u8 + 1]
    }

    /// Whether a frame that `from` sends comes to `to`.
    fn carries(&self, from: PortId, to: PortId) -> bool {
        let [a, b] = [from, to].map(|port| self.twins.get(&port).copied().unwrap_or(port));
        let (ports, medium) = self.medium(a);
        a != b
            && ports.contains(&b)
            && match medium {
                Medium::Broken => ports[0] == a,
                Medium::Nothing | Medium::Mute => false,
                _ => true,
            }
    }
}

fn ethernet(from: [u8; 6], kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[0xff; 6], &from[..], &kind.to_be_bytes(), payload].concat()
}

fn hello(cabling: &Cabling, port: PortId, run: u64, number: u32) -> Vec<u8> {
    let (host, nic) = (format!("h{}", port.host + 1), format!("x{}", port.nic * 7 % 5));
    let sender = CableNic { host: port.host as u16 + 1, nic: port.nic as u16 + 1 };
    let mac = cabling.mac(port);
    let mut bytes = Vec::new();
    Discovery { number, run, sender, host_name: &host, nic_name: &nic, mac }
        .emit(&mut bytes)
        .expect("short names");
    ethernet(mac, CABLE_ETHERTYPE, &bytes)
}

/// LLDP of a switch, put together by the standard: chassis (a MAC address), port (a name), lifetime, end.
fn lldp(switch: u8, port: u8) -> Vec<u8> {
    let parts = [
        &[0x02, 7, 4, 0xaa, 0, 0, 0, 0, switch][..],
        &[0x04, 3, 5, b'p', b'0' + port],
        &[0x06, 2, 0, 120],
        &[0, 0],
    ];
    ethernet([0xaa, 0, 0, 0, 1, port], tasuki_discover::LLDP_ETHERTYPE, &parts.concat())
}

/// What hosts tell after all hellos. One in five frames is lost.
fn sights(cabling: &Cabling, random: &mut Random) -> Vec<Option<HostSight>> {
    let ports = cabling.ports();
    let mut books: BTreeMap<PortId, Book> = ports.iter().map(|port| (*port, Book::new(RUN))).collect();
    for time in 0..TIMES {
        for &from in ports.iter().filter(|port| cabling.since[port.host] <= time) {
            let frame = hello(cabling, from, RUN, time as u32);
            for (&to, book) in &mut books {
                if cabling.carries(from, to) && cabling.since[to.host] <= time && !random.chance(20) {
                    book.take(&frame);
                }
            }
        }
    }
    for (&port, book) in &mut books {
        let (ports, medium) = cabling.medium(port);
        match medium {
            Medium::SmallSwitch => book.take(&lldp(ports[0].host as u8, 1)),
            Medium::Strangers => {
                book.take(&hello(cabling, PortId { host: 60, nic: 0 }, OTHER_RUN, 0));
                book.take(&ethernet([0x0a, 1, 2, 3, 4, 5], 0x0806, &[0; 28]));
            }
            _ => {}
        }
    }
    let sight = |host: usize| {
        let nics = (0..cabling.nics[host]).map(|nic| PortId { host, nic });
        let nics: Vec<_> = nics
            .map(|port| NicSight {
                name: format!("x{}", port.nic * 7 % 5),
                mac: Mac(cabling.mac(port)),
                mtu: 1500,
                carrier: cabling.medium(port).1 != Medium::Nothing,
                heard: books[&port].heard().clone(),
                ..NicSight::default()
            })
            .collect();
        let macs = nics.iter().map(|nic| nic.mac).collect();
        HostSight { name: format!("h{}", host + 1), nics, macs, ..HostSight::default() }
    };
    (0..cabling.nics.len()).map(|host| (!cabling.absent.contains(&host)).then(|| sight(host))).collect()
}

/// The graph and the findings that the cabling must give.
#[derive(Debug, Default, PartialEq, Eq)]
struct Truth {
    cables: BTreeSet<Vec<PortId>>,
    segments: BTreeSet<Vec<PortId>>,
    findings: BTreeSet<(Kind, Vec<PortId>)>,
}

impl Truth {
    fn of(cabling: &Cabling) -> Self {
        let mut truth = Self::default();
        for (ports, medium) in &cabling.media {
            let mut here: Vec<PortId> = ports.iter().copied().filter(|port| cabling.is_here(port)).collect();
            let broken = here.clone();
            here.sort_unstable();
            match (medium, here.len()) {
                (_, 0) => {}
                (Medium::Nothing, _) => drop(truth.findings.insert((Kind::Dead, here))),
                (Medium::Strangers, _) => drop(truth.findings.insert((Kind::Strangers, here))),
                (Medium::Broken, 2) => drop(truth.findings.insert((Kind::OneWay, broken))),
                (Medium::SmallSwitch, 1) => drop(truth.findings.insert((Kind::Alone, here))),
                (_, 1) => drop(truth.findings.insert((Kind::Silent, here))),
                // A switch that is quiet and joins two NICs cannot be told from a cable.
                (Medium::Cable | Medium::Switch, 2) if here[0].host == here[1].host => {
                    truth.findings.insert((Kind::Loop, here));
                }
                (Medium::Cable | Medium::Switch, 2) => drop(truth.cables.insert(here)),
                _ => drop(truth.segments.insert(here)),
            }
        }
        for (twin, of) in cabling.twins.iter().filter(|(twin, _)| cabling.is_here(twin)) {
            match cabling.medium(*of).1 {
                // Two interfaces without a carrier may be two ports.
                Medium::Nothing => {
                    truth.findings.insert((Kind::Dead, vec![*twin]));
                    truth.findings.insert((Kind::SharedMac, vec![*of, *twin]));
                }
                _ => drop(truth.findings.insert((Kind::SamePort, vec![*of, *twin]))),
            }
        }
        truth
    }
}

#[test]
fn a_thousand_random_cablings_are_recovered_exactly() {
    REPLAY.each(CABLINGS, |seed| {
        let mut random = Random::new(seed);
        let cabling = Cabling::random(&mut random);
        let graph = infer(&sights(&cabling, &mut random));
        let found = Truth {
            cables: graph.cables.iter().map(|ends| ends.to_vec()).collect(),
            segments: graph.segments.iter().map(|segment| segment.ports.clone()).collect(),
            findings: graph.findings.iter().map(|finding| (finding.kind, finding.ports.clone())).collect(),
        };
        assert_eq!(found.cables.len(), graph.cables.len(), "no cable comes twice");
        assert_eq!(found, Truth::of(&cabling), "seed {seed}: {cabling:?}");
    });
}
