//! Cluster files from strangers: no command that reads one runs what is written in it, and each names file,
//! line and key.

use crate::support::{tasuki, text};
use std::{fs, path::Path};

/// A cluster of two hosts, of which the second is reached as `access` says.
fn cluster(access: &str) -> String {
    format!(
        "[[host]]\nname = \"n1\"\nnic = [{{ name = \"eth1\" }}]\n\n[[host]]\nname = \"n2\"\n{access}\nnic = \
         [{{ name = \"eth1\" }}]\n\n[[cable]]\nends = [\"n1:eth1\", \"n2:eth1\"]\n"
    )
}

/// Every command that reads a cluster file and reaches its hosts.
fn commands(file: &str) -> Vec<Vec<&str>> {
    let mut all: Vec<Vec<&str>> =
        ["status", "diff", "apply", "undo", "check"].iter().map(|verb| vec![*verb, file]).collect();
    all.push(vec!["watch", "--status", file]);
    for verb in ["stats", "doctor"] {
        all.push(vec![verb, "--cluster", file]);
    }
    all.push(vec![
        "run",
        "--cluster",
        file,
        "-n",
        "2",
        "--mpi",
        "openmpi-4.1",
        "--transport",
        "tcp",
        "/bin/true",
    ]);
    all.push(vec!["cluster", "check", file]);
    all
}

/// Texts in the place of an address, a user or a jump host that make a file if they are run.
fn attacks(mark: &Path) -> Vec<(String, &'static str)> {
    let command = format!("-oProxyCommand=touch {}", mark.display());
    vec![
        (format!("management = \"{command}\""), "host.management"),
        (format!("management = \"me@{command}\""), "host.management"),
        (format!("management = \"n1 {command}\""), "host.management"),
        (format!("management = \"$(touch {})\"", mark.display()), "host.management"),
        (format!("ssh = {{ user = \"{command}\" }}"), "host.ssh.user"),
        (format!("ssh = {{ jump = \"{command}\" }}"), "host.ssh.jump"),
        (format!("ssh = {{ jump = \"gw,{command}\" }}"), "host.ssh.jump"),
        (format!("ssh = {{ jump = \"gw;touch {}\" }}", mark.display()), "host.ssh.jump"),
    ]
}

#[test]
fn no_command_runs_what_stands_in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, mark) = (folder.path().join("cluster.toml"), folder.path().join("planted"));
    let name = file.display().to_string();
    for (access, key) in attacks(&mark) {
        fs::write(&file, cluster(&access)).expect("writes");
        for argv in commands(&name) {
            let output = tasuki().args(&argv).output().expect("runs");
            let said = text(&output);
            assert!(!output.status.success(), "{argv:?}: {said}");
            assert!(said.contains(&format!("{name}:7:")) && said.contains(key), "{argv:?} {access}: {said}");
            assert!(!mark.exists(), "{argv:?} ran {access}");
        }
    }
}

/// A port has a key of its own, and the error names that key.
#[test]
fn a_port_in_an_address_is_told_its_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    fs::write(&file, cluster("management = \"192.168.1.12:2222\"")).expect("writes");
    let said = text(&tasuki().arg("status").arg(&file).output().expect("runs"));
    for part in [":7:14: host.management:", "has a port in it", "ssh = { port = 2222 }"] {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
}

#[test]
fn a_file_in_another_encoding_is_told_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    let mut bytes = cluster("").into_bytes();
    bytes.extend(b"# Schr\xe4nke\n");
    fs::write(&file, bytes).expect("writes");
    let output = tasuki().args(["cluster", "check"]).arg(&file).output().expect("runs");
    let said = text(&output);
    assert!(
        !output.status.success() && said.contains("cluster.toml:12:7: not UTF-8: the byte 0xe4"),
        "{said}"
    );
}
