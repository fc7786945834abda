//! Machines that ssh reaches: hosts of a lab with sshd, on the first of which commands are typed.

use super::{TestLab, ok, ssh::Ssh, tasuki};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
};

/// The command inside a host of a lab.
pub const TASUKI: &str = "/run/tasuki/bin/tasuki";
/// A folder that every host has for itself.
pub const CACHE: &str = "/run/bench-cache";

/// Hosts that ssh reaches and nobody has set up, and what commands need on the first of them.
pub struct Machines {
    /// The hosts.
    pub lab: TestLab,
    /// The folder that all see: `cluster.toml`, keys, the provider.
    pub sshd: Ssh,
}

impl Machines {
    /// Stands so many hosts of a shape up. `None`, after a note, if there is no sshd.
    pub fn up(test: &str, shape: &str, hosts: usize) -> Option<Self> {
        let sshd = Ssh::prepare(test)?;
        let folder = sshd.path();
        // A login on another host finds `tasuki`, as it does where the package is installed.
        let login = fs::read_to_string(folder.join("sshd_config")).expect("reads");
        let path = "/run/tasuki/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
        fs::write(folder.join("sshd_config"), format!("{login}SetEnv PATH={path}\n")).expect("writes");
        // Launchers of MPIs run plain ssh. On a user's machine ~/.ssh/config has what this file has.
        fs::create_dir(folder.join("bin")).expect("makes");
        let script = format!("#!/bin/sh\nexec /usr/bin/ssh -F {}/ssh_config \"$@\"\n", folder.display());
        fs::write(folder.join("bin/ssh"), script).expect("writes");
        fs::set_permissions(folder.join("bin/ssh"), fs::Permissions::from_mode(0o755)).expect("sets");
        // All hosts see the provider at the same path.
        fs::create_dir(folder.join("provider")).expect("makes");
        let built = Path::new(env!("CARGO_BIN_EXE_tasuki")).with_file_name("libtasuki_fi.so");
        symlink(built, folder.join("provider/libtasuki-fi.so")).expect("links");

        let file = ok(tasuki().args(["cluster", "new", shape]));
        let file = (1..=hosts).fold(file, |file, number| {
            let name = format!("name = \"n{number}\"\n");
            file.replace(&name, &format!("{name}management = \"root@198.18.0.{number}\"\n"))
        });
        fs::write(folder.join("cluster.toml"), file).expect("writes");
        let lab = TestLab::up("machines", &["--shape", shape, "--bare"]);
        for number in 1..=hosts {
            sshd.serve(&lab, &format!("n{number}"));
        }
        Some(Self { lab, sshd })
    }

    /// `tasuki` on the first host.
    pub fn tasuki(&self, argv: &[&str]) -> Command {
        let mut command = self.sshd.command(&self.lab, "n1", &[&[TASUKI], argv].concat(), CACHE);
        command.env("TASUKI_PROVIDER", self.sshd.path().join("provider"));
        command
    }
}
