use crate::{
    describe::Description,
    reach::bare_host,
    revise::tests::{add_heard, cluster, description},
    revised,
};
use tasuki_cluster::{Cable, Cluster, End, HostId, NicId};

/// What is found of a cluster in which some hosts do not answer, and nothing else has changed: two NICs that
/// hear each other are a cable, more of them a switch. The first host that answers is described with all
/// that are joined with it by others that answer, which are all but those in `apart`.
fn found_without(known: &Cluster, absent: &[usize], apart: &[usize]) -> Description {
    let is_there = |host: &usize| !absent.contains(host) && !apart.contains(host);
    let there: Vec<usize> = (0..known.hosts.len()).filter(is_there).collect();
    let mut cluster = Cluster { switches: Vec::new(), cables: Vec::new(), ..known.clone() };
    cluster.hosts = there.iter().map(|&host| known.hosts[host].clone()).collect();
    let place = |end: End| match end {
        End::Nic(nic) => {
            let host = there.iter().position(|&host| host == nic.host.0)?;
            Some(End::Nic(NicId { host: HostId(host), ..nic }))
        }
        End::Port { .. } => None,
    };
    for number in 0..known.switches.len() {
        let is_here = |end: &End| matches!(end, End::Port { switch, .. } if switch.0 == number);
        let here = known.cables.iter().filter(|cable| cable.ends.iter().any(is_here));
        let nics: Vec<End> = here.filter_map(|cable| cable.ends.into_iter().find_map(place)).collect();
        add_heard(&mut cluster, &nics);
    }
    let direct = known.cables.iter().filter_map(|cable| Some([place(cable.ends[0])?, place(cable.ends[1])?]));
    direct.for_each(|ends| add_heard(&mut cluster, &ends));
    let names = |hosts: &[usize]| hosts.iter().map(|&at| known.hosts[at].name.clone()).collect::<Vec<_>>();
    Description {
        absent: names(absent).into_iter().map(|name| bare_host(name, None)).collect(),
        apart: names(apart).into_iter().collect(),
        ..description(cluster)
    }
}

/// A machine that is switched off, or that ssh does not reach, is not taken out of the file.
#[test]
fn hosts_that_do_not_answer_stay_as_they_were_with_their_cables() {
    for (shape, absent, apart) in [
        ("full:4", &[2][..], &[][..]),
        ("full:4", &[0], &[]),
        ("pair:2", &[1], &[]),
        ("ring:5", &[1], &[]),
        ("ring:5", &[1, 2], &[]),
        // The hosts between them are away, so they hear nobody.
        ("ring:4", &[0, 2], &[3]),
        ("star:2", &[1], &[]),
        ("star:3", &[2], &[]),
        ("star:4", &[3], &[]),
        ("star:4", &[1, 2, 3], &[]),
        ("star:6", &[0, 4], &[]),
        ("planes:4x2", &[1, 3], &[]),
        ("planes:5x3", &[1], &[]),
        ("mixed:6/3", &[0, 4], &[]),
    ] {
        let mut known = cluster(shape);
        known.hosts[absent[0]].cores = Some(12);
        known.cables.iter_mut().for_each(|cable| cable.length_m = Some(0.5));
        let found = found_without(&known, absent, apart);
        assert_eq!(revised(&known, &found).to_toml(), known.to_toml(), "{shape} without {absent:?}");
    }
}

#[test]
fn hosts_that_were_not_asked_or_are_cabled_to_nobody_go() {
    let known = cluster("full:4");
    let mut found = found_without(&known, &[2], &[]);
    found.absent.clear();
    let names = |cluster: Cluster| cluster.hosts.into_iter().map(|host| host.name).collect::<Vec<_>>();
    assert_eq!(names(revised(&known, &found)), ["n1", "n2", "n4"]);
    // Host 2 answers, and nobody that is away can be the reason why it hears nobody.
    let mut known = cluster("star:4");
    let end = known.cables[2].ends.into_iter().find(|end| matches!(end, End::Nic(_))).unwrap();
    known.cables.remove(2);
    assert!(known.cable_at(end).is_none());
    let found = found_without(&known, &[3], &[2]);
    assert_eq!(names(revised(&known, &found)), ["n1", "n2", "n4"]);
}

/// It is reached by an address, of which the file knows whose it is.
#[test]
fn a_host_that_does_not_answer_is_known_by_its_address() {
    for (own, typed) in [("admin@10.0.0.2", "root@10.0.0.2"), ("lab7.example.org", "LAB7.example.org")] {
        let mut known = cluster("full:3");
        known.hosts[1].management = Some(own.parse().unwrap());
        let mut found = found_without(&known, &[1], &[]);
        found.absent = vec![bare_host("host2".into(), Some(typed.parse().unwrap()))];
        assert_eq!(revised(&known, &found).to_toml(), known.to_toml());
    }
}

/// What is heard counts more than the file.
#[test]
fn a_cable_that_leads_elsewhere_now_is_not_one_to_a_host_that_is_away() {
    let known = cluster("full:3");
    let mut found = found_without(&known, &[2], &[]);
    let free = |host: usize, cluster: &Cluster| {
        let nics = (0..2).map(|index| End::Nic(NicId { host: HostId(host), index }));
        nics.into_iter().find(|end| cluster.cable_at(*end).is_none()).unwrap()
    };
    let ends = [free(0, &found.cluster), free(1, &found.cluster)];
    found.cluster.cables.push(Cable { ends, length_m: None });
    let revised = revised(&known, &found);
    assert_eq!((revised.hosts.len(), revised.cables.len()), (3, 2));
    assert!(revised.cables.iter().flat_map(|cable| cable.ends).all(|end| match end {
        End::Nic(nic) => nic.host.0 < 2,
        End::Port { .. } => false,
    }));
}
