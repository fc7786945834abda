//! `tasuki apply` over a real ssh: one of a lab's hosts runs the command, the others run sshd on the
//! management network.

use crate::support::{
    TestLab, ok, skip_without_root,
    ssh::Ssh,
    state::{same_of_all, whole_of_all},
    tasuki, text,
};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

const TASUKI: &str = "/run/tasuki/bin/tasuki";

/// Writes the lab's cluster file with the addresses at which ssh reaches each host.
fn cluster_file(folder: &Path) {
    let text = ok(tasuki().args(["cluster", "new", "full:3"]));
    let with_ways = (1..=3).fold(text, |text, number| {
        let name = format!("name = \"n{number}\"\n");
        text.replace(&name, &format!("{name}management = \"root@198.18.0.{number}\"\n"))
    });
    fs::write(folder.join("cluster.toml"), with_ways).expect("writes");
}

#[test]
fn a_control_machine_sets_all_hosts_up_over_ssh() {
    let test = "a_control_machine_sets_all_hosts_up_over_ssh";
    if skip_without_root(test) {
        return;
    }
    let Some(sshd) = Ssh::prepare(test) else { return };
    cluster_file(sshd.path());
    let lab = TestLab::up("ssh", &["--shape", "full:3", "--bare"]);
    for host in ["n1", "n2", "n3"] {
        sshd.serve(&lab, host);
    }
    let before = whole_of_all(&lab);
    let ssh = format!("ssh -F {}/ssh_config", sshd.path().display());
    let run = |verb: &str, remote: &str| {
        let argv = [TASUKI, verb, "cluster.toml", "--ssh", &ssh, "--remote", remote];
        let mut command = lab.exec("n1", &argv);
        command.current_dir(sshd.path());
        command
    };
    // There is no tasuki on the other hosts.
    let output = run("apply", "/no/such/tasuki").output().expect("runs");
    let said = text(&output);
    assert!(!output.status.success() && said.contains("n2") && said.contains("--remote"), "{said}");
    same_of_all("after a refusal", &before, &lab);
    let done = ok(&mut run("apply", TASUKI));
    assert_eq!(done.matches("changed").count(), 3, "{done}");
    assert_eq!(ok(&mut run("apply", TASUKI)).matches("nothing to do").count(), 3);
    ok(&mut run("status", TASUKI));
    ok(&mut run("diff", TASUKI));
    ok(&mut run("undo", TASUKI));
    same_of_all("after undo", &before, &lab);
    // One host does not answer, so nothing is changed on the others.
    lab.sh(
        "n3",
        "pid=$(cat /proc/[0-9]*/comm > /dev/null; for p in /proc/[0-9]*; do \
                  [ \"$(cat $p/comm 2> /dev/null)\" = sshd ] && echo ${p#/proc/}; done); kill $pid",
    );
    let output = run("apply", TASUKI).output().expect("runs");
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    for word in ["n3", "198.18.0.3", "does not answer", "no host was changed"] {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
    same_of_all("after a refusal", &before, &lab);
}

/// A script that runs ssh, and finds addresses of hosts as a machine with a name server does: in `/etc/hosts`
/// first, and then those of the management network.
fn ssh_with_names(folder: &Path) -> String {
    let script = format!(
        "#!/bin/sh\nfor word; do [ \"$last\" != -- ] || break; last=$word; done\n\
         at=$(awk -v name=\"$word\" '$2 == name {{ print $1; exit }}' /etc/hosts)\n\
         exec ssh -F {}/ssh_config -o HostName=${{at:-198.18.0.${{word#n}}}} \"$@\"\n",
        folder.display()
    );
    let file = folder.join("ssh-with-names");
    fs::write(&file, script).expect("writes");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("sets");
    file.display().to_string()
}

/// After `apply` the names of hosts lead over the cables, also for ssh from one of them: hosts refuse to take
/// away what carries this login, until the host that it comes from has its own names back.
#[test]
fn down_restores_hosts_that_are_given_by_names() {
    let test = "down_restores_hosts_that_are_given_by_names";
    if skip_without_root(test) {
        return;
    }
    let Some(sshd) = Ssh::prepare(test) else { return };
    let file = ok(tasuki().args(["cluster", "new", "full:3"]));
    fs::write(sshd.path().join("cluster.toml"), file).expect("writes");
    let lab = TestLab::up("names", &["--shape", "full:3", "--bare"]);
    for host in ["n1", "n2", "n3"] {
        sshd.serve(&lab, host);
    }
    let before = whole_of_all(&lab);
    let ssh = ssh_with_names(sshd.path());
    let run = |verb: &str| {
        let argv = [TASUKI, verb, "cluster.toml", "--ssh", &ssh, "--remote", TASUKI];
        let mut command = lab.exec("n1", &argv);
        command.current_dir(sshd.path());
        command
    };
    ok(tasuki().args(["apply", "--lab", &lab.name]));
    let names = lab.run("n1", &["cat", "/etc/hosts"]);
    assert!(names.contains("10.77.0.2        n2"), "{names}");
    let output = run("undo").output().expect("runs");
    let said = text(&output);
    assert!(!output.status.success() && said.contains("you are logged in over"), "{said}");
    ok(&mut run("down"));
    same_of_all("after down", &before, &lab);
}

/// One host was started again: its name leads the others to an address that it has not any more.
#[test]
fn a_host_that_was_started_again_is_told_from_one_that_is_off() {
    let test = "a_host_that_was_started_again_is_told_from_one_that_is_off";
    if skip_without_root(test) {
        return;
    }
    let Some(sshd) = Ssh::prepare(test) else { return };
    let file = ok(tasuki().args(["cluster", "new", "full:2"]));
    fs::write(sshd.path().join("cluster.toml"), file).expect("writes");
    let lab = TestLab::up("again", &["--shape", "full:2", "--bare"]);
    for host in ["n1", "n2"] {
        sshd.serve(&lab, host);
    }
    let ssh = ssh_with_names(sshd.path());
    let run = |argv: &[&str]| {
        let mut command = lab.exec("n1", &[&[TASUKI], argv, &["--ssh", &ssh, "--remote", TASUKI]].concat());
        command.current_dir(sshd.path());
        command
    };
    ok(&mut run(&["apply", "cluster.toml", "--no-watch"]));
    lab.sh(
        "n2",
        "sed -i -E 's/\"boot\": \"[^\"]*\"/\"boot\": \"before\"/' /run/tasuki-state/changes.json
        ip link del tasuki0; ip addr flush dev eth1; ip route flush proto 116; rm /run/tasuki/rails.json",
    );
    let output = run(&["apply", "cluster.toml"]).output().expect("runs");
    let said = text(&output);
    for word in ["n2: it does not answer", "leads to 10.77.0.2", "`sudo tasuki down cluster.toml`"] {
        assert!(!output.status.success() && said.contains(word), "{word:?} is not in: {said}");
    }
    // What it advises works.
    ok(&mut run(&["down", "cluster.toml"]));
    ok(&mut run(&["apply", "cluster.toml"]));
    ok(&mut run(&["diff", "cluster.toml"]));
    ok(&mut run(&["down", "cluster.toml"]));
}
