//! `tasuki up` and `tasuki down`.

use super::{RemoteArgs, install::PREFIX, install::SshArgs, overwrite::Overwrite};
use clap::Args;
use std::{path::PathBuf, time::Duration};
use tasuki_process::quote;

/// Options of `tasuki up`.
#[derive(Debug, Args)]
#[command(after_help = "What it does, one after the other; each is a command of its own, too:
  install   this Tasuki, on hosts that have none or another version
  discover  what is cabled to what; writes the cluster file
  diff      what would change on every host; asks once
  apply     addresses, routes, settings, names
  check     every cable, and who is at its other end
  bench     an MPI over TCP and over Tasuki, about 20 s; raw limits where there is no MPI

If a host cannot be set up, the check finds a fault, or Ctrl-C comes, all hosts are made as they were. If
this command itself is killed, `tasuki down` does that.

Examples:
  tasuki up root@n1 root@n2 root@n3 root@n4
  tasuki up --sudo --yes n1 n2                # as a user who may run sudo; asks nothing
  tasuki up --persist root@n1 root@n2         # set up at every start of the machines, too
  tasuki lab up --shape full:4 --name bare --bare && tasuki up --lab bare
  tasuki down cluster.toml                    # all hosts as before

See docs/guide/up.md.")]
pub struct UpArgs {
    /// Hosts, as ssh is given them: NAME, ADDRESS or USER@ADDRESS
    #[arg(required_unless_present = "lab", conflicts_with = "lab", value_name = "HOST")]
    pub hosts: Vec<String>,
    /// The hosts of this lab
    #[arg(long, conflicts_with_all = ["ssh", "sudo", "prefix", "no_install"])]
    pub lab: Option<String>,
    /// Cluster file to write, and to use if it describes the cables that are found
    #[arg(long, short, value_name = "FILE", default_value = "cluster.toml")]
    pub output: PathBuf,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// Ask nothing: set up what is found
    #[arg(long, short)]
    pub yes: bool,
    /// Set the hosts up at every start, too, by a systemd unit. Otherwise a restart takes all but Tasuki away
    #[arg(long, conflicts_with = "lab")]
    pub persist: bool,
    /// Hosts have Tasuki already: install nothing
    #[arg(long)]
    pub no_install: bool,
    /// Measure nothing at the end
    #[arg(long)]
    pub no_demo: bool,
    /// Folder on the hosts below which Tasuki goes
    #[arg(long, default_value = PREFIX, value_parser = super::install::prefix, value_name = "FOLDER")]
    pub prefix: String,
    /// Name of the cluster
    #[arg(long, default_value = "discovered", value_parser = super::discover::cluster_name)]
    pub name: String,
    /// How long NICs say hello and listen, as 2s. Switches send LLDP every 30 s
    #[arg(long, default_value = "1s", value_parser = super::time::duration)]
    pub time: Duration,
    /// NICs that take part although they would be left alone
    #[arg(long, value_name = "[HOST:]NIC", value_delimiter = ',')]
    pub include: Vec<String>,
    /// Print JSON; asks nothing, so that --yes must be said
    #[arg(long, requires = "yes")]
    pub json: bool,
    /// How hosts are reached
    #[command(flatten)]
    pub ssh: SshArgs,
}

impl UpArgs {
    /// What can be typed once the hosts are ready, in lines; `down`: the command that restores them.
    pub fn next_steps(&self, down: &str) -> String {
        let hosts = match &self.lab {
            Some(lab) => format!("--lab {lab}"),
            None => format!("--cluster {}", quote(self.output.as_os_str())),
        };
        let lasting = match self.persist || self.lab.is_some() {
            true => "",
            false => "  the same with --persist    # hosts are set up at every start, too\n",
        };
        format!("  tasuki run {hosts} -n 8 ./my_mpi_program\n{lasting}  {down}")
    }
}

/// Options of `tasuki down`.
#[derive(Debug, Args)]
#[command(
    after_help = "It does what `tasuki undo` does, also where some hosts cannot be reached, and nothing \
else: the cluster file stays.

Examples:
  tasuki down                          # the hosts of cluster.toml
  tasuki down --remove                 # Tasuki itself too, where `up` or `install` has put it
  tasuki down --lab bare

See docs/guide/up.md."
)]
pub struct DownArgs {
    /// Cluster file: all its hosts
    #[arg(default_value = "cluster.toml", conflicts_with = "lab")]
    pub cluster: PathBuf,
    /// The hosts of this lab
    #[arg(long, conflicts_with_all = ["ssh", "remote", "sudo", "remove"])]
    pub lab: Option<String>,
    /// Take Tasuki away, too
    #[arg(long)]
    pub remove: bool,
    /// Folder on the hosts below which Tasuki is
    #[arg(
        long,
        default_value = PREFIX,
        value_parser = super::install::prefix,
        value_name = "FOLDER",
        requires = "remove",
        conflicts_with = "lab"
    )]
    pub prefix: String,
    /// Print JSON: one report per host
    #[arg(long)]
    pub json: bool,
    /// How hosts are reached
    #[command(flatten)]
    pub remote: RemoteArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        up: UpArgs,
    }

    #[test]
    fn what_comes_next_says_how_it_lasts() {
        let steps = |argv: &str| Line::parse_from(argv.split(' ')).up.next_steps("tasuki down");
        let steps = [steps("up n1 n2"), steps("up n1 n2 --persist"), steps("up --lab four")];
        assert!(steps.iter().all(|steps| steps.ends_with("\n  tasuki down")), "{steps:?}");
        assert_eq!(steps.each_ref().map(|steps| steps.contains("--persist")), [true, false, false]);
        assert!(steps[2].contains("--lab four -n 8") && steps[0].contains("--cluster cluster.toml -n 8"));
    }
}
