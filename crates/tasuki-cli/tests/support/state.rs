//! All state that setting a host up can change, as text that can be compared.

use super::{TestLab, eventually};

/// Everything that must be the same after `undo`. What changes by itself is left out: neighbours that the
/// kernel has found, queueing disciplines (made when an interface first goes up), and the progress of IPv6.
pub const WHOLE: &str = r#"
for tool in ip tc ethtool od; do
    command -v $tool > /dev/null || { echo "$tool is missing" >&2; exit 1; }
done
for what in "addr" "route show table all" "-6 route show table all" "rule" "neigh show nud permanent"; do
    echo "== ip $what"; ip $what
done | sed -E 's/ qdisc [a-z_]+//; s/ tentative//; s/ (dadfailed|valid_lft .*)//; s/ linkdown//g; s/ dead//g;
    /^local fe80::/d'
echo "== sysctl"; cd /proc/sys/net/ipv4 && grep -rs "" . | grep -v tcp_fastopen_key | sort
for device in /sys/class/net/*; do
    device=${device##*/}
    for what in k c g l a; do echo "== ethtool -$what $device"; ethtool -$what $device 2>&1; done
    echo "== napi $device"; cd /sys/class/net/$device; echo $(cat gro_flush_timeout napi_defer_hard_irqs)
    echo "== ebpf $device"; ip -d link show $device | grep -oE '(xdp|prog/xdp).*'
    echo "== tc $device"; tc qdisc show dev $device; tc class show dev $device
    for side in root ingress egress; do tc filter show dev $device $side 2>&1; done
done
echo "== files"; od -c /etc/hosts; ls /run /run/tasuki; ls -l /var/lib/tasuki 2>/dev/null || true
"#;

/// What `tasuki lab up` sets on a host, without numbers that differ between labs.
const SET: &str = r#"
ip -o -4 addr | sed -E 's/^[0-9]+: //'
ip link | sed -nE 's/^[0-9]+: ([a-z0-9]+)[@:].* mtu ([0-9]+) .*/\1 mtu \2/p'
ip route show table main; ip rule; ip neigh show nud permanent | sort
cd /proc/sys/net/ipv4 && grep -rs "" conf fib_* ip_forward | sort
for device in /sys/class/net/eth*; do echo "== ethtool $device"; ethtool -k "${device##*/}"; done
cat /run/tasuki/rails.json
"#;

/// Names of a lab's hosts.
pub fn hosts(lab: &TestLab) -> Vec<String> {
    let status = lab.status();
    let hosts = status["hosts"].as_array().expect("hosts");
    hosts.iter().map(|host| host["name"].as_str().expect("a name").to_owned()).collect()
}

/// Everything of one host that must be the same after `undo`.
pub fn whole(lab: &TestLab, host: &str) -> String {
    // The kernel tells up to a second later that a link has its carrier (net/core/link_watch.c): then IPv6
    // gets its address. Until then such a link is both NO-CARRIER and LOWER_UP.
    eventually("links are settled", || {
        let links = lab.sh(host, "ip -o link");
        !links.lines().any(|link| link.contains("NO-CARRIER") && link.contains("LOWER_UP"))
    });
    lab.sh(host, WHOLE)
}

/// Everything of all hosts that must be the same after `undo`.
pub fn whole_of_all(lab: &TestLab) -> Vec<String> {
    hosts(lab).iter().map(|host| whole(lab, host)).collect()
}

/// Demands that all hosts are as they were, and names the one that is not.
pub fn same_of_all(what: &str, before: &[String], lab: &TestLab) {
    for (host, (before, after)) in hosts(lab).iter().zip(before.iter().zip(&whole_of_all(lab))) {
        same(&format!("{what}, {host}"), before, after);
    }
}

/// What is set on one host.
pub fn set(lab: &TestLab, host: &str) -> String {
    lab.sh(host, SET)
}

/// Demands that two dumps are the same, and shows the lines that are not.
pub fn same(what: &str, before: &str, after: &str) {
    if before == after {
        return;
    }
    let only = |a: &str, b: &str| -> Vec<String> {
        a.lines().filter(|line| !b.lines().any(|other| other == *line)).map(str::to_owned).collect()
    };
    panic!("{what}: gone: {:#?}, new: {:#?}", only(before, after), only(after, before));
}
