//! `tasuki discover` on real network namespaces: the cabling that a lab was built with is the oracle.

use crate::support::{TestLab, ok, skip_without_root, ssh::Ssh, tasuki, text, unique};
use std::{collections::BTreeSet, path::Path};
use tasuki_cluster::{Cluster, End};

const TASUKI: &str = "/run/tasuki/bin/tasuki";

/// What is joined to what, whatever the order of a file and the names and ports of its switches: the two NICs
/// of each cable between hosts, and the NICs of each switch.
fn joined(cluster: &Cluster) -> BTreeSet<BTreeSet<String>> {
    let name = |end: &End| match end {
        End::Nic(nic) => Some(cluster.nic_name(*nic)),
        End::Port { .. } => None,
    };
    let mut switches = vec![BTreeSet::new(); cluster.switches.len()];
    let mut all = BTreeSet::new();
    for cable in &cluster.cables {
        match &cable.ends {
            [End::Nic(_), End::Nic(_)] => _ = all.insert(cable.ends.iter().filter_map(name).collect()),
            [nic @ End::Nic(_), End::Port { switch, .. }] | [End::Port { switch, .. }, nic @ End::Nic(_)] => {
                switches[switch.0].extend(name(nic));
            }
            _ => panic!("a cable between switches"),
        }
    }
    all.extend(switches);
    all
}

fn load(file: &Path) -> BTreeSet<BTreeSet<String>> {
    joined(&Cluster::load(file).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}

#[test]
fn the_cabling_of_labs_is_recovered() {
    if skip_without_root("the_cabling_of_labs_is_recovered") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for shape in ["mixed:6/3", "pair:3", "ring:5", "planes:4x2", "torus:3x3"] {
        let built = folder.path().join(format!("{}.toml", unique("built")));
        let found = folder.path().join(format!("{}.toml", unique("found")));
        ok(tasuki().args(["cluster", "new", shape, "-o"]).arg(&built));
        let lab = TestLab::up("discover", &["--bare", &built.display().to_string()]);
        // A NIC that is down is brought up for the moment, and is down again after that.
        lab.run("n1", &["ip", "link", "set", "eth1", "down"]);
        ok(tasuki().args(["discover", "--lab", &lab.name, "--time", "2s", "-o"]).arg(&found));
        assert_eq!(load(&found), load(&built), "{shape}");
        assert!(!lab.run("n1", &["ip", "-o", "link", "show", "eth1"]).contains(",UP"), "{shape}");
    }
}

#[test]
fn a_file_that_is_there_gets_a_patch_and_keeps_what_a_person_has_written() {
    let test = "a_file_that_is_there_gets_a_patch_and_keeps_what_a_person_has_written";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    let (lab, moved) = (
        TestLab::up("patch", &["--shape", "ring:4", "--bare"]),
        TestLab::up("patched", &["--shape", "full:4", "--bare"]),
    );
    let discover = |lab: &TestLab, argv: &[&str]| {
        let mut command = tasuki();
        command.args(["discover", "--lab", &lab.name, "--time", "2s", "-o"]).arg(&file).args(argv);
        command.output().expect("runs")
    };
    let picture = folder.path().join("picture.svg");
    assert!(discover(&lab, &["--picture", &picture.display().to_string()]).status.success());
    assert!(std::fs::read_to_string(&picture).expect("written").contains("<svg"));
    let written = std::fs::read_to_string(&file).expect("written");
    let own = written.replacen("name = \"n3\"\n", "name = \"n3\"\ncores = 12\n", 1);
    std::fs::write(&file, &own).expect("writes");
    let same = discover(&lab, &[]);
    assert!(same.status.success() && text(&same).contains("describes what was found"), "{}", text(&same));
    // Another lab stands for the same hosts after they were cabled anew.
    let differs = discover(&moved, &[]);
    let said = text(&differs);
    assert_eq!(differs.status.code(), Some(1), "{said}");
    for word in ["--- ", "@@ -", "+", "eth3", "--write changes the file so"] {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("there"), own, "nothing was written");
    assert!(discover(&moved, &["--write"]).status.success());
    let now = Cluster::load(&file).expect("a cluster file");
    let shape: Cluster =
        Cluster::parse(&ok(tasuki().args(["cluster", "new", "full:4"])), None).expect("a cluster");
    assert_eq!((joined(&now), now.hosts[2].cores), (joined(&shape), Some(12)));
    // What is no cluster file is not touched.
    std::fs::write(&file, "precious").expect("writes");
    let refused = discover(&lab, &["--write"]);
    assert!(!refused.status.success() && text(&refused).contains("is no cluster file"), "{}", text(&refused));
}

#[test]
fn one_machine_alone_says_what_its_nics_hear() {
    if skip_without_root("one_machine_alone_says_what_its_nics_hear") {
        return;
    }
    let lab = TestLab::up("alone", &["--shape", "ring:3", "--bare"]);
    let output = lab.exec("n1", &[TASUKI, "discover", "--local", "--time", "1s"]).output().expect("runs");
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    // Whether the machines at the other ends happen to send something is chance.
    for nic in ["n1:eth1", "n1:eth2"] {
        let heard = ["has a carrier, and nobody was heard", "hears machines that are not in the list"];
        let is_told = heard.iter().any(|words| said.contains(&format!("{nic} {words}")));
        assert!(is_told, "{nic}: {said}");
    }
    assert!(said.contains("no cable between hosts was found"), "{said}");
}

#[test]
fn hosts_found_over_ssh_are_set_up_by_the_file() {
    let test = "hosts_found_over_ssh_are_set_up_by_the_file";
    if skip_without_root(test) {
        return;
    }
    let Some(sshd) = Ssh::prepare(test) else { return };
    let lab = TestLab::up("discovers", &["--shape", "full:3", "--bare"]);
    for host in ["n1", "n2", "n3"] {
        sshd.serve(&lab, host);
    }
    let ssh = format!("ssh -F {}/ssh_config", sshd.path().display());
    let hosts = ["root@198.18.0.1", "root@198.18.0.2", "root@198.18.0.3"];
    let over_ssh = |argv: &[&str]| {
        let argv = [&[TASUKI], argv, &["--ssh", &ssh, "--remote", TASUKI]].concat();
        let mut command = lab.exec("n1", &argv);
        command.current_dir(sshd.path());
        command
    };
    let argv = [&["discover", "-o", "found.toml"], &hosts[..]].concat();
    ok(&mut over_ssh(&argv));
    let built = sshd.path().join("built.toml");
    ok(tasuki().args(["cluster", "new", "full:3", "-o"]).arg(&built));
    assert_eq!(load(&sshd.path().join("found.toml")), load(&built));
    let done = ok(&mut over_ssh(&["apply", "found.toml"]));
    assert_eq!(done.matches("changed").count(), 3, "{done}");
    // The sshd of n3 answers at the address that `apply` has given n3, which only the cables lead to.
    let greeting = lab.run("n1", &["bash", "-c", "exec 3<>/dev/tcp/10.77.0.3/22 && head -c 4 <&3"]);
    assert_eq!(greeting, "SSH-");
    ok(&mut over_ssh(&["undo", "found.toml"]));
}
