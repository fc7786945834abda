//! `tasuki install`.

use clap::Args;
use std::path::PathBuf;
use tasuki_terminal::Failure;

/// Where hosts have Tasuki if nothing else is said, which is where `make install` puts it.
pub const PREFIX: &str = "/usr/local";

/// How hosts are reached that have no `tasuki` yet.
#[derive(Debug, Args)]
pub struct SshArgs {
    /// How hosts are reached, with options if need be: --ssh "ssh -F config"
    #[arg(long, default_value = "ssh", value_name = "COMMAND")]
    pub ssh: String,
    /// Become root with `sudo -n` on hosts
    #[arg(long)]
    pub sudo: bool,
}

impl SshArgs {
    /// Program and options that reach a host.
    pub fn command(&self) -> Result<Vec<String>, Failure> {
        let ssh: Vec<String> = self.ssh.split_whitespace().map(str::to_owned).collect();
        match ssh.is_empty() {
            true => Err(Failure::new("--ssh needs a command")),
            false => Ok(ssh),
        }
    }
}

/// Options of `tasuki install`.
#[derive(Debug, Args)]
#[command(after_help = "Hosts get this very program with its libfabric provider: no package manager, no \
compiler. Those that have the same version are left alone. Files are complete beside the prefix before the \
first is renamed into its place, and what they replace is kept: --remove puts that back.

Examples:
  tasuki install root@n1 root@n2               # below /usr/local
  tasuki install --sudo n1 n2                  # the same, as a user who may run sudo
  tasuki install --user n1 n2                  # below ~/.local, without root
  tasuki install --deb tasuki_0.1.0-1_amd64.deb root@n1
  tasuki install --remove root@n1 root@n2      # as before

See docs/guide/install.md.")]
pub struct InstallArgs {
    /// Hosts, as ssh is given them: NAME, ADDRESS or USER@ADDRESS
    #[arg(required = true, value_name = "HOST")]
    pub hosts: Vec<String>,
    /// Folder on the hosts below which Tasuki goes
    #[arg(long, default_value = PREFIX, value_parser = prefix, value_name = "FOLDER")]
    pub prefix: String,
    /// Below ~/.local of the user who logs in, without root
    #[arg(long, conflicts_with_all = ["prefix", "sudo", "deb"])]
    pub user: bool,
    /// Install this Debian package instead
    #[arg(long, value_name = "FILE", conflicts_with = "prefix")]
    pub deb: Option<PathBuf>,
    /// Take away what `install` has put there; what was there before is there again
    #[arg(long, conflicts_with_all = ["deb", "force"])]
    pub remove: bool,
    /// Also where the same version is there
    #[arg(long)]
    pub force: bool,
    /// Print JSON: one report per host
    #[arg(long)]
    pub json: bool,
    /// How hosts are reached
    #[command(flatten)]
    pub ssh: SshArgs,
}

/// A folder from the root on, which means the same whoever logs in.
pub fn prefix(text: &str) -> Result<String, String> {
    let is_plain = text.len() > 1 && text.starts_with('/') && !text.contains(['\n', '\0']);
    match is_plain {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err("name a folder from / on, as /opt/tasuki".into()),
    }
}
