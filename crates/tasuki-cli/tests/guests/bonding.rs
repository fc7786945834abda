//! The kernel's own bonding driver, which many kernels lack, in virtual machines: `balance-rr` compared with
//! Tasuki's striping on the same four e1000 NICs, and proof that `bench stripe` emulates it rightly: one MAC
//! address on all NICs, frames in turn. `make test-guests`.

use crate::support::guests::{Guest, Guests, Nic};
use std::{path::Path, process::Stdio};

/// Rate of a NIC, held by a token bucket: low enough for an emulated processor.
const RATE: &str = "8mbit";
const CABLES: [&str; 4] = ["a", "b", "c", "d"];
const NICS: [&str; 4] = ["ens4", "ens5", "ens6", "ens7"];

/// The cluster file. MAC addresses are left to ARP.
fn cluster() -> String {
    let nics: Vec<_> = NICS.iter().map(|nic| format!("{{ name = \"{nic}\" }}")).collect();
    let host = |name: &str| format!("[[host]]\nname = \"{name}\"\nnic = [{}]\n", nics.join(", "));
    let cable = |nic: &&str| format!("[[cable]]\nends = [\"n1:{nic}\", \"n2:{nic}\"]\n");
    let cables: String = NICS.iter().map(cable).collect();
    format!(
        "[cluster]\nname = \"bonding\"\n[defaults]\nrate = \"8M\"\n[striping]\npolicy = \
         \"round-robin\"\n{}{}{cables}",
        host("n1"),
        host("n2")
    )
}

/// Sends a stream of messages of 1,024 bytes from n1 to an address of n2. Returns megabytes per second, and
/// the NICs' shares of what n2 received.
fn stream(n1: &Guest, n2: &Guest, address: &str) -> (f64, Vec<f64>) {
    let serve = format!(
        r#"{{"role":"serve","listen":"{address}:7117","interface":null,"cpu":null,"silence_limit_s":300}}"#
    );
    let test = r#"{"kind":"stream","mptcp":false,"streams":1,"bytes":1024,"seconds":6,"warm_up_s":3}"#;
    let measure = format!(
        r#"{{"role":"measure","server":"{address}:7117","data":"{address}","interface":null,"cpu":null,
            "line_bits_per_second":null,"connect_s":300,"tests":[{test}]}}"#
    );
    let mut serving = n2.ssh("root", &format!("tasuki raw-peer '{serve}'"));
    let mut serving = serving.stdout(Stdio::null()).spawn().expect("ssh starts");
    let outcome = n1.ok("root", &format!("tasuki raw-peer '{measure}'"));
    assert!(serving.wait().expect("ends").success());
    let outcome: serde_json::Value = serde_json::from_str(&outcome).expect("JSON");
    assert_eq!(outcome["failures"], serde_json::json!([]));
    let streamed = &outcome["streams"][0];
    let bytes = streamed["received_bytes"][0].as_f64().expect("bytes");
    let by_nic = &streamed["receiver"]["received_by"];
    let by_nic: Vec<f64> = NICS.iter().map(|nic| by_nic[nic].as_f64().unwrap_or(0.0)).collect();
    let sum: f64 = by_nic.iter().sum();
    let shares = by_nic.into_iter().map(|bytes| bytes / sum).collect();
    (bytes / streamed["receiver"]["seconds"].as_f64().expect("seconds") / 1e6, shares)
}

/// The different MAC addresses of the NICs.
fn addresses(guest: &Guest) -> Vec<String> {
    let all = guest.ok("root", "cat /sys/class/net/ens[4-7]/address | sort -u");
    all.lines().map(str::to_owned).collect()
}

#[test]
#[ignore = "needs an image of guests: make test-guests"]
fn the_kernels_balance_rr_beside_striping_on_the_same_nics() {
    let test = "the_kernels_balance_rr_beside_striping_on_the_same_nics";
    let Some(guests) = Guests::find(test) else { return };
    let nics = |end| CABLES.map(|cable| Nic { model: "e1000", cable, end });
    let mut n1 = guests.start("n1", &nics(0));
    let mut n2 = guests.start("n2", &nics(1));
    n1.wait();
    n2.wait();
    for guest in [&n1, &n2] {
        guest.put(Path::new(env!("CARGO_BIN_EXE_tasuki")), "/usr/bin/tasuki");
        guest.ok("root", &format!("cat > cluster.toml <<'EOF'\n{}EOF", cluster()));
        for nic in NICS {
            // Frames are sent one by one, as on cables: the token bucket would refuse frames that are still
            // to be segmented.
            guest.ok("root", &format!("ethtool -K {nic} tso off gso off gro off; ip link set {nic} up"));
            guest.ok(
                "root",
                &format!("tc qdisc replace dev {nic} root tbf rate {RATE} burst 10kb latency 100ms"),
            );
        }
    }
    let both = [(&n1, 1), (&n2, 2)];

    for (guest, number) in both {
        guest.ok("root", &format!("ip addr add 10.9.0.{number}/24 dev ens4"));
    }
    let (one, shares) = stream(&n1, &n2, "10.9.0.2");
    eprintln!("one NIC: {one:.2} MB/s, {shares:.3?}");
    assert!(shares[0] > 0.95, "{shares:?}");
    assert_eq!(addresses(&n1).len(), 4);

    for (guest, number) in both {
        guest.ok(
            "root",
            "ip addr flush dev ens4; modprobe bonding; ip link add bond0 type bond mode \
                          balance-rr miimon 100",
        );
        for nic in NICS {
            guest.ok("root", &format!("ip link set {nic} down && ip link set {nic} master bond0"));
        }
        guest.ok("root", &format!("ip link set bond0 up && ip addr add 10.9.1.{number}/24 dev bond0"));
        let driver = guest.ok("root", "cat /proc/net/bonding/bond0");
        assert!(driver.contains("load balancing (round-robin)"), "{driver}");
        // This is what `bond-one-mac` emulates.
        assert_eq!(addresses(guest).len(), 1, "{driver}");
    }
    let (bonded, shares) = stream(&n1, &n2, "10.9.1.2");
    eprintln!("balance-rr: {bonded:.2} MB/s ({:.2} x), {shares:.3?}", bonded / one);
    assert!(shares.iter().all(|share| (share - 0.25).abs() < 0.05), "{shares:?}");

    for (guest, _) in both {
        guest.ok("root", "ip link del bond0; rmmod bonding");
        for nic in NICS {
            guest.ok("root", &format!("ip link set {nic} up"));
        }
        guest.ok("root", "tasuki apply cluster.toml --here");
    }
    assert_eq!(addresses(&n1).len(), 4);
    let (striped, shares) = stream(&n1, &n2, "10.77.0.2");
    eprintln!("striping: {striped:.2} MB/s ({:.2} x), {shares:.3?}", striped / one);
    assert!(shares.iter().all(|share| (share - 0.25).abs() < 0.05), "{shares:?}");
    for (guest, _) in both {
        guest.ok("root", "tasuki undo");
    }
}
