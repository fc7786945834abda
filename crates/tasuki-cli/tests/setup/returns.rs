//! NICs that are taken out of a running host and put back.

use crate::support::{NIC_OUT, TestLab, eventually, ok, skip_without_root, tasuki, text};

/// Puts it back, with another MTU.
const BACK: &str = "ip -n aside link set eth1 mtu 1400; ip -n aside link set eth1 netns $$";
/// Removes what the two have made.
const TIDY: &str = "ip link del holder; ip netns del aside";

#[test]
fn a_nic_that_is_put_back_is_set_up_again() {
    if skip_without_root("a_nic_that_is_put_back_is_set_up_again") {
        return;
    }
    let lab = TestLab::up("replug", &["--shape", "pair:2", "--bare", "--offloads"]);
    let on_lab = |verb: &str, argv: &[&str]| tasuki().args([verb, "--lab", &lab.name]).args(argv).output();
    ok(tasuki().args(["apply", "--lab", &lab.name, "--offloads", "off"]));
    let is_off = |host: &str| {
        let features = lab.run(host, &["ethtool", "-k", "eth1"]);
        features.contains("tcp-segmentation-offload: off")
    };
    assert!(is_off("n1"));
    let dead = || {
        let said = on_lab("watch", &["--status", "--json"]).expect("runs");
        let notes: serde_json::Value = serde_json::from_slice(&said.stdout).expect("JSON");
        notes.as_array().expect("notes").iter().any(|note| note["dead"].to_string().contains("n1:eth1"))
    };
    // On a busy machine hellos are late at times.
    eventually("no cable is missed", || !dead());
    lab.sh("n1", NIC_OUT);
    eventually("the NIC is missed", dead);
    let diff = || on_lab("diff", &["--offloads", "off"]).expect("runs");
    assert!(!diff().status.success());

    lab.sh("n1", "ip netns exec aside ethtool -K eth1 tso on > /dev/null");
    lab.sh("n1", BACK);
    eventually("the cable lives", || !dead());
    // Address, MTU, settings, neighbours and routes are those of the file, and the offloads as asked for.
    eventually("all is as planned", || {
        let said = diff();
        eprintln!("{}", text(&said));
        said.status.success()
    });
    assert!(is_off("n1"));
    lab.sh("n1", TIDY);
    ok(tasuki().args(["undo", "--lab", &lab.name]));
}

#[test]
fn a_host_without_one_of_its_nics_is_set_up_all_the_same() {
    if skip_without_root("a_host_without_one_of_its_nics_is_set_up_all_the_same") {
        return;
    }
    let lab = TestLab::up("late", &["--shape", "pair:2", "--bare", "--offloads"]);
    lab.sh("n1", NIC_OUT);
    let apply = |argv: &[&str]| {
        let all = ["/run/tasuki/bin/tasuki", "apply", "/run/tasuki/cluster.toml", "--host", "n1"];
        lab.exec("n1", &[&all[..], argv].concat()).output().expect("runs")
    };
    let refused = apply(&[]);
    let said = text(&refused);
    assert!(!refused.status.success() && said.contains("n1: there is no interface eth1"), "{said}");
    assert!(said.contains("--allow-missing"), "{said}");
    // As the unit of --persist does at the start of a machine.
    let done = apply(&["--allow-missing"]);
    let said = text(&done);
    assert!(done.status.success() && said.contains("there is no interface eth1: left out"), "{said}");
    ok(tasuki().args(["apply", "--lab", &lab.name, "--allow-missing", "--offloads", "off"]));
    assert!(lab.run("n1", &["ip", "route", "get", "10.77.0.2"]).contains("dev eth2"));

    lab.sh("n1", BACK);
    eventually("the late NIC is set up", || {
        let said = tasuki().args(["diff", "--lab", &lab.name, "--offloads", "off"]).output().expect("runs");
        eprintln!("{}", text(&said));
        said.status.success()
    });
    // Nothing of it is in the record of the first `apply`, when it was not there.
    let features = lab.run("n1", &["ethtool", "-k", "eth1"]);
    assert!(features.contains("tcp-segmentation-offload: off"), "{features}");
    lab.sh("n1", TIDY);
    ok(tasuki().args(["undo", "--lab", &lab.name]));
    let left = lab.run("n1", &["ip", "address"]);
    assert!(!left.contains(" 10.7"), "{left}");
}
