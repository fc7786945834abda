//! The Debian package in virtual machines with stock kernels and emulated NICs: `make test-guests`.

mod support;

use std::{
    path::{Path, PathBuf},
    process::Command,
    thread,
};
use support::{
    guests::{Guest, Guests, Nic},
    ok, text,
};

/// Two hosts and a cable; on n2 the NIC is a port of a bridge, which has taken its place.
const CLUSTER: &str = r#"[cluster]
name = "guests"

[[host]]
name = "n1"
nic = [{ name = "ens4" }]

[[host]]
name = "n2"
nic = [{ name = "br0" }]

[[cable]]
ends = ["n1:ens4", "n2:br0"]
"#;

fn package() -> PathBuf {
    PathBuf::from(
        std::env::var_os("TASUKI_DEB").expect("TASUKI_DEB names the package: see `make test-guests`"),
    )
}

/// Installs the package, sets the host up, and turns the broker on for `user`.
fn set_up(guest: &Guest, program: &Path) {
    guest.put(&package(), "/root/tasuki.deb");
    guest.ok("root", "dpkg -i /root/tasuki.deb");
    guest.ok("root", &format!("cat > /root/cluster.toml <<'EOF'\n{CLUSTER}EOF"));
    guest.ok("root", "cp /root/cluster.toml /home/user/ && cp /root/cluster.toml /home/stranger/");
    guest.ok("root", "tasuki apply /root/cluster.toml --here");
    guest.put(program, "/usr/local/bin/collect");
    guest.ok("root", "systemctl enable --now tasuki-broker.socket && usermod --append --groups tasuki user");
}

/// What `tasuki run` of collect prints, and what `tasuki stats` told meanwhile.
fn collect(first: &Guest, user: &str) -> (String, String) {
    let script = "cd; export TASUKI_LANES=raw,udp; \
        (timeout 800 tasuki run --cluster cluster.toml --transport tasuki -n 2 /usr/local/bin/collect 200 > out 2>&1; echo $? > code) & \
        while [ ! -f code ]; do tasuki stats > now 2>&1; grep -q 'rail 0' now && mv now stats; sleep 1; done; \
        cat out; test \"$(cat code)\" = 0";
    let printed = first.ok(user, script);
    (printed, first.ok(user, "cat stats; rm -f code stats"))
}

#[test]
#[ignore = "needs an image of guests and a package: make test-guests"]
fn an_ordinary_users_mpi_program_on_raw_lanes_between_two_machines() {
    let test = "an_ordinary_users_mpi_program_on_raw_lanes_between_two_machines";
    let Some(guests) = Guests::find(test) else { return };
    let program = tempfile::tempdir().expect("a folder");
    let collect_program = program.path().join("collect");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/collect.c");
    ok(Command::new("mpicc.openmpi")
        .args(["-std=c11", "-D_GNU_SOURCE", "-O2", source, "-o"])
        .arg(&collect_program));

    let nic = |model, end| [Nic { model, cable: "a", end }];
    let mut n1 = guests.start("n1", &nic("e1000", 0));
    let mut n2 = guests.start("n2", &nic("e1000-82545em", 1));
    n1.wait();
    n2.wait();
    assert!(n1.ok("root", "basename $(readlink /sys/class/net/ens4/device/driver)").contains("e1000"));
    n2.ok("root", "ip link add br0 type bridge && ip link set ens4 master br0 && ip link set ens4 up && ip link set br0 up");
    thread::scope(|scope| {
        for guest in [&n1, &n2] {
            scope.spawn(|| set_up(guest, &collect_program));
        }
    });
    // Who may ask the broker, and who may not.
    let doctor = |user: &str| n1.ok(user, "tasuki doctor || true");
    let (member, stranger) = (doctor("user"), doctor("stranger"));
    assert!(member.contains("from the broker"), "{member}");
    assert!(stranger.contains("usermod --append --groups tasuki"), "{stranger}");
    assert!(n1.ok("root", "ps -o user= -C tasuki").contains("_tasuki"), "the broker is a user of its own");

    let (printed, stats) = collect(&n1, "user");
    eprintln!("{printed}\n{stats}");
    assert!(printed.contains("collect ok"), "{printed}");
    let line =
        stats.lines().find(|line| line.contains("rail 0") && line.contains(" raw ")).unwrap_or_default();
    let packets: u64 = line.split_whitespace().nth(5).and_then(|word| word.parse().ok()).unwrap_or(0);
    assert!(line.contains("up") && packets > 100, "{stats}");
    let (printed, stats) = collect(&n1, "stranger");
    assert!(printed.contains("collect ok"), "{printed}");
    assert!(!stats.lines().any(|line| line.contains("rail 0") && line.contains(" raw ")), "{stats}");

    another_version_is_refused(&n1, &n2);
    n1.ok("root", "tasuki undo && dpkg --purge tasuki && ! test -e /usr/bin/tasuki");
}

/// The command on n2 says that it is of another version.
fn another_version_is_refused(n1: &Guest, n2: &Guest) {
    n2.ok("root", "mv /usr/bin/tasuki /usr/bin/tasuki-real; printf '#!/bin/sh\\necho tasuki 9.9.9\\n' > /usr/bin/tasuki; chmod 755 /usr/bin/tasuki");
    let output = n1.run(
        "user",
        "cd; tasuki run --cluster cluster.toml --transport tasuki -n 2 /usr/local/bin/collect 1",
    );
    let said = text(&output);
    assert!(
        !output.status.success() && said.contains("n2 has tasuki 9.9.9") && said.contains("n1 has tasuki"),
        "{said}"
    );
    n2.ok("root", "mv /usr/bin/tasuki-real /usr/bin/tasuki");
}
