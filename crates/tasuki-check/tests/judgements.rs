//! Judgements of made-up reports: which part is named, and which is not.

use std::collections::{BTreeMap, BTreeSet};
use tasuki_check::{
    Arrivals, Facts, Finding, Heard, Kind, NicFacts, Part, Report, Tally,
    judge::{
        Segments, blame, counters,
        network::{Stream, Suspicion, findings, is_explained, late, suspicions, unmeasured},
        short_frames::by_switch,
        wiring,
        witness::Witness,
    },
};
use tasuki_cluster::{Cluster, HostId, NicId, generate};

fn cluster(shape: &str) -> Cluster {
    generate::generate(&shape.parse().unwrap(), &generate::Options::default()).unwrap()
}

fn nic(host: usize, index: usize) -> NicId {
    NicId { host: HostId(host), index }
}

fn healthy(cluster: &Cluster) -> Vec<Option<Facts>> {
    let fact =
        |index| NicFacts { index, exists: true, up: true, carrier: true, mtu: 1500, ..NicFacts::default() };
    let hosts = cluster.hosts.iter();
    hosts
        .map(|host| Some(Facts { nics: (0..host.nics.len()).map(fact).collect(), ..Facts::default() }))
        .collect()
}

/// What every NIC hears, if `to` gives the real receivers of a sender.
fn hear(cluster: &Cluster, to: impl Fn(NicId) -> Vec<NicId>) -> Vec<Vec<Tally>> {
    let mut tallies: Vec<Vec<Tally>> = cluster
        .hosts
        .iter()
        .map(|host| (0..host.nics.len()).map(|nic| Tally { nic, ..Tally::default() }).collect())
        .collect();
    for from in cluster.nics() {
        for receiver in to(from) {
            tallies[receiver.host.0][receiver.index].heard.push(Heard {
                sender: (from.host.0 as u16 + 1, from.index as u16 + 1),
                name: cluster.nic_name(from),
                is_ours: true,
                arrivals: Arrivals { frames: 8, ..Arrivals::default() },
            });
        }
    }
    tallies
}

#[test]
fn a_healthy_wiring_is_not_named() {
    for shape in ["full:4", "star:5", "mixed:6/3", "ring:3", "planes:3x2"] {
        let cluster = cluster(shape);
        let segments = Segments::of(&cluster);
        let tallies = hear(&cluster, |from| segments.hearers[&from].clone());
        let wiring = wiring::judge(&cluster, &segments, &healthy(&cluster), &tallies);
        assert_eq!(wiring.findings, [], "{shape}");
        assert_eq!(wiring.live.len(), segments.directions().len());
    }
}

#[test]
fn swapped_cables_are_told_with_both_ends() {
    let cluster = cluster("full:4");
    let segments = Segments::of(&cluster);
    // n1:eth1 should lead to n2:eth1 and n3:eth3 to n4:eth3; their far ends are swapped.
    let real = BTreeMap::from([
        (nic(0, 0), nic(3, 2)),
        (nic(3, 2), nic(0, 0)),
        (nic(2, 2), nic(1, 0)),
        (nic(1, 0), nic(2, 2)),
    ]);
    let tallies = hear(&cluster, |from| {
        real.get(&from).map_or_else(|| segments.hearers[&from].clone(), |to| vec![*to])
    });
    let wiring = wiring::judge(&cluster, &segments, &healthy(&cluster), &tallies);
    let mut says: Vec<_> = wiring.findings.iter().map(|finding| finding.says.as_str()).collect();
    says.sort();
    assert_eq!(
        says,
        [
            "n1:eth1 is plugged into n4:eth3, the plan says n2:eth1",
            "n2:eth1 is plugged into n3:eth3, the plan says n1:eth1",
            "n3:eth3 is plugged into n2:eth1, the plan says n4:eth3",
            "n4:eth3 is plugged into n1:eth1, the plan says n3:eth3",
        ]
    );
}

