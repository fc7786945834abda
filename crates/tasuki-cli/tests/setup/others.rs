//! What is not Tasuki's on a host, and does not get in its way either: other users, other programs' filters,
//! other file systems.

use crate::support::{
    TestLab, ok, skip_without_root,
    state::{same_of_all, whole_of_all},
    tasuki, text,
};
use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

/// Runs the rest of a command line as a user who is nobody in particular (nobody, in Debian).
const AS_NOBODY: &str = "setpriv --reuid 65534 --regid 65534 --clear-groups";

fn on_lab(verb: &str, lab: &TestLab, argv: &[&str]) -> String {
    ok(tasuki().args([verb, "--lab", &lab.name]).args(argv))
}

/// Has another user lock a file or folder of a host until the returned process is ended.
fn locked_by_nobody(lab: &TestLab, path: &str) -> Child {
    let script = format!("exec {AS_NOBODY} flock {path} sh -c 'echo held; exec sleep 1000'");
    let mut command = lab.exec("n1", &["sh", "-c", &script]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("runs");
    let mut said = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut said).expect("reads");
    assert_eq!(said, "held\n", "{path}");
    child
}

#[test]
fn other_users_see_what_runs_and_keep_nobody_from_undoing_it() {
    if skip_without_root("other_users_see_what_runs_and_keep_nobody_from_undoing_it") {
        return;
    }
    let lab = TestLab::up("users", &["--shape", "full:2", "--bare"]);
    let before = whole_of_all(&lab);
    on_lab("apply", &lab, &[]);
    let said = lab.sh("n1", &format!("{AS_NOBODY} /run/tasuki/bin/tasuki watch --status --json"));
    let notes: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(notes[0]["host"], "n1", "{said}");
    let held = ["/run/tasuki-state", "/run/tasuki-state/changes.json", "/run/tasuki-watch.json"];
    let held = held.map(|path| locked_by_nobody(&lab, path));
    on_lab("undo", &lab, &[]);
    for mut child in held {
        // The command in the host ends with the one that reaches it.
        child.kill().and_then(|()| child.wait()).expect("it is ended");
    }
    same_of_all("undone", &before, &lab);
}

#[test]
fn filters_of_others_stay_where_striping_was() {
    if skip_without_root("filters_of_others_stay_where_striping_was") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("striped.toml");
    let plain = ok(tasuki().args(["cluster", "new", "full:2", "--copies", "2"]));
    fs::write(&file, plain.replace("[defaults]", "[striping]\n\n[defaults]")).expect("writes");
    let lab = TestLab::up("filters", &[file.to_str().expect("UTF-8"), "--bare"]);
    on_lab("apply", &lab, &[]);
    // A filter in classic BPF (tc-bpf(8)), which takes no packet. It has no number, as programs of eBPF have.
    lab.sh("n1", "tc filter add dev eth1 ingress bpf bytecode '1,6 0 0 0,'");
    lab.sh("n2", "tc filter add dev eth2 egress protocol ip u32 match ip dst 192.0.2.1");
    let undone = text(&tasuki().args(["undo", "--lab", &lab.name]).output().expect("runs"));
    let filters = |host, dev, way| lab.run(host, &["tc", "filter", "show", "dev", dev, way]);
    assert!(filters("n1", "eth1", "ingress").contains("bytecode '1,6 0 0 0'"), "{undone}");
    assert!(filters("n2", "eth2", "egress").contains("u32"), "{undone}");
    assert!(undone.contains("on eth1: other programs have filters there"), "{undone}");
    // Where nobody else has any, nothing stays.
    assert!(!lab.run("n1", &["tc", "qdisc", "show", "dev", "eth2"]).contains("clsact"));
    assert!(!filters("n2", "eth2", "egress").contains("tasuki"));
}

/// Files and folders of an overlay, the root of most containers, are not on one file system (stat(2)).
#[test]
fn the_record_is_replaced_whole_on_an_overlay() {
    if skip_without_root("the_record_is_replaced_whole_on_an_overlay") {
        return;
    }
    let lab = TestLab::up("overlay", &["--shape", "full:2", "--bare"]);
    let mounts = "mkdir /run/o && cd /run/o && mkdir lower upper merged && mount -t tmpfs lower lower && \
                  mount -t tmpfs upper upper && mkdir upper/up upper/work && mount -t overlay overlay -o \
                  lowerdir=lower,upperdir=upper/up,workdir=upper/work merged";
    lab.sh("n1", mounts);
    let state = ["--state-dir", "/run/o/merged/state"];
    on_lab("apply", &lab, &state);
    let inode = || lab.run("n1", &["stat", "-c", "%i", "/run/o/merged/state/changes.json"]);
    let before = inode();
    // There is something to change, which is written down first.
    lab.sh("n1", "ip link set eth1 mtu 1400");
    on_lab("apply", &lab, &state);
    assert_ne!(inode(), before, "a file in the old one's place");
    on_lab("undo", &lab, &state);
    lab.sh("n1", "! test -e /run/o/merged/state");
}
