//! What `tasuki apply` refuses: it says what is wrong and where, and changes nothing on any host. Also the
//! systemd unit of `--persist`.

use crate::support::{
    TestLab, ok, skip_without_root,
    state::{same, same_of_all, whole, whole_of_all},
    tasuki, text,
};
use std::{fs, process::Command};

const ON_N1: [&str; 5] = ["/run/tasuki/bin/tasuki", "apply", "/run/tasuki/cluster.toml", "--host", "n1"];

fn refused(command: &mut Command, argv: &[&str]) {
    let output = command.output().expect("runs");
    let text = text(&output);
    assert!(!output.status.success(), "{text}");
    for word in argv {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

#[test]
fn one_bad_host_stops_all() {
    if skip_without_root("one_bad_host_stops_all") {
        return;
    }
    let lab = TestLab::up("bad", &["--shape", "full:3", "--bare"]);
    let before = whole_of_all(&lab);
    let folder = tempfile::tempdir().expect("a folder");
    let good = ok(tasuki().args(["cluster", "new", "full:3"]));
    let apply = |text: &str| {
        let file = folder.path().join("cluster.toml");
        fs::write(&file, text).expect("writes");
        let mut command = tasuki();
        command.arg("apply").arg(&file).args(["--lab", &lab.name]);
        command
    };
    // The file has another name for the NIC of n2 that leads to n1.
    let (start, rest) = good.split_once("name = \"n2\"").expect("n2");
    let renamed = format!("{start}name = \"n2\"{}", rest.replacen("\"eth1\"", "\"enp7s0\"", 1));
    let renamed = renamed.replace("n2:eth1", "n2:enp7s0");
    refused(
        &mut apply(&renamed),
        &["n2", "no interface enp7s0", "eth1, eth2", "cluster file", "no host was changed"],
    );
    // The file has the MAC address of another NIC.
    let (start, rest) = good.split_once("name = \"n2\"").expect("n2");
    let rest = rest.replacen("name = \"eth1\"", "name = \"eth1\", mac = \"02:00:00:00:00:77\"", 1);
    refused(
        &mut apply(&format!("{start}name = \"n2\"{rest}")),
        &["n2", "eth1", "02:00:00:00:00:77", "02:54:00:02:00:01"],
    );
    same_of_all("after refusals", &before, &lab);
    refused(tasuki().args(["apply", "--lab", "no-such-lab"]), &["no-such-lab"]);
    refused(tasuki().args(["apply"]), &["cluster file", "--lab"]);
    refused(
        &mut lab.exec("n1", &[ON_N1[0], ON_N1[1], ON_N1[2], "--host", "n9"]),
        &["n9", "n1, n2, n3", "--host"],
    );
}

#[test]
fn the_login_and_rights_are_guarded() {
    if skip_without_root("the_login_and_rights_are_guarded") {
        return;
    }
    let lab = TestLab::up("login", &["--shape", "full:2", "--bare"]);
    let before = whole(&lab, "n1");
    let mut nobody = vec!["setpriv", "--reuid=65534", "--clear-groups"];
    nobody.extend(ON_N1);
    refused(&mut lab.exec("n1", &nobody), &["n1", "root"]);
    nobody.push("--dry-run");
    ok(&mut lab.exec("n1", &nobody));
    same("after refusals", &before, &whole(&lab, "n1"));

    // The user is logged in over eth1: by this process's variable, and by that of a parent process, as under
    // sudo.
    lab.sh("n1", "ip addr add 192.0.2.1/24 dev eth1");
    let before = whole(&lab, "n1");
    let argv = ["n1", "eth1", "192.0.2.1", "--force"];
    let ssh = "SSH_CONNECTION=192.0.2.9 50000 192.0.2.1 22";
    let mut direct = vec!["env", ssh];
    direct.extend(ON_N1);
    refused(&mut lab.exec("n1", &direct), &argv);
    let script = format!("env -u SSH_CONNECTION {}; exit $?", ON_N1.join(" "));
    let sudo = ["env", ssh, "sh", "-c", &script];
    refused(&mut lab.exec("n1", &sudo), &argv);
    same("after refusals", &before, &whole(&lab, "n1"));
    // A login that ends at another machine does not count, and --force overrides the check.
    let mut elsewhere = vec!["env", "SSH_CONNECTION=192.0.2.9 50000 198.51.100.1 22"];
    elsewhere.extend(ON_N1);
    ok(&mut lab.exec("n1", &elsewhere));
    // What is refused ends no daemon and removes no keys.
    let runtime = "/run/tasuki-state/runtime";
    lab.sh("n1", &format!("mkdir {runtime} && touch {runtime}/key"));
    let watch = || {
        let said = lab.run("n1", &[ON_N1[0], "watch", "--status", "--json"]);
        let notes: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        notes[0]["pid"].as_u64().expect("a watch runs")
    };
    let pid = watch();
    refused(&mut lab.exec("n1", &["env", ssh, ON_N1[0], "undo"]), &argv);
    lab.sh("n1", &format!("test -e {runtime}/key"));
    assert_eq!(watch(), pid, "after a refused undo");
    lab.sh("n1", &format!("sed '/^mtu/d; s/^\\[defaults\\]/&\\nmtu = 1400/' {} > /run/other.toml", ON_N1[2]));
    let other = ["env", ssh, ON_N1[0], "apply", "/run/other.toml", "--host", "n1"];
    refused(&mut lab.exec("n1", &other), &argv);
    assert_eq!(watch(), pid, "after a refused apply");
    lab.sh("n1", "rm /run/other.toml");
    ok(&mut lab.exec("n1", &["env", ssh, ON_N1[0], "undo", "--force"]));
    same("after undo", &before, &whole(&lab, "n1"));
}

#[test]
fn a_file_that_cannot_be_written_is_found_before_anything_is_changed() {
    if skip_without_root("a_file_that_cannot_be_written_is_found_before_anything_is_changed") {
        return;
    }
    let lab = TestLab::up("readonly", &["--shape", "full:2", "--bare"]);
    // As a container's engine may mount it.
    lab.sh("n1", "mount --bind /etc/hosts /etc/hosts && mount -o remount,ro,bind /etc/hosts");
    let before = whole_of_all(&lab);
    for argv in [&["--check"][..], &[]] {
        let words = ["n1", "/etc/hosts", "Read-only file system", "--no-names"];
        refused(tasuki().args(["apply", "--lab", &lab.name]).args(argv), &words);
        same_of_all("after a refusal", &before, &lab);
    }
    ok(tasuki().args(["apply", "--lab", &lab.name, "--no-names"]));
    ok(tasuki().args(["undo", "--lab", &lab.name]));
    same_of_all("after undo", &before, &lab);
}

#[test]
fn the_unit_comes_and_goes() {
    if skip_without_root("the_unit_comes_and_goes") {
        return;
    }
    let lab = TestLab::up("unit", &["--shape", "full:2", "--bare"]);
    let before = whole(&lab, "n1");
    let mut persist = ON_N1.to_vec();
    persist.extend(["--persist", "--unit-dir", "/run/units", "--offloads", "off", "--rings", "max"]);
    // The queues of a veth have no length that can be set.
    let said = text(&lab.exec("n1", &persist).output().expect("runs"));
    assert!(said.contains("eth1: its driver has no queue lengths to set"), "{said}");
    let unit = lab.run("n1", &["cat", "/run/units/tasuki.service"]);
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    assert!(command.contains(" apply /run/tasuki-state/cluster.toml --host n1 "), "{unit}");
    assert!(command.contains(" --offloads off --rings max"), "{unit}");
    assert!(unit.contains("After=") && unit.contains("sys-subsystem-net-devices-eth1.device"), "{unit}");
    let link = "/run/units/multi-user.target.wants/tasuki.service";
    assert_eq!(lab.run("n1", &["readlink", "-f", link]).trim(), "/run/units/tasuki.service");

    // After a restart of the machine the kernel's state is gone and files are still there. The unit's own
    // command sets the host up again and keeps the unit, and `undo` removes it.
    let forget = "sed -i -E 's/\"boot\": \"[^\"]*\"/\"boot\": \"before\"/' /run/tasuki-state/changes.json
        ip link del tasuki0; ip addr flush dev eth1; ip route flush proto 116; rm /run/tasuki/rails.json";
    lab.sh("n1", forget);
    refused(&mut lab.exec("n1", &[ON_N1[0], "status"]), &["n1", "restarted since"]);
    lab.sh("n1", command);
    assert!(lab.run("n1", &["ip", "route"]).contains("10.77.0.2 via"));
    assert_eq!(lab.run("n1", &["cat", "/run/units/tasuki.service"]), unit);
    ok(&mut lab.exec("n1", &[ON_N1[0], "undo"]));
    lab.sh(
        "n1",
        "test ! -e /run/units/tasuki.service && test ! -L /run/units/multi-user.target.wants/tasuki.service",
    );
    lab.sh("n1", "test ! -e /run/tasuki-state && rm -r /run/units && ! ip link show tasuki0 2> /dev/null");
    assert_eq!(whole(&lab, "n1").lines().filter(|line| line.contains("10.7")).count(), 0);
    assert!(before.contains("eth1"));
}

#[test]
fn names_end_with_the_machine_unless_it_is_set_up_again() {
    if skip_without_root("names_end_with_the_machine_unless_it_is_set_up_again") {
        return;
    }
    let lab = TestLab::up("names-unit", &["--shape", "full:2", "--bare"]);
    // A host that systemd manages, as far as files tell; its units are the lab host's own.
    let units = "/etc/systemd/system";
    lab.sh("n1", &format!("mkdir -p /run/systemd/system {units} && mount -t tmpfs none {units}"));
    let names = lab.run("n1", &["cat", "/etc/hosts"]);
    ok(&mut lab.exec("n1", &ON_N1));
    let applied = lab.run("n1", &["cat", "/etc/hosts"]);
    assert_ne!(applied, names);
    let unit = lab.run("n1", &["cat", &format!("{units}/tasuki-names.service")]);
    lab.sh("n1", &format!("test -e {units}/multi-user.target.wants/tasuki-names.service"));
    let of = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).expect("its line").to_owned();
    // It is not for a host that is set up (systemd.unit(5)).
    let path = of("ConditionPathExists=!");
    lab.sh("n1", &format!("test -e {path}"));

    // A restart takes the kernel's state.
    lab.sh(
        "n1",
        "ip link del tasuki0; ip addr flush dev eth1; ip route flush proto 116; rm /run/tasuki/rails.json",
    );
    // In a unit two dollar signs are one (systemd.service(5)). A file that is mounted cannot be replaced.
    let commands = [of("ExecCondition="), of("ExecStart=")]
        .map(|command| command.replace("$$", "$").replace("/etc/hosts", "/run/names"));
    lab.sh("n1", &format!("cp /etc/hosts /run/names && test ! -e {path} && {}", commands.join(" && ")));
    assert_eq!(lab.run("n1", &["cat", "/run/names"]), names);
    // Without names there is nothing to do, and a host that is set up at every start has no such unit.
    assert!(!lab.exec("n1", &["sh", "-c", &commands[0]]).output().expect("runs").status.success());
    ok(&mut lab.exec("n1", &ON_N1));
    assert_eq!(lab.run("n1", &["cat", "/etc/hosts"]), applied);
    let mut persist = ON_N1.to_vec();
    persist.push("--persist");
    ok(&mut lab.exec("n1", &persist));
    lab.sh("n1", &format!("test -e {units}/tasuki.service && test ! -e {units}/tasuki-names.service"));
    ok(&mut lab.exec("n1", &[ON_N1[0], "undo"]));
    assert_eq!(lab.run("n1", &["cat", "/etc/hosts"]), names);
    assert_eq!(lab.run("n1", &["find", units, "-type", "f"]), "");
}