#[test]
fn the_cable_to_the_switch_is_blamed_for_all_that_it_spoils() {
    let cluster = cluster("star:5");
    let segments = Segments::of(&cluster);
    let inwards: Vec<_> = (0..5).filter(|&host| host != 2).map(|host| [nic(host, 0), nic(2, 0)]).collect();
    let blamed = blame(&segments, &inwards);
    assert_eq!(
        blamed.iter().map(|(nic, outwards, _)| (*nic, *outwards)).collect::<Vec<_>>(),
        [(nic(2, 0), false)]
    );
    // The cable of n3 is dead towards the switch: no NIC hears n3, which is one finding, for its cable.
    let tallies =
        hear(&cluster, |from| if from == nic(2, 0) { Vec::new() } else { segments.hearers[&from].clone() });
    let wiring = wiring::judge(&cluster, &segments, &healthy(&cluster), &tallies);
    let parts: Vec<_> = wiring.findings.iter().map(|finding| (finding.kind, finding.part.clone())).collect();
    assert_eq!(parts, [(Kind::Dead, Part::Cable("n3:eth1 - sw1:3".into()))]);
}

#[test]
fn streams_show_what_is_wrong_and_nothing_else() {
    let well = Stream {
        sent: 4000,
        arrived: 4000,
        sending: 0.2,
        arriving: 0.21,
        wire_bytes: 158,
        ..Stream::default()
    };
    assert_eq!(well.symptoms(), []);
    assert_eq!(Stream { arrived: 3998, ..well }.symptoms(), [], "two of four thousand");
    assert_eq!(Stream { arrived: 3980, ..well }.symptoms(), [Kind::Loss]);
    // A run in which the receiver itself was too slow shows nothing.
    assert_eq!(Stream { arrived: 3980, missed: 20, ..well }.symptoms(), []);
    // Damaged frames are not counted as lost too.
    assert_eq!(Stream { arrived: 3960, damaged: 40, ..well }.symptoms(), [Kind::Damage]);
    assert_eq!(Stream { again: 12, ..well }.symptoms(), [Kind::Duplicates]);
    let full = Stream {
        sent: 300,
        arrived: 300,
        sending: 0.036,
        arriving: 0.036,
        wire_bytes: 1538,
        planned: 100_000_000,
        ..Stream::default()
    };
    assert_eq!(full.symptoms(), []);
    assert_eq!(Stream { arriving: 0.36, arrived: 250, ..full }.symptoms(), [Kind::Slow], "and not loss");
    // A sender that was held up by other work does not make a cable slow. At a tenth of 100 Mbit/s a queue of
    // 64 KiB takes 52 ms, whatever the sender was busy with before.
    let late = Stream { sending: 0.2, arriving: 0.252, arrived: full.sent * 6 / 10, ..full };
    assert_eq!(late.symptoms(), [Kind::Slow], "sent too slowly, and the line slower still");
    let held_up = Stream { sending: 0.36, arriving: 0.36, ..full };
    assert_eq!(held_up.symptoms(), []);
    assert!(held_up.is_void() && !full.is_void(), "it is to be measured again");
    // The kernel's limit of what one socket may have queued (212,992 bytes, 92 full frames) holds the sender
    // up if the NIC's own queue takes more: nothing is lost, and the last frame is sent not long before it
    // arrives.
    let by_its_nic = Stream { sending: 0.27, held: 0.23, arriving: 0.34, ..full };
    assert_eq!(by_its_nic.symptoms(), [Kind::Slow]);
    assert_eq!(Stream { arrived: 0, ..full }.symptoms(), [Kind::Mtu]);
}

