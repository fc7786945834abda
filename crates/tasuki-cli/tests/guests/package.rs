//! Two virtual machines and a cable: the Debian package, and setting up, checking and undoing with real
//! drivers.

use crate::support::{
    guests::{Guest, Guests, Nic, back_to_back},
    mpis::{build, mpis},
    ok,
    state::{WHOLE, same},
    text,
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    thread,
};

/// Two hosts and a cable. On n2 the NIC is a port of a bridge, which stands in its place.
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

/// Installs the package, sets the host up, and enables the broker for `user`.
fn set_up(guest: &Guest, program: &Path) {
    guest.put(&package(), "/root/tasuki.deb");
    guest.ok("root", "dpkg -i /root/tasuki.deb");
    guest.ok("root", &format!("cat > /root/cluster.toml <<'EOF'\n{CLUSTER}EOF"));
    guest.ok("root", "cp /root/cluster.toml /home/user/ && cp /root/cluster.toml /home/stranger/");
    guest.ok("root", "tasuki apply /root/cluster.toml --here");
    guest.put(program, "/usr/local/bin/collect");
    guest.ok("root", "systemctl enable --now tasuki-broker.socket && usermod --append --groups tasuki user");
}

/// Runs collect by `tasuki run` until a thousand packets have gone over this lane, because others may have
/// carried as many before it was open. Returns what it printed, and what `tasuki stats` showed meanwhile.
fn collect(first: &Guest, user: &str, lane: &str) -> (String, String) {
    let script = r#"cd; export TASUKI_LANES=raw,udp
        (timeout 800 tasuki run --cluster cluster.toml --transport tasuki -n 2 \
            /usr/local/bin/collect 1000000 "$HOME/enough" > out 2>&1; echo $? > code) &
        while [ ! -f code ]; do
            tasuki stats > now 2>&1
            grep -q 'rail 0' now && cp now stats
            awk '$1 == "rail" && $2 == 0 && $4 == "LANE" && $6 > 1000 { enough = 1 }
                END { exit !enough }' now && break
            sleep 1
        done
        touch enough; wait; cat out; test "$(cat code)" = 0"#;
    let printed = first.ok(user, &script.replace("LANE", lane));
    (printed, first.ok(user, "cat stats; rm -f code stats enough"))
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
    n2.ok(
        "root",
        "ip link add br0 type bridge && ip link set ens4 master br0 && ip link set ens4 up && ip \
                   link set br0 up",
    );
    thread::scope(|scope| {
        for guest in [&n1, &n2] {
            scope.spawn(|| set_up(guest, &collect_program));
        }
    });
    // One user may ask the broker, and another may not.
    let doctor = |user: &str| n1.ok(user, "tasuki doctor || true");
    let (member, stranger) = (doctor("user"), doctor("stranger"));
    assert!(member.contains("from the broker"), "{member}");
    assert!(stranger.contains("usermod --append --groups tasuki"), "{stranger}");
    // So for page faults of system calls, if the kernel has the device.
    let device = n1.ok("root", "stat -c %G:%a /dev/userfaultfd 2>/dev/null || echo none");
    if device.trim() != "none" {
        assert_eq!(device.trim(), "tasuki:660");
        assert!(member.contains("several hosts (tasuki omp): allowed"), "{member}");
        assert!(stranger.contains("may not answer page faults of system calls"), "{stranger}");
    }
    assert!(n1.ok("root", "ps -o user= -C tasuki").contains("_tasuki"), "the broker is a user of its own");

    let (printed, stats) = collect(&n1, "user", "raw");
    eprintln!("{printed}\n{stats}");
    assert!(printed.contains("collect ok"), "{printed}");
    let line =
        stats.lines().find(|line| line.contains("rail 0") && line.contains(" raw ")).unwrap_or_default();
    let packets: u64 = line.split_whitespace().nth(5).and_then(|word| word.parse().ok()).unwrap_or(0);
    assert!(line.contains("up") && packets > 100, "{stats}");
    let (printed, stats) = collect(&n1, "stranger", "udp");
    assert!(printed.contains("collect ok"), "{printed}");
    assert!(!stats.lines().any(|line| line.contains("rail 0") && line.contains(" raw ")), "{stats}");

    another_version_is_refused(&n1, &n2);
    n1.ok("root", "tasuki undo && dpkg --purge tasuki && ! test -e /usr/bin/tasuki");
}

/// The tasuki on n2 reports another version.
fn another_version_is_refused(n1: &Guest, n2: &Guest) {
    n2.ok(
        "root",
        "mv /usr/bin/tasuki /usr/bin/tasuki-real; printf '#!/bin/sh\\necho tasuki 9.9.9\\n' > \
                   /usr/bin/tasuki; chmod 755 /usr/bin/tasuki",
    );
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

/// Runs a check from n1 against a file. Returns the exit code, and kind and part of every finding. Warnings
/// are left out: that the emulated host is too slow for its NICs is true.
fn check(n1: &Guest, file: &str) -> (Option<i32>, Vec<(String, String)>, String) {
    let (code, printed) = n1.detached("root", &format!("tasuki check {file} --stages 1 --json"));
    let report: serde_json::Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}"));
    let field = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().expect("findings").iter();
    let findings = findings.filter(|one| one["warning"] == false);
    let findings = findings.map(|one| (field(&one["kind"]), field(&one["part"]["name"]))).collect();
    (Some(code), findings, report["findings"].to_string())
}

