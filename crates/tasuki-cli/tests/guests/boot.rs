//! `tasuki apply --persist` under a real systemd: the host starts as it was set up, and after `undo` as it
//! was before: `make test-guests`.

use crate::support::{
    guests::{Guests, Nic, back_to_back},
    state::same,
    text,
};
use std::path::Path;

/// What must be as before after `undo` and a restart; the rest of the system differs from start to start.
const STATE: &str = "ip addr show dev ens4; ip addr show dev ens5; ip -brief link; ip route show table all; \
                     cat /etc/hosts; grep -rs '' /proc/sys/net/ipv4/conf | sort; find /etc/systemd/system \
                     /var/lib/tasuki 2> /dev/null | sort; true";

/// The state of the two units.
const UNITS: &str = "systemctl is-active tasuki.service tasuki-watch.service";

#[test]
#[ignore = "needs an image of guests: make test-guests"]
fn a_host_that_starts_is_set_up_again_until_undo() {
    let Some(guests) = Guests::find("a_host_that_starts_is_set_up_again_until_undo") else { return };
    let nics = ["a", "b"].map(|cable| Nic { model: "e1000", cable, end: 0 });
    let mut n1 = guests.start_lasting("n1", &nics);
    n1.wait();
    n1.put(Path::new(env!("CARGO_BIN_EXE_tasuki")), "/usr/bin/tasuki");
    n1.put_cluster("cluster.toml", &back_to_back("1G", 1500, ["ens4", "ens5"]));
    // The test begins with a fresh start, so that it can be compared with a fresh start.
    n1.restart();
    let before = n1.ok("root", STATE);

    let said = n1.ok("root", "tasuki apply cluster.toml --here --persist 2>&1; rm cluster.toml; sync");
    let units = text(&n1.run("root", UNITS));
    assert!(units.ends_with("\nactive\nactive\n"), "before a restart: {said}{units}");
    n1.restart();
    let units = text(&n1.run("root", &format!("for i in $(seq 120); do {UNITS} && break; sleep 1; done")));
    assert!(units.ends_with("\nactive\nactive\n"), "{said}{units}");
    let diff = n1.ok("root", "tasuki diff /var/lib/tasuki/cluster.toml --here");
    let addresses = n1.ok("root", "ip -brief address; cat /run/tasuki/rails.json");
    assert!(addresses.contains("10.77.0.1") && addresses.contains("n2"), "{addresses}");
    assert!(diff.contains("nothing to do"), "{diff}");

    n1.ok("root", "tasuki undo; sync");
    n1.restart();
    same("after undo and a restart", &before, &n1.ok("root", STATE));
    let units = text(
        &n1.run("root", "systemctl list-unit-files 'tasuki*' --no-legend; systemctl --failed --no-legend"),
    );
    assert!(!units.contains("tasuki"), "{units}");
}
