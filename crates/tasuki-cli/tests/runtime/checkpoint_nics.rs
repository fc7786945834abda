//! A restart on a host whose NICs have other numbers, as after another start of the machine.

use crate::{
    checkpoints::{assert_verified, checkpoint, families, is_skipped, lines, march, until_step},
    support::{NIC_OUT, eventually, jobs::Cluster, mpi::Programs, ok},
};

/// Notes what eth1 has, before it is taken out.
const NOTE: &str = "set -e
    addresses=$(ip -o -4 address show dev eth1 | awk '{print $4}')
    ways=$(ip route show dev eth1)
    neighbours=$(ip neighbour show dev eth1 nud permanent | awk '{print $1, $2, $3}')";
/// Puts it back, and sets it up as it was.
const BACK: &str = "ip -n aside link set eth1 netns $$
    ip link set eth1 up
    for one in $addresses; do ip address add $one dev eth1; done
    echo \"$neighbours\" | while read -r one; do ip neighbour replace $one dev eth1 nud permanent; done
    echo \"$ways\" | while read -r one; do ip route replace $one dev eth1; done";

/// The interfaces to which sockets of Tasuki's frames are bound (packet(7): /proc/net/packet).
fn bound(cluster: &Cluster, host: &str) -> Vec<u32> {
    let listed = cluster.lab.sh(host, "cat /proc/net/packet");
    let rows = listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.get(3) == Some(&"88b5")).filter_map(|row| row.get(4)?.parse().ok()).collect()
}

#[test]
fn a_job_goes_on_where_a_nic_has_another_number() {
    let test = "a_job_goes_on_where_a_nic_has_another_number";
    if is_skipped(test) {
        return;
    }
    let (programs, folder) = (Programs::new(), tempfile::tempdir_in("/var/tmp").expect("a folder"));
    let cluster = Cluster::up("image-nics", 2);
    let Some(mpi) = families(test).pop() else { return };
    let number = |nic: &str| {
        let read = cluster.lab.sh("n2", &format!("cat /sys/class/net/{nic}/ifindex"));
        read.trim().parse::<u32>().expect("a number")
    };
    let file = folder.path().join("file");
    let job = march(&cluster, &programs, &mpi, &file, &["1h"]);
    until_step(&cluster, &job, &file, 10);
    let before = number("eth1");
    assert!(bound(&cluster, "n2").contains(&before), "{:?}", bound(&cluster, "n2"));
    checkpoint(&cluster, &job);
    ok(&mut cluster.command("cancel", &[&job.number]));
    eventually("its end", || cluster.job(&job.number)["state"] == "cancelled");
    cluster.lab.sh("n2", &[NOTE, NIC_OUT, BACK].join("\n"));
    let after = number("eth1");
    assert_eq!((number("holder"), after == before), (before, false));
    ok(&mut cluster.command("restart", &[&job.number]));
    let all = bound(&cluster, "n2");
    assert!(all.contains(&after) && !all.contains(&before), "{all:?} and not {after}");
    let saved = lines(&file);
    until_step(&cluster, &job, &file, saved + 10);
    assert_verified(&cluster, &job, &file);
}