/// One fault is one finding: what is blamed already is not reported again as something that could not be
/// measured.
#[test]
fn cables_that_could_not_be_measured_are_told_unless_it_is_known_why() {
    let cluster = cluster("full:3");
    let from = nic(0, 0);
    let hearer = Segments::of(&cluster).hearers[&from][0];
    let told = |known: &[Finding]| unmeasured(&cluster, &BTreeSet::from([[from, hearer]]), known);
    let [finding] = &told(&[])[..] else { panic!("{:?}", told(&[])) };
    assert!(finding.warning && finding.kind == Kind::Unchecked && matches!(finding.part, Part::Cable(_)));
    let with = |kind, part: Part| Finding::new(1, kind, part, "", "");
    assert_eq!(told(&[with(Kind::Slow, finding.part.clone())]), []);
    assert_eq!(told(&[with(Kind::Load, Part::Host("n1".into()))]), []);
    assert_eq!(told(&[with(Kind::Load, Part::Host("n3".into()))]).len(), 1, "n3 is at no end of it");
    assert_eq!(told(&[with(Kind::Mtu, Part::Host("n1".into()))]).len(), 1, "that explains nothing");
}

#[test]
fn the_late_host_is_the_one_on_all_late_cables() {
    let cluster = cluster("ring:6");
    let segments = Segments::of(&cluster);
    let times = |slow: &[usize]| -> BTreeMap<[NicId; 2], (f64, usize)> {
        let time = |[a, b]: &[NicId; 2]| {
            if slow.contains(&a.host.0) || slow.contains(&b.host.0) { 1500.0 } else { 60.0 }
        };
        segments.directions().into_iter().map(|direction| (direction, (time(&direction), 20))).collect()
    };
    let hosts = |times: BTreeMap<_, _>| {
        late(&cluster, &times).into_iter().map(|(host, ..)| host.0).collect::<Vec<_>>()
    };
    assert_eq!(hosts(times(&[])), [0; 0]);
    assert_eq!(hosts(times(&[3])), [3]);
    // Everything is slow: that is a busy machine, and no host's fault.
    assert_eq!(hosts(times(&[0, 1, 2, 3, 4, 5])), [0; 0]);
}

/// rx_missed_errors are frames "due to lack of buffer space in host"
/// (Documentation/networking/statistics.rst): they came over the cable.
#[test]
fn frames_that_a_host_could_not_take_accuse_no_cable() {
    let cluster = cluster("full:3");
    let before = healthy(&cluster);
    let mut after = before.clone();
    after[1].as_mut().unwrap().nics[0].errors = vec![("rx_missed_errors".into(), 10_599)];
    after[2].as_mut().unwrap().nics[1].errors = vec![("rx_crc_errors".into(), 10_599)];
    let missed = counters::missed(&cluster, &before, &after);
    let of = |kind, directions: &[[NicId; 2]]| {
        let [from, _] = directions[0];
        let suspicion = Suspicion { kind, nic: from, outwards: true, directions: directions.to_vec() };
        is_explained(&suspicion, &BTreeSet::new(), &missed)
    };
    let (to_slow, to_damaged) = ([nic(0, 0), nic(1, 0)], [nic(1, 1), nic(2, 1)]);
    assert!(of(Kind::Slow, &[to_slow]) && of(Kind::Loss, &[to_slow]));
    assert!(!of(Kind::Damage, &[to_slow]), "what is damaged has been taken");
    assert!(!of(Kind::Slow, &[[nic(1, 0), nic(0, 0)]]), "the other direction, to a host that took all");
    assert!(!of(Kind::Slow, &[to_damaged]), "damaged frames are the cable's");
    assert!(!of(Kind::Loss, &[to_slow, to_damaged]), "one of two receivers took all that came");
    after[1].as_mut().unwrap().nics[0].errors[0].1 = 3;
    assert!(counters::missed(&cluster, &before, &after)[&nic(1, 0)] == 3, "counted all the same");
}

