//! Starting and ending labs: nothing stays behind, whatever ends them.

use crate::support::{
    MARK, Machine, TestLab, all_namespaces, background, eventually, marked, namespaces, ok, seed,
    skip_without_root, tasuki, unique,
};
use std::{collections::BTreeSet, io::Read, thread, time::Duration};
use tasuki_random::Random;

/// Namespaces of the processes of a lab that are not this process's own.
fn lab_namespaces(mark: &str) -> BTreeSet<String> {
    let own = namespaces(std::process::id() as i32);
    marked(mark).into_iter().flat_map(namespaces).filter(|name| !own.contains(name)).collect()
}

#[test]
fn down_leaves_nothing_and_touches_nothing() {
    if skip_without_root("down_leaves_nothing_and_touches_nothing") {
        return;
    }
    let before = Machine::look();
    let lab = TestLab::up("down", &["--shape", "full:4"]);
    let theirs = lab_namespaces(&lab.name);
    // Per host: network, mounts, UTS, IPC, processes; and the lab's own without UTS.
    assert_eq!(theirs.len(), 4 * 5 + 4, "{theirs:?}");
    assert_eq!(Machine::look(), before, "while the lab is up");
    lab.down();
    assert_eq!(marked(&lab.name), Vec::<i32>::new());
    // A zombie still shows its PID namespace until the machine's process 1 has reaped it.
    eventually("the namespaces to go", || all_namespaces().is_disjoint(&theirs));
    assert_eq!(Machine::look(), before, "after down");
    let names = ok(tasuki().args(["lab", "list"]));
    assert!(!names.lines().any(|name| name == lab.name), "{names}");
}

#[test]
fn two_labs_of_the_same_cluster_live_side_by_side() {
    if skip_without_root("two_labs_of_the_same_cluster_live_side_by_side") {
        return;
    }
    let (one, two) =
        (TestLab::up("side", &["--shape", "full:2"]), TestLab::up("side", &["--shape", "full:2"]));
    one.run("n1", &["touch", "/tmp/one"]);
    assert!(!two.exec("n1", &["test", "-e", "/tmp/one"]).status().expect("runs").success());
    // Both labs have the same addresses, and hosts reach those of their own lab: n2 of `one` serves, and only
    // n1 of `one` connects.
    one.fault("cut", &["all"]);
    assert_eq!(one.status()["cables"][0]["carrier"], false);
    assert_eq!(two.status()["cables"][0]["carrier"], true);
    one.down();
    assert_eq!(two.run("n1", &["hostname"]).trim(), "n1");
}

#[test]
fn a_foreground_lab_ends_with_ctrl_c() {
    if skip_without_root("a_foreground_lab_ends_with_ctrl_c") {
        return;
    }
    let before = Machine::look();
    let name = unique("foreground");
    let mut up = tasuki();
    up.args(["lab", "up", "--shape", "full:2", "--foreground", "--name", &name]).env(MARK, &name);
    let mut up = background(&mut up);
    let is_up = || tasuki().args(["lab", "status", &name]).output().is_ok_and(|o| o.status.success());
    eventually("the lab to be up", is_up);
    let pid = nix::unistd::Pid::from_raw(up.0.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("signals");
    assert!(up.0.wait().expect("ends").success());
    assert_eq!(marked(&name), Vec::<i32>::new());
    assert_eq!(Machine::look(), before);
}

#[test]
fn killing_up_at_any_moment_leaves_nothing() {
    if skip_without_root("killing_up_at_any_moment_leaves_nothing") {
        return;
    }
    let test = "killing_up_at_any_moment_leaves_nothing";
    let mut random = Random::new(seed(test));
    let before = Machine::look();
    let (mut killed_early, mut complete) = (0, 0);
    for round in 0..100 {
        let name = unique("kill");
        let mut up = tasuki();
        up.args(["lab", "up", "--shape", "full:4", "--name", &name]).env(MARK, &name);
        let mut up = background(&mut up);
        thread::sleep(Duration::from_micros(random.below(150_000)));
        up.0.kill().expect("kills");
        up.0.wait().expect("ends");
        let mut said = String::new();
        up.0.stderr.take().expect("piped").read_to_string(&mut said).expect("reads");
        // If it is killed in its very last moment, between announcing the lab and ending, it may have done
        // its work: then the lab is up, complete, and answers.
        let announced = said.contains("is up");
        let is_up = || tasuki().args(["lab", "status", &name]).output().is_ok_and(|o| o.status.success());
        let settled = || marked(&name).is_empty() || (announced && is_up());
        eventually(&format!("round {round}: {name} to be gone, or up (announced: {announced})"), settled);
        if announced {
            complete += 1;
            // The lab may also be gone.
            let _ = tasuki().args(["lab", "down", &name]).output();
        } else {
            killed_early += 1;
        }
        eventually(&format!("round {round}: every process of {name} to end"), || marked(&name).is_empty());
    }
    eprintln!("{test}: {killed_early} killed while building, {complete} complete");
    assert!(killed_early > 0, "no round was early enough: the test shows nothing");
    assert_eq!(Machine::look(), before);
}

#[test]
fn sixty_four_hosts_stand() {
    if skip_without_root("sixty_four_hosts_stand") {
        return;
    }
    let lab = TestLab::up("many", &["--shape", "star:64"]);
    assert_eq!(lab.status()["hosts"].as_array().expect("hosts").len(), 64);
    assert_eq!(lab.run("n64", &["hostname"]).trim(), "n64");
}
