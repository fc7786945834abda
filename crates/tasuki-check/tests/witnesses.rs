//! Ports of switches as witnesses, in made-up answers: which direction of a cable is named, and when nothing
//! is said.

use std::collections::BTreeMap;
use tasuki_check::{
    Finding, Kind, Part,
    judge::{
        network::{Stream, Suspicion, findings},
        witness::{Witness, merge, unasked},
    },
};
use tasuki_cluster::{Cluster, HostId, NicId, generate};
use tasuki_switch::{PortSample, SwitchAnswer, SwitchError, SwitchSample};

fn cluster() -> Cluster {
    generate::generate(&"star:3".parse().unwrap(), &generate::Options::default()).unwrap()
}

fn nic(host: usize) -> NicId {
    NicId { host: HostId(host), index: 0 }
}

/// Answers of a switch whose port 1 has these numbers of damaged frames and of frames that had no room.
fn answer(uptime: u32, damaged: u32, dropped: u32) -> Vec<SwitchAnswer> {
    let port = |port, damaged, dropped| PortSample {
        port,
        uptime,
        receive_errors: Some(damaged),
        send_dropped: Some(dropped),
        up: Some(true),
        rate: Some(1_000_000_000),
        ..PortSample::default()
    };
    let ports = vec![port(1, damaged, dropped), port(2, 5, 0), port(3, 5, 0)];
    vec![SwitchAnswer { switch: "sw1".into(), answer: Ok(SwitchSample { ports, problems: Vec::new() }) }]
}

/// The evidence of a loss of frames from the first host, or to it.
fn evidence(witness: &Witness, outwards: bool, damaged: &BTreeMap<NicId, u64>) -> String {
    let directions = if outwards { vec![[nic(0), nic(1)]] } else { vec![[nic(1), nic(0)]] };
    let suspicion = Suspicion { kind: Kind::Loss, nic: nic(0), outwards, directions };
    let stream = Stream { sent: 4000, arrived: 3900, ..Stream::default() };
    let found = findings(&cluster(), &[(suspicion, vec![stream])], witness, damaged);
    let [finding] = found.try_into().expect("one finding");
    assert_eq!(finding.part, Part::Cable("n1:eth1 - sw1:1".into()));
    finding.evidence.join("\n")
}

#[test]
fn the_direction_is_told_by_who_counts() {
    let none = BTreeMap::new();
    let witness = Witness::new(&cluster(), &answer(100, 7, 0), &answer(900, 29, 0));
    let said = evidence(&witness, true, &none);
    assert!(said.contains("the switch has counted 22 damaged frames from n1:eth1 at sw1:1"), "{said}");
    // What comes to the host is not what the port counts.
    let said = evidence(&witness, false, &none);
    assert!(!said.contains("22"), "{said}");
    let said = evidence(&witness, false, &BTreeMap::from([(nic(0), 31)]));
    assert!(
        said.contains("n1:eth1 has counted 31 damaged frames itself") && said.contains("by sw1:1"),
        "{said}"
    );
    let witness = Witness::new(&cluster(), &answer(100, 7, 1), &answer(900, 7, 41));
    let said = evidence(&witness, true, &none);
    assert!(said.contains("no damaged frame from n1:eth1 at sw1:1") && !said.contains("no room"), "{said}");
    assert!(evidence(&witness, false, &none).contains("no room for 40 frames for n1:eth1 at sw1:1"));
}

#[test]
fn a_switch_that_began_anew_or_is_silent_says_nothing() {
    let silent = || {
        let error = SwitchError::Silent { address: "192.168.1.2".into() };
        vec![SwitchAnswer { switch: "sw1".into(), answer: Err(error) }]
    };
    let without = evidence(&Witness::default(), true, &BTreeMap::new());
    for (before, after) in [
        (answer(900, 7, 0), answer(100, 9, 0)),
        (answer(100, 7, 0), silent()),
        (silent(), answer(100, 7, 0)),
        (Vec::new(), answer(100, 7, 0)),
    ] {
        let witness = Witness::new(&cluster(), &before, &after);
        assert_eq!(evidence(&witness, true, &BTreeMap::new()), without);
        assert_eq!(witness.errors(&cluster(), 60.0, 0.0), []);
    }
    let [finding] = unasked(&silent()).try_into().expect("one finding");
    assert!(finding.warning && finding.part == Part::Switch("sw1".into()), "{finding:?}");
    assert!(finding.says.contains("no answer by SNMP from 192.168.1.2"), "{finding:?}");
    assert_eq!(unasked(&answer(1, 0, 0)), []);
}

#[test]
fn damage_that_only_the_switch_counts_accuses_the_cable() {
    let witness = Witness::new(&cluster(), &answer(100, 7, 0), &answer(900, 29, 0));
    let found = witness.errors(&cluster(), 60.0, 1000.0);
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((finding.kind, &finding.part), (Kind::Errors, &Part::Cable("n1:eth1 - sw1:1".into())));
    assert!(finding.says.contains("22 damaged frames from n1:eth1 at sw1:1, 1320 an hour"), "{finding:?}");
    assert_eq!(witness.errors(&cluster(), 60.0, 1400.0), []);
    // What a NIC has counted on the same cable is the same finding.
    let of_nic =
        Finding::new(1, Kind::Errors, finding.part.clone(), "n1:eth1: rx_crc_errors grew", "change it");
    let mut all = vec![of_nic];
    merge(&mut all, found.clone());
    assert_eq!((all.len(), all[0].evidence.as_slice()), (1, [finding.says.clone()].as_slice()));
    assert_eq!(witness.rows(&cluster())[0], ["sw1:1", "n1:eth1", "22", "-", "0"]);
}
