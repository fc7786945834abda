//! What the scripts say on machines that lack something. Each runs with a PATH of its own, which has nothing
//! but what a test puts there.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tasuki_testkit::scripts::write_program;

/// A folder that stands for all folders of programs of a machine.
struct Machine(PathBuf);

impl Machine {
    /// A machine with these programs of this one, and with these scripts in the place of others.
    fn with(name: &str, programs: &[&str], scripts: &[(&str, &str)]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // It may be left of an earlier run.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        for program in programs {
            let found = ["/usr/bin", "/bin"].map(|at| Path::new(at).join(program));
            let found = found.into_iter().find(|path| path.exists()).expect("every system has it");
            symlink(found, folder.join(program)).expect("a link");
        }
        for (script, text) in scripts {
            write_program(&folder.join(script), &format!("#!/bin/sh\n{text}\n"));
        }
        Self(folder)
    }

    fn run(&self, script: &str, arguments: &[&Path]) -> Output {
        let mut command = Command::new("/bin/sh");
        command.arg(script).args(arguments).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        command.env("PATH", &self.0).env("HOME", &self.0).output().expect("runs")
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_package_is_not_made_without_what_finds_its_dependencies() {
    // Debian's package dpkg-dev has dpkg-shlibdeps(1).
    let output = Machine::with("no-dpkg-dev", &[], &[]).run("scripts/deb", &[]);
    assert!(output.status.code() == Some(1) && said(&output).contains("dpkg-dev"), "{}", said(&output));
    assert!(said(&output).contains("scripts/setup --package"), "{}", said(&output));
    let setup = Machine::with(
        "package",
        &[],
        &[("apt-get", "echo \"$@\""), ("id", "echo 0"), ("env", "shift; \"$@\"")],
    );
    let said = said(&setup.run("scripts/setup", &[Path::new("--package")]));
    assert!(said.contains(" dpkg-dev"), "{said}");
}

#[test]
fn a_machine_without_apt_is_told_what_to_install() {
    let said = said(&Machine::with("no-apt", &[], &[]).run("scripts/setup", &[]));
    assert!(said.contains("there is no apt-get") && said.contains("clang libbpf-dev "), "{said}");
    assert!(!said.contains("apt-get: "), "it is not called: {said}");
}

#[test]
fn a_machine_without_curl_is_told_how_it_comes_by_what_fetches_rust() {
    let programs = ["awk", "sort", "head", "cat"];
    let all_there = [("dpkg-query", "echo install ok installed")];
    let said = said(&Machine::with("no-curl", &programs, &all_there).run("scripts/setup", &[]));
    let (install, fetch) = (said.find("apt-get install curl ca-certificates"), said.find("curl --proto"));
    assert!(install.is_some() && install < fetch, "{said}");
}

// scripts/oracles says that tests whose oracle is missing are skipped: so `make test` must come to them.
#[test]
fn programs_of_tests_that_cannot_be_had_stop_nothing() {
    let programs = ["id", "mkdir", "rm", "cat", "tail", "dirname"];
    let none = [("apt-get", "exit 100"), ("sudo", "\"$@\""), ("dpkg-deb", "exit 1")];
    let machine = Machine::with("no-oracles", &programs, &none);
    let output = machine.run("scripts/oracles", &[&machine.0.join("peers")]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).contains("tests that need openssh-server libwrap0 are skipped"),
        "{}",
        said(&output)
    );
}
