//! Ports, users and jump hosts of a cluster file, with a real sshd: what the file says is passed to ssh, and
//! ssh's own configuration counts where the file says nothing.

use crate::support::{TestLab, ok, skip_without_root, ssh::Ssh, tasuki};
use std::fs;

const TASUKI: &str = "/run/tasuki/bin/tasuki";

#[test]
fn ports_users_and_jump_hosts() {
    let test = "ports_users_and_jump_hosts";
    if skip_without_root(test) {
        return;
    }
    let Some(sshd) = Ssh::prepare(test) else { return };
    let lab = TestLab::up("b-ways", &["--shape", "full:3", "--bare"]);
    sshd.serve_on(&lab, "n2", 2222);
    sshd.serve_on(&lab, "n3", 2223);
    // n1 reaches n3 only through n2, over the network by which one logs in.
    lab.sh("n1", "ip route add blackhole 198.18.0.3/32");
    let plain = ok(tasuki().args(["cluster", "new", "full:3"]));
    let status = |before: &str, n2: &str, n3: &str, client: &str| {
        let text = plain
            .replace("[defaults]", &format!("{before}\n[defaults]"))
            .replace("name = \"n2\"\n", &format!("name = \"n2\"\nmanagement = \"198.18.0.2\"\n{n2}\n"))
            .replace("name = \"n3\"\n", &format!("name = \"n3\"\nmanagement = \"198.18.0.3\"\n{n3}\n"));
        fs::write(sshd.path().join("cluster.toml"), text).expect("writes");
        let config = fs::read_to_string(sshd.path().join("ssh_config")).expect("reads");
        fs::write(sshd.path().join("client_config"), format!("{config}\n{client}\n")).expect("writes");
        let ssh = format!("ssh -F {}/client_config", sshd.path().display());
        let argv = [TASUKI, "status", "cluster.toml", "--json", "--ssh", &ssh, "--remote", TASUKI];
        let output = lab.exec("n1", &argv).current_dir(sshd.path()).output().expect("runs");
        let hosts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let reached = |number: usize| hosts[number]["status"].is_object();
        ((reached(1), reached(2)), crate::support::text(&output))
    };
    let jump = "jump = \"root@198.18.0.2:2222\"";
    let (reached, said) =
        status("", "ssh = { port = 2222 }", &format!("ssh = {{ user = \"root\", port = 2223, {jump} }}"), "");
    assert_eq!(reached, (true, true), "a way of its own for each: {said}");
    let (reached, said) =
        status("[ssh]\nport = 2222\nuser = \"root\"", "", &format!("ssh = {{ port = 2223, {jump} }}"), "");
    assert_eq!(reached, (true, true), "[ssh] for what a host leaves open: {said}");
    // Where the file says nothing, ssh's own configuration counts.
    let own = "Host 198.18.0.2\n Port 2222\nHost 198.18.0.3\n Port 2223\n ProxyJump 198.18.0.2";
    let (reached, said) = status("", "", "", own);
    assert_eq!(reached, (true, true), "{said}");
    // Without the jump host there is no route; the error shows the command that tries it.
    let (reached, said) = status("", "ssh = { port = 2222 }", "ssh = { port = 2223 }", "");
    assert_eq!(reached, (true, false), "{said}");
    assert!(said.contains("ssh -p 2223 198.18.0.3 true"), "{said}");
    let (reached, said) = status("", "", "ssh = { user = \"nobody\", port = 2223, jump = \"none\" }", "");
    assert_eq!(reached, (false, false), "{said}");
    assert!(said.contains("nobody@198.18.0.3"), "{said}");
}