/// Demands that a check finds this and nothing else.
fn finds(n1: &Guest, file: &str, expected: &[(&str, &str)]) -> String {
    let (code, mut found, says) = check(n1, file);
    found.sort();
    let found: Vec<_> = found.iter().map(|(kind, part)| (kind.as_str(), part.as_str())).collect();
    assert_eq!(found, expected, "{says}");
    let codes = if expected.is_empty() { [Some(0), Some(1)] } else { [Some(2); 2] };
    assert!(codes.contains(&code), "{code:?}: {says}");
    says
}

/// Puts the command, a program and cluster files into a guest. One NIC is left up, as on an installed system,
/// and one down; both have been up, which gives them their queues.
fn equip(guest: &Guest, hello: &Path) {
    guest.put(Path::new(env!("CARGO_BIN_EXE_tasuki")), "/usr/bin/tasuki");
    guest.put(hello, "/usr/local/bin/hello");
    for (file, rate, order) in [
        ("cluster.toml", "1G", ["ens4", "ens5"]),
        ("faster.toml", "10G", ["ens4", "ens5"]),
        ("crossed.toml", "1G", ["ens5", "ens4"]),
    ] {
        guest.put_cluster(file, &back_to_back(rate, 9000, order));
    }
    guest.ok("root", "ip link set ens4 up && ip link set ens5 up && ip link set ens5 down");
}

#[test]
#[ignore = "needs an image of guests: make test-guests"]
fn apply_check_tcp_and_undo_on_the_drivers_of_the_papers_nics() {
    let test = "apply_check_tcp_and_undo_on_the_drivers_of_the_papers_nics";
    let Some(guests) = Guests::find(test) else { return };
    let programs = tempfile::tempdir().expect("a folder");
    let all = mpis(test);
    let debian = all.iter().find(|mpi| mpi.name == "openmpi-4.1").expect("Debian's Open MPI");
    let hello = build(debian, "hello.c", programs.path());

    let nics = |end, [first, second]: [&'static str; 2]| {
        [Nic { model: first, cable: "a", end }, Nic { model: second, cable: "b", end }]
    };
    let mut n1 = guests.start("n1", &nics(0, ["e1000", "e1000-82545em"]));
    let mut n2 = guests.start("n2", &nics(1, ["e1000-82545em", "e1000"]));
    n1.wait();
    n2.wait();
    let both = [&n1, &n2];
    both.iter().for_each(|guest| equip(guest, &hello));
    // The PCI ids are those of the 82540EM and the 82545EM.
    let chips = n1.ok("root", "cat /sys/class/net/ens4/device/device /sys/class/net/ens5/device/device");
    assert_eq!(chips.split_whitespace().collect::<Vec<_>>(), ["0x100e", "0x100f"]);
    let before = both.map(|guest| guest.ok("root", WHOLE));
    for guest in both {
        guest.ok("root", "tasuki apply cluster.toml --here");
        let diff = guest.ok("root", "tasuki diff cluster.toml --here; cat /sys/class/net/ens[45]/mtu");
        assert_eq!(diff.matches("9000").count(), 2, "{diff}");
    }

    // The emulated processor is far too slow for the rate, which is not the fault of any part.
    finds(&n1, "cluster.toml", &[]);
    let says = finds(&n1, "faster.toml", &[("slow", "n1:ens4 - n2:ens4"), ("slow", "n1:ens5 - n2:ens5")]);
    assert!(says.contains("runs at 1000 Mbit/s, the plan says 10000"), "{says}");
    let says = check(&n1, "crossed.toml").2;
    assert!(says.contains("n1:ens4 is plugged into n2:ens4, the plan says n2:ens5"), "{says}");
    // The delay of the server adapter can be set, that of the desktop adapter cannot.
    n1.ok("root", "ethtool -C ens5 rx-usecs 500 && ! ethtool -C ens4 rx-usecs 500");
    let says = finds(&n1, "cluster.toml", &[]);
    assert!(says.contains("n1 holds received frames back for up to 500 us"), "a warning: {says}");
    n1.ok("root", "ethtool -C ens5 rx-usecs 3");
    n2.ok("root", "ip link set ens5 mtu 1500");
    finds(&n1, "cluster.toml", &[("mtu", "n2:ens5")]);
    n2.ok("root", "ip link set ens5 mtu 9000");

    // This is not done earlier: with long queues a host that is too slow for its NIC loses nothing, and its
    // cables seem slow (docs/guide/check.md).
    for guest in both {
        guest.ok("root", "tasuki apply cluster.toml --here --rings 1024");
        let rings = guest.ok("root", "ethtool -g ens4 && ethtool -g ens5");
        assert_eq!(rings.matches("1024").count(), 4, "{rings}");
    }
    n1.ok("root", "cp cluster.toml /home/user/");
    let printed = n1.ok(
        "user",
        "cd; timeout 800 tasuki run --cluster cluster.toml --transport tcp -n 2 /usr/local/bin/hello",
    );
    assert!(printed.contains("ring ok"), "{printed}");

    for (guest, before) in both.into_iter().zip(&before) {
        guest.ok("root", "tasuki undo");
        same("after undo", before, &guest.ok("root", WHOLE));
    }
}