/// e1000 counts each frame that is longer than its MTU as an error of the receiver.
#[test]
fn a_wrong_mtu_explains_what_the_nic_receives_and_nothing_else() {
    let cluster = cluster("full:2");
    let before = healthy(&cluster);
    let errors = |mtu: u32, counter: &str| {
        let mut after = before.clone();
        let nic = &mut after[1].as_mut().unwrap().nics[0];
        (nic.mtu, nic.errors) = (mtu, vec![(counter.into(), 1988)]);
        counters::errors(&cluster, &before, &after, 60.0, 0.0).len()
    };
    let planned = cluster.nic_of(nic(1, 0)).mtu;
    assert_eq!(errors(planned - 500, "rx_errors"), 0);
    assert_eq!(errors(planned - 500, "tx_errors"), 1);
    assert_eq!(errors(planned, "rx_errors"), 1);
    let mtu = Suspicion {
        kind: Kind::Mtu,
        nic: nic(0, 0),
        outwards: true,
        directions: vec![[nic(0, 0), nic(1, 0)]],
    };
    let short = |nic: NicId| is_explained(&mtu, &BTreeSet::from([nic]), &BTreeMap::new());
    assert!(short(nic(1, 0)) && !short(nic(2, 0)));
}

/// A switch whose longest frame is shorter than the file's loses full frames of all its hosts: it is at
/// fault, and no cable. One cable, or one host, that loses them accuses no switch.
#[test]
fn a_switch_that_passes_short_frames_alone_is_one_finding() {
    let cluster = cluster("star:4");
    let segments = Segments::of(&cluster);
    let told = |is_short: &dyn Fn([NicId; 2]) -> bool| {
        let stream = |direction: [NicId; 2]| Stream {
            sent: 40,
            arrived: if is_short(direction) { 0 } else { 40 },
            sending: 0.1,
            arriving: 0.1,
            wire_bytes: 9014,
            planned: 1_000_000,
            ..Stream::default()
        };
        let all = segments.directions();
        let streams = all.iter().map(|direction| (*direction, vec![stream(*direction)])).collect();
        let confirmed: Vec<_> = suspicions(&segments, &streams)
            .into_iter()
            .map(|suspicion| {
                let streams = suspicion.directions.iter().map(|direction| stream(*direction)).collect();
                (suspicion, streams)
            })
            .collect();
        let found = findings(&cluster, &confirmed, &Witness::default(), &BTreeMap::new());
        by_switch(&cluster, found)
    };
    let [found] = &told(&|_| true)[..] else { panic!("{:?}", told(&|_| true)) };
    assert_eq!((found.kind, found.part.clone()), (Kind::Mtu, Part::Switch("sw1".into())));
    assert!(found.says.contains("4 cables") && found.advice.contains("jumbo"), "{found:?}");
    let one_way = |[from, _]: [NicId; 2]| from == nic(1, 0);
    let both_ways = |[from, to]: [NicId; 2]| [from, to].contains(&nic(1, 0));
    for one in [&one_way as &dyn Fn([NicId; 2]) -> bool, &both_ways] {
        let [found] = &told(one)[..] else { panic!("{:?}", told(one)) };
        assert!(matches!(&found.part, Part::Cable(name) if name.contains("n2:eth1")), "{found:?}");
    }
}

/// As the Nagios plugin guidelines have them: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
#[test]
fn exit_codes_are_those_of_monitoring_plugins() {
    let fault = || Finding::new(1, Kind::Loss, Part::Cable("a - b".into()), "lost", "another cable");
    let warning =
        || Finding::new(1, Kind::Bus, Part::Nic("n1:eth1".into()), "narrow", "another slot").as_warning();
    let unknown = || Finding::new(1, Kind::Unchecked, Part::Host("n2".into()), "silent", "is it on?");
    let code = |findings: Vec<Finding>| Report { findings, ..Report::default() }.exit_code();
    assert_eq!(code(vec![]), 0);
    assert_eq!(code(vec![warning()]), 1);
    assert_eq!(code(vec![warning(), fault()]), 2);
    assert_eq!(code(vec![warning(), fault(), unknown()]), 3);
}
