//! `tasuki run` on machines that ssh reaches as their cluster file says, with every MPI's own launcher; and
//! what becomes of its daemons where the management network is closed to them.

use crate::support::{
    TestLab,
    machines::{Machines, TASUKI},
    mpis::{build, mpis, peers},
    ok, skip_without_root, text,
};
use std::{path::Path, process::Command};

/// Two machines whose sshd listens on a port of its own alone. They are set up.
fn machines(test: &str) -> Option<Machines> {
    let machines = Machines::up_on(test, "full:2", 2, 2222)?;
    ok(&mut machines.tasuki(&["apply", "cluster.toml", "--no-watch", "--remote", TASUKI]));
    Some(machines)
}

/// `tasuki run` of two ranks, one on each machine, typed on the first.
fn run(machines: &Machines, mpi: &str, options: &[&str], program: &Path) -> Command {
    let program = program.to_str().expect("UTF-8");
    let job = ["run", "--cluster", "cluster.toml", "-n", "2", "--mpi", mpi];
    let mut command = machines.tasuki(&[&job, options, &[program]].concat());
    command.env("TASUKI_PEERS", peers());
    command
}

/// Nothing of what launchers called in the place of ssh is left.
fn is_tidy(lab: &TestLab) {
    lab.sh("n1", "! ls -d /tmp/tasuki-ssh-* 2> /dev/null");
}

#[test]
fn launchers_of_all_mpis_reach_hosts_as_the_file_says() {
    let test = "launchers_of_all_mpis_reach_hosts_as_the_file_says";
    if skip_without_root(test) {
        return;
    }
    let all = mpis(test);
    let Some(machines) = machines(test) else { return };
    let folder = machines.sshd.path();
    // By the name alone, which is what launchers have, no sshd is found.
    let plain = machines.sshd.command(&machines.lab, "n1", &["ssh", "n2", "true"], "/run/none").output();
    assert!(!plain.expect("runs").status.success());
    for mpi in &all {
        let hello = build(mpi, "hello.c", folder);
        for transport in ["tcp", "tasuki"] {
            let printed = ok(&mut run(&machines, mpi.name, &["--transport", transport], &hello));
            let is_whole = ["ring ok", "on n1", "on n2"].iter().all(|part| printed.contains(part));
            assert!(is_whole, "{} over {transport}: {printed}", mpi.name);
            is_tidy(&machines.lab);
        }
        // A rank's exit code is the command's, and nothing is left after it either.
        let failed =
            run(&machines, mpi.name, &["--transport", "tcp"], &hello).arg("7").output().expect("runs");
        assert!(!failed.status.success(), "{}: {}", mpi.name, text(&failed));
        is_tidy(&machines.lab);
        // The line that is printed can be pasted into a shell, where it makes what it needs for itself.
        let line = ok(&mut run(&machines, mpi.name, &["--transport", "tcp", "--dry-run"], &hello));
        is_tidy(&machines.lab);
        let printed = ok(&mut machines.sshd.command(&machines.lab, "n1", &["sh", "-c", &line], "/run/none"));
        assert!(printed.contains("ring ok"), "{}: {line}: {printed}", mpi.name);
    }
}

/// The rules by which a firewall of the first machine is closed to connections by a NIC: ssh goes out from
/// there, and its answers pass.
fn close(lab: &TestLab, nics: &str) {
    let rules = format!(
        "nft add table inet way && nft 'add chain inet way input {{ type filter hook input priority 0; }}' &&
         nft 'add rule inet way input iifname {{ {nics} }} tcp dport 1024-65535 ct state new drop'"
    );
    lab.sh("n1", &rules);
}

#[test]
fn daemons_report_over_the_cables_where_the_management_network_is_closed() {
    let test = "daemons_report_over_the_cables_where_the_management_network_is_closed";
    if skip_without_root(test) {
        return;
    }
    let all = mpis(test);
    let Some(machines) = machines(test) else { return };
    let built: Vec<_> = all.iter().map(|mpi| build(mpi, "hello.c", machines.sshd.path())).collect();
    close(&machines.lab, "mgmt0");
    for (mpi, hello) in all.iter().zip(&built) {
        let output = run(&machines, mpi.name, &["--transport", "tasuki"], hello).output().expect("runs");
        let said = text(&output);
        assert!(output.status.success() && said.contains("ring ok"), "{}: {said}", mpi.name);
        assert!(said.contains("n2: no connection to this machine at 198.18.0.1"), "{}: {said}", mpi.name);
        assert!(said.contains("over the cables"), "{}: {said}", mpi.name);
    }
    // With the cables closed too no launcher is started, which would wait.
    machines.lab.sh("n1", "nft delete table inet way");
    close(&machines.lab, "mgmt0, eth1");
    for (mpi, hello) in all.iter().zip(&built) {
        let output = run(&machines, mpi.name, &["--transport", "tcp"], hello).output().expect("runs");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{}: {said}", mpi.name);
        for part in ["n2: no connection to this machine at 198.18.0.1", "firewall", "198.18.0.0/16"] {
            assert!(said.contains(part), "{}: {part:?} is not in: {said}", mpi.name);
        }
    }
}
