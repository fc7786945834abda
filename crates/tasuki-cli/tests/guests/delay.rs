//! `tasuki tune` with real drivers of a stock kernel: the register of the NIC changes, there are fewer
//! interrupts, and all is restored: `make test-guests`.

use crate::support::{
    guests::{Guest, Guests, Nic},
    text,
};
use std::path::Path;

/// The papers' desktop adapter, their server adapter, and a later one.
const MODELS: [&str; 3] = ["e1000", "e1000-82545em", "e1000e"];
/// Offset of the interrupt throttling register, whose unit is 256 ns (Intel, PCI/PCI-X Family of Gigabit
/// Ethernet Controllers Software Developer's Manual, ITR).
const ITR: u64 = 0xc4;
/// Offset of that register for the first vector of the 82574, which is for receiving (82574 datasheet, EITR).
const EITR: u64 = 0xe8;
/// What must be the same after `undo`.
const STATE: &str = "for n in 4 5 6; do ethtool -c ens$n 2>&1; cat /sys/class/net/ens$n/gro_flush_timeout \
                     /sys/class/net/ens$n/napi_defer_hard_irqs; done; ls /etc/modprobe.d; ls -d \
                     /var/lib/tasuki 2>&1 || true";

/// Sends packets for some seconds.
const FLOOD: &str = r#"timeout 300 perl -MSocket -e '
    socket(S, PF_INET, SOCK_DGRAM, 17); $to = sockaddr_in(9, inet_aton("10.9.9.1"));
    $end = time + 6; while (time < $end) { send(S, "x" x 64, 0, $to) }'"#;

/// Interrupts of n1's ens5, packets, and seconds, since the start.
fn counts(n1: &Guest) -> [f64; 3] {
    let said = n1.ok(
        "root",
        "awk '/ens5/ { print $2 }' /proc/interrupts; cat /sys/class/net/ens5/statistics/rx_packets; cut -d' \
         ' -f1 /proc/uptime",
    );
    let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("{said}"))
}

/// Interrupts per second and per packet while n2 sends.
fn flooded(n1: &Guest, n2: &Guest) -> [f64; 2] {
    let before = counts(n1);
    n2.ok("root", FLOOD);
    let after = counts(n1);
    let [interrupts, packets, seconds] = [0, 1, 2].map(|which| after[which] - before[which]);
    eprintln!("{interrupts} interrupts, {packets} packets, {seconds} s");
    assert!(packets > 1000.0, "{packets} packets are no load");
    [interrupts / seconds, interrupts / packets]
}

#[test]
#[ignore = "needs an image of guests: make test-guests"]
fn on_real_drivers_the_register_changes_and_comes_back() {
    let Some(guests) = Guests::find("on_real_drivers_the_register_changes_and_comes_back") else { return };
    let cables = ["a", "b", "c"];
    let nics = |end| [0, 1, 2].map(|at| Nic { model: MODELS[at], cable: cables[at], end });
    let mut n1 = guests.start("n1", &nics(0));
    let mut n2 = guests.start("n2", &nics(1));
    n1.wait();
    n2.wait();
    n1.put(Path::new(env!("CARGO_BIN_EXE_tasuki")), "/usr/bin/tasuki");
    // e1000e writes a number that it has chosen before at one of its next interrupts (`guests_forget.rs`).
    // After this wait that is over.
    n1.ok("root", "for n in 4 5 6; do ip link set ens$n up; done; sleep 8");
    let before = n1.ok("root", STATE);

    // The NIC's own timer is used where the driver lets it be set.
    for (nic, register) in [("ens5", ITR), ("ens6", EITR)] {
        let said = n1.ok("root", &format!("tasuki tune set {nic} --delay 200us 2>&1"));
        assert!(said.contains("200us by ethtool"), "{said}");
        let shown = n1.ok("root", &format!("ethtool -c {nic}"));
        let line = shown.lines().find_map(|line| line.strip_prefix("rx-usecs:")).unwrap_or_default();
        assert_eq!(line.trim(), "200", "{shown}");
        assert_eq!(n1.register(nic, register), 200_000 / 256, "{nic}");
        n1.ok("root", &format!("tasuki tune set {nic} --delay off"));
        assert_eq!(n1.register(nic, register), 0, "{nic}");
        let said = text(&n1.run("root", &format!("tasuki tune set {nic} --delay 5us --by ethtool")));
        assert!(said.contains("from 10us to 10ms"), "{said}");
    }
    // The desktop adapter's driver refuses, so the kernel's own timer is used.
    let said =
        n1.ok("root", "tasuki tune set ens4 --delay 200us 2>&1; cat /sys/class/net/ens4/gro_flush_timeout");
    assert!(said.contains("by napi (not by ethtool") && said.contains("200000"), "{said}");
    let said = text(&n1.run("root", "tasuki tune set ens4 --delay 200us --by ethtool"));
    assert!(said.contains("--by module"), "{said}");

    // There are fewer interrupts: no two within the delay.
    n1.ok("root", "ip addr add 10.9.9.1/24 dev ens5");
    n2.ok("root", "ip link set ens5 up; ip addr add 10.9.9.2/24 dev ens5");
    let off = flooded(&n1, &n2);
    n1.ok("root", "tasuki tune set ens5 --delay 10ms");
    let long = flooded(&n1, &n2);
    // The driver's watchdog raises one interrupt every two seconds too.
    assert!(long[0] <= 102.0, "{long:?}: 10 ms are at most 100 a second");
    assert!(long[1] < off[1], "{off:?} {long:?}");

    // After a tuner was killed, everything is restored.
    n1.ok(
        "root",
        "setsid tasuki tune run ens5 ens6 --least 50us --log /root/log > /dev/null 2>&1 < /dev/null & for i \
         in $(seq 600); do test -s /root/log && break; sleep 0.2; done; pkill -KILL -x tasuki; test -s \
         /root/log",
    );
    // The parameter of its driver: a NIC that has an address must not lose it.
    let said = text(&n1.run("root", "tasuki tune set ens4 --delay 200us --by module --reload"));
    assert!(said.contains("ens5 has an IPv4 address"), "{said}");
    n1.ok("root", "ip addr flush dev ens5; tasuki tune undo");
    assert_eq!(n1.ok("root", STATE), before);
    n1.ok(
        "root",
        "tasuki tune set ens4 --delay 200us --by module --reload; ip link set ens4 up; ip link set ens5 up",
    );
    assert_eq!(n1.register("ens4", ITR), 200_000 / 256);
    let said = n1.ok("root", "tasuki tune undo 2>&1");
    assert!(said.contains("loaded again"), "{said}");
    assert!(!n1.ok("root", "ls /etc/modprobe.d").contains("tasuki"));
}
