//! A driver that overwrites the interrupt delay with a number that it had chosen before (e1000e), in virtual
//! machines: the register has the delay nevertheless: `make test-guests`.

use crate::support::guests::{Guests, Nic};
use std::path::Path;

/// Offset of the register of the 82574's first vector, whose unit is 256 ns (82574 datasheet, EITR).
const EITR: u64 = 0xe8;
/// Value of the register for 200 us.
const WANTED: u32 = 200_000 / 256;
const CLUSTER: &str = r#"[cluster]
name = "guests"
[[host]]
name = "n1"
nic = [{ name = "ens4" }]
[[host]]
name = "n2"
nic = [{ name = "ens4" }]
[[cable]]
ends = ["n1:ens4", "n2:ens4"]
[tune]
delay = "200us"
"#;

#[test]
#[ignore = "needs an image of guests: make test-guests"]
fn a_delay_holds_although_the_driver_forgets_it() {
    let Some(guests) = Guests::find("a_delay_holds_although_the_driver_forgets_it") else { return };
    let nic = |end| [Nic { model: "e1000e", cable: "a", end }];
    let mut n1 = guests.start("n1", &nic(0));
    let mut n2 = guests.start("n2", &nic(1));
    n1.wait();
    n2.wait();
    n1.put(Path::new(env!("CARGO_BIN_EXE_tasuki")), "/usr/bin/tasuki");
    n2.ok("root", "ip link set ens4 up");

    // The driver has chosen a number while the link came up, and has yet to write it.
    n1.ok("root", "ip link set ens4 up; ethtool -C ens4 rx-usecs 200; sleep 4");
    eprintln!("four seconds after `ethtool -C`: {}", n1.register("ens4", EITR));
    // The driver believes that the NIC has the delay already.
    let said = n1.ok("root", "tasuki tune set ens4 --delay 200us 2>&1");
    assert!(said.contains("200us by ethtool"), "{said}");
    n1.ok("root", "sleep 4");
    assert_eq!(n1.register("ens4", EITR), WANTED, "{said}");

    // A delay set just after the driver was loaded, while its link comes up, is written to the NIC, too.
    n1.ok(
        "root",
        "modprobe -r e1000e; modprobe e1000e; sleep 2; ip link set ens4 up; tasuki tune set ens4 \
                   --delay 200us; sleep 4",
    );
    assert_eq!(n1.register("ens4", EITR), WANTED, "while the link comes up");

    // A daemon that follows the load. There are hardly any packets, so it sets the shortest delay.
    n1.ok(
        "root",
        "tasuki tune undo; modprobe -r e1000e; modprobe e1000e; sleep 2; ip link set ens4 up; \
        setsid tasuki tune run ens4 --least 200us > /dev/null 2>&1 < /dev/null & sleep 12",
    );
    assert_eq!(n1.register("ens4", EITR), WANTED, "tune run");

    // A delay of a cluster file.
    n1.put_cluster("cluster.toml", CLUSTER);
    n1.ok(
        "root",
        "tasuki tune undo; modprobe -r e1000e; modprobe e1000e; sleep 2; tasuki apply cluster.toml \
                   --here; sleep 4",
    );
    assert_eq!(n1.register("ens4", EITR), WANTED, "apply");
    n1.ok("root", "tasuki undo");
}
