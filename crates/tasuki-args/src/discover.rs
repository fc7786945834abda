//! `tasuki discover`.

use super::{RemoteArgs, overwrite::Overwrite};
use clap::Args;
use std::{path::PathBuf, time::Duration};

/// Options of `tasuki discover`.
#[derive(Debug, Args)]
#[command(after_help = "Every NIC says hello in frames of its own and listens for others and for LLDP of \
switches. NICs that are down are
brought up for the moment, and set down again whatever happens. Left alone are the interface by which you are
logged in, interfaces with a default route, wireless ones, and ports of bridges and bonds.
Then frames of growing size and a short train of full ones show what each cable carries.

Examples:
  sudo tasuki discover n1 n2 n3 n4 -o cluster.toml       # over ssh as root
  tasuki discover --lab bare -o cluster.toml             # the hosts of a lab, as `lab up --bare` makes them
  tasuki discover n1 n2 -o cluster.toml --write          # again, after cables were moved
  tasuki discover n1 n2 --time 35s                       # long enough to hear the LLDP of any switch

See docs/guide/discover.md.")]
pub struct DiscoverArgs {
    /// Hosts, as ssh is given them: NAME, ADDRESS or USER@ADDRESS
    #[arg(required_unless_present_any = ["lab", "local"], conflicts_with_all = ["lab", "local"])]
    pub hosts: Vec<String>,
    /// The hosts of this lab
    #[arg(long, conflicts_with_all = ["local", "ssh", "remote", "sudo"])]
    pub lab: Option<String>,
    /// This machine alone
    #[arg(long)]
    pub local: bool,
    /// Cluster file to write; of one that is there a patch is shown
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Apply the patch to the cluster file that is there
    #[arg(long, requires = "output", conflicts_with = "force")]
    pub write: bool,
    /// Picture to write
    #[arg(long, value_name = "FILE.svg")]
    pub picture: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// Name of the cluster
    #[arg(long, default_value = "discovered", value_parser = cluster_name)]
    pub name: String,
    /// How long NICs say hello and listen, as 2s. Switches send LLDP every 30 s
    #[arg(long, default_value = "1s", value_parser = super::time::duration)]
    pub time: Duration,
    /// How long hosts may take to answer
    #[arg(long, default_value = "30s", value_parser = super::time::duration)]
    pub wait: Duration,
    /// NICs that take part although they would be left alone
    #[arg(long, value_name = "[HOST:]NIC", value_delimiter = ',')]
    pub include: Vec<String>,
    /// Do not measure what cables carry: the file has the rates and MTUs that NICs say
    #[arg(long)]
    pub no_measure: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// How other hosts are reached
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// A name of a cluster that can be in a file.
pub fn cluster_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let begins_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins_well && text.len() <= 40 && text.chars().all(is_plain) {
        return Ok(text.into());
    }
    Err("a name has up to 40 letters, digits, hyphens, dots and underscores, first a letter or digit".into())
}
