//! `tasuki apply` over a real ssh: one of a lab's hosts is the control machine, the others run sshd on the management
//! network.

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use support::{
    TestLab,
    mpis::peers,
    ok, skip_without_root,
    state::{same, whole_of_all},
    tasuki, text,
};

const TASUKI: &str = "/run/tasuki/bin/tasuki";

/// Puts sshd into the folder that all hosts see: the one that `scripts/oracles` has unpacked, or the system's; and gives what starts
/// it in a host. It wants a user of its own, whom the host gets for himself.
fn start_sshd(folder: &Path) -> Option<String> {
    let unpacked = peers().join("openssh");
    let mut known = [unpacked.join("usr/sbin/sshd"), PathBuf::from("/usr/sbin/sshd")].into_iter();
    let sshd = known.find(|sshd| sshd.exists())?;
    let words = "cp --dereference \"$0\" sshd; for library in \"$1\"/usr/lib/*-linux-gnu/*.so.?; do [ ! -e \"$library\" ] || cp \"$library\" .; done";
    ok(Command::new("sh").args(["-ec", words]).args([&sshd, &unpacked]).current_dir(folder));
    Some(format!(
        "if ! grep -q ^sshd: /etc/passwd; then (cat /etc/passwd; echo sshd:x:65000:65534::/run/sshd:/usr/sbin/nologin) > \
         /run/passwd && mount --bind /run/passwd /etc/passwd; fi && mkdir -p /run/sshd && \
         LD_LIBRARY_PATH={at} exec {at}/sshd -f sshd_config",
        at = folder.display(),
    ))
}

/// Keys and settings of both sides, in a folder that all hosts see.
fn configure(folder: &Path) {
    for key in ["host", "user"] {
        let file = folder.join(key);
        ok(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file));
    }
    let at = folder.display();
    let server = format!(
        "HostKey {at}/host\nAuthorizedKeysFile {at}/user.pub\nStrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\n\
         PasswordAuthentication no\nPidFile none\n"
    );
    fs::write(folder.join("sshd_config"), server).expect("writes");
    let client = format!(
        "IdentityFile {at}/user\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
    );
    fs::write(folder.join("ssh_config"), client).expect("writes");
}

/// The lab's cluster with the way to each host.
fn cluster_file(folder: &Path) {
    let text = ok(tasuki().args(["cluster", "new", "full:3"]));
    let with_ways = (1..=3).fold(text, |text, number| {
        let name = format!("name = \"n{number}\"\n");
        text.replace(&name, &format!("{name}management = \"root@198.18.0.{number}\"\n"))
    });
    fs::write(folder.join("cluster.toml"), with_ways).expect("writes");
}

#[test]
fn a_control_machine_sets_all_hosts_up_over_ssh() {
    let test = "a_control_machine_sets_all_hosts_up_over_ssh";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let Some(start_sshd) = start_sshd(folder.path()) else {
        assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "{test} needs sshd: scripts/oracles");
        eprintln!("SKIPPED {test}: no sshd: scripts/oracles");
        return;
    };
    configure(folder.path());
    cluster_file(folder.path());
    let lab = TestLab::up("ssh", &["--shape", "full:3", "--bare"]);
    for host in ["n1", "n2", "n3"] {
        let mut sshd = lab.exec(host, &["sh", "-c", &start_sshd]);
        ok(sshd.current_dir(folder.path()));
    }
    let before = whole_of_all(&lab);
    let ssh = format!("ssh -F {}/ssh_config", folder.path().display());
    let run = |verb: &str, remote: &str| {
        let words = [TASUKI, verb, "cluster.toml", "--ssh", &ssh, "--remote", remote];
        let mut command = lab.exec("n1", &words);
        command.current_dir(folder.path());
        command
    };
    // No tasuki over there.
    let output = run("apply", "/no/such/tasuki").output().expect("runs");
    let said = text(&output);
    assert!(!output.status.success() && said.contains("n2") && said.contains("--remote"), "{said}");
    for (before, after) in before.iter().zip(&whole_of_all(&lab)) {
        same("after a refusal", before, after);
    }
    let done = ok(&mut run("apply", TASUKI));
    assert_eq!(done.matches("changed").count(), 3, "{done}");
    assert_eq!(ok(&mut run("apply", TASUKI)).matches("nothing to do").count(), 3);
    ok(&mut run("status", TASUKI));
    ok(&mut run("diff", TASUKI));
    ok(&mut run("undo", TASUKI));
    for (before, after) in before.iter().zip(&whole_of_all(&lab)) {
        same("after undo", before, after);
    }
    // One host does not answer: nothing happens on the others.
    lab.sh(
        "n3",
        "pid=$(cat /proc/[0-9]*/comm > /dev/null; for p in /proc/[0-9]*; do \
                  [ \"$(cat $p/comm 2> /dev/null)\" = sshd ] && echo ${p#/proc/}; done); kill $pid",
    );
    let output = run("apply", TASUKI).output().expect("runs");
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    for word in ["n3", "198.18.0.3", "does not answer", "no host was changed"] {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
    for (before, after) in before.iter().zip(&whole_of_all(&lab)) {
        same("after a refusal", before, after);
    }
}
