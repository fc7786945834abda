//! `apply` while `tasuki watch` runs. Needs root: every test has a network namespace of its own, by its
//! thread.

use nix::sched::{CloneFlags, unshare};
use std::process::Command;
use tasuki_cluster::{AddressPlan, Cluster, HostId, generate};
use tasuki_host::{Key, Mode, NicWish, Rerouting, Setup, Wanted};

fn ip(words: &str) -> String {
    let output = Command::new("ip").args(words.split(' ')).output().expect("ip runs");
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Two hosts with two cables between them, and what n1 is to have, in a namespace that has the NICs of n1.
fn host() -> Option<(Cluster, Wanted)> {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "needs root");
        eprintln!("skipped: needs root");
        return None;
    }
    for number in [1, 2] {
        ip(&format!("link add eth{number} type veth peer name far{number}"));
        ip(&format!("link set far{number} up"));
    }
    let shape = "pair:2".parse().expect("a shape");
    let cluster = generate::generate(&shape, &generate::Options::default()).expect("a cluster");
    let plan = AddressPlan::new(&cluster).expect("a plan");
    let mut wanted = Wanted::new(&cluster, &plan, HostId(0), None);
    // Files belong to the machine and not to the namespace, so the test leaves them out.
    wanted.files.clear();
    wanted.names.clear();
    wanted.watched = true;
    Some((cluster, wanted))
}

/// A driver that resets a NIC takes its link down for seconds. The watch leads around it meanwhile: that is
/// not a change that the kernel did not keep, and the watch takes it back by itself.
#[test]
fn a_route_that_the_watch_changes_meanwhile_is_no_failure() {
    let Some((_, mut wanted)) = host() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut setup = Setup::open("n1", folder.path(), Mode::Change, false).expect("opens");
    let report = setup.apply(&wanted, &mut |_| ()).expect("applies");
    assert!(report.done && report.problems.is_empty(), "{:?}", report.problems);
    let planned = ip("route show 10.77.0.2");
    assert!(planned.contains("eth1") && planned.contains("eth2"), "{planned}");

    wanted.plan.links[0].mtu = 1400;
    let mut around = |step: usize| {
        if step == 1 {
            ip("route replace 10.77.0.2 via 10.78.2.1 dev eth1 src 10.77.0.1 onlink");
        }
    };
    let report = setup.apply(&wanted, &mut around).expect("applies");
    assert!(report.done && report.problems.is_empty(), "{:?}", report.problems);
    assert!(!ip("route show 10.77.0.2").contains("eth2"), "it is the watch's to take back");

    // A change of another program is found, and so is a setting that was not kept.
    let look = setup.apply(&Wanted { watched: false, ..wanted.clone() }, &mut |_| ()).expect("applies");
    assert!(look.changes.iter().any(|change| matches!(change.key, Key::Route { .. })), "{:?}", look.changes);
    wanted.plan.links[0].mtu = 1300;
    let mut away = |step: usize| {
        if step == 1 {
            ip("link set eth1 mtu 1500");
        }
    };
    let report = setup.apply(&wanted, &mut away).expect("applies");
    assert!(
        report.problems.iter().any(|problem| problem.contains("was set to 1300")),
        "{:?}",
        report.problems
    );
}

/// A NIC that was not there when all others were given their offloads has its driver's when it comes.
#[test]
fn a_late_nic_gets_what_all_others_were_given() {
    let Some((_, mut wanted)) = host() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    wanted.nics = NicWish { offloads: Some(false), rings: None };
    ip("link del eth2");
    let mut early = wanted.clone();
    early.plan.leave_out(&["eth2".to_owned()]);
    let apply = |wanted: &Wanted, mode| {
        let mut setup = Setup::open("n1", folder.path(), mode, false).expect("opens");
        setup.apply(wanted, &mut |_| ()).expect("applies")
    };
    let report = apply(&early, Mode::Change);
    assert!(report.done && report.problems.is_empty(), "{:?}", report.problems);

    ip("link add eth2 type veth peer name far2");
    ip("link set far2 up");
    let of_late = |wanted: &Wanted| {
        let all = apply(wanted, Mode::Show).changes.into_iter().map(|change| change.key);
        let all = all.filter(|key| matches!(key, Key::Offload { interface, .. } if interface == "eth2"));
        all.collect::<Vec<_>>()
    };
    assert!(!of_late(&wanted).is_empty(), "a new veth has offloads");
    let mut watch = Rerouting::open("n1").expect("opens");
    assert!(watch.set_up_again(&wanted.plan, "eth2", None, folder.path()).expect("sets it up"));
    assert_eq!(of_late(&wanted), []);
    // The record has what it was before, so that `undo` gives it back.
    let mut setup = Setup::open("n1", folder.path(), Mode::Change, false).expect("opens");
    assert!(setup.undo(&mut |_| ()).expect("restores").done);
    drop(setup);
    assert!(!of_late(&wanted).is_empty());
}
