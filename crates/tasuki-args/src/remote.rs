//! How other machines are reached.

use clap::Args;
use tasuki_terminal::Failure;

/// How `tasuki` on other hosts is reached.
#[derive(Debug, Args)]
pub struct RemoteArgs {
    /// How other hosts are reached, with options if need be: --ssh "ssh -F config"
    #[arg(long, default_value = "ssh", value_name = "COMMAND")]
    pub ssh: String,
    /// The `tasuki` command on other hosts; it must be there, in the same version as here
    #[arg(long, default_value = "tasuki", value_name = "PATH")]
    pub remote: String,
    /// Become root with `sudo -n` on other hosts
    #[arg(long)]
    pub sudo: bool,
}

impl RemoteArgs {
    /// Program and options that reach a host; and the `tasuki` command over there, `sudo` before it if asked
    /// for.
    pub fn commands(&self) -> Result<(Vec<String>, Vec<String>), Failure> {
        let split = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let ssh = split(&self.ssh);
        if ssh.is_empty() {
            return Err(Failure::new("--ssh needs a command"));
        }
        let sudo = if self.sudo { split("sudo -n") } else { Vec::new() };
        Ok((ssh, sudo.into_iter().chain([self.remote.clone()]).collect()))
    }
}
