//! `tasuki apply`, `diff`, `undo` and `status`.

use super::{RemoteArgs, rate::rate};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tasuki_cluster::Rate;
use tasuki_host::RingLength;

/// On, off, or left alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    /// On
    On,
    /// Off
    Off,
    /// As they are
    #[default]
    Keep,
}

/// Which hosts, and how they are reached.
#[derive(Debug, Args)]
pub struct HostsArgs {
    /// The hosts of this lab
    #[arg(long, conflicts_with_all = ["local", "host", "ssh", "remote", "sudo"])]
    pub lab: Option<String>,
    /// This machine alone; its host name says which host of the cluster it is
    #[arg(long = "here", conflicts_with = "host")]
    pub local: bool,
    /// This machine alone, as this host of the cluster
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// How other hosts are reached
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// Where a host keeps what it was like before [default: /var/lib/tasuki; /run/tasuki-state in a lab]
    #[arg(long, value_name = "FOLDER")]
    pub state_dir: Option<PathBuf>,
    /// Change also the interface by which you are logged in
    #[arg(long)]
    pub force: bool,
    /// Print JSON: one report per host
    #[arg(long)]
    pub json: bool,
    /// Say whether it could be done, rights included, and do nothing
    #[arg(long, hide = true)]
    pub check: bool,
}

/// Options of `tasuki apply` and `tasuki diff`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tasuki diff cluster.toml                   # how many things would change, host by host
  tasuki diff cluster.toml --full            # all of them
  sudo tasuki apply cluster.toml             # all hosts of the file, over ssh as root (or --sudo)
  sudo tasuki apply cluster.toml --here      # this machine alone
  sudo tasuki apply cluster.toml --persist   # and again at every start of the machines
  sudo tasuki apply cluster.toml --runtime   # and start the daemons that run jobs
  tasuki lab up --shape ring:5 --name ring --bare && tasuki apply --lab ring

All hosts are checked before the first is changed: one that does not answer, lacks an interface or refuses
permission stops all. What a host was like is written to its state folder first; `tasuki undo` restores it,
also after a crash. Interfaces that the file does not name are never touched. See docs/guide/set-up.md.")]
pub struct ApplyArgs {
    /// Cluster file; - reads it from standard input. With --lab: instead of the lab's own
    pub cluster: Option<PathBuf>,
    /// Which hosts, and how they are reached.
    #[command(flatten)]
    pub hosts: HostsArgs,
    /// Only say what would be changed
    #[arg(long)]
    pub dry_run: bool,
    /// With diff or --dry-run: every setting, as it is and as it becomes
    #[arg(long)]
    pub full: bool,
    /// Segmentation, merging and checksum offloads of cabled NICs; in a lab as the lab has them
    #[arg(long, value_enum, default_value = "keep")]
    pub offloads: OnOff,
    /// Frames that the receive and send queues of cabled NICs hold: max, or a power of two; otherwise they
    /// stay as they are
    #[arg(long, value_name = "FRAMES")]
    pub rings: Option<RingLength>,
    /// Leave /etc/hosts alone; otherwise the hosts' names lead to their identity addresses
    #[arg(long)]
    pub no_names: bool,
    /// Set up the NICs that are there, although others of the file are missing; `tasuki watch` sets these up
    /// when they come. The unit of --persist does so
    #[arg(long)]
    pub allow_missing: bool,
    /// Do not start `tasuki watch`, which leads pairs of hosts around dead cables; as `fallback = false` in
    /// the file
    #[arg(long)]
    pub no_watch: bool,
    /// Start the resident runtime on all hosts, for `tasuki submit` and `tasuki run --resident`: every host
    /// gets a key, over ssh, by which the hosts of this cluster know each other. With --persist also at every
    /// start of the machines
    #[arg(long, conflicts_with_all = ["local", "host", "dry_run"])]
    pub runtime: bool,
    /// Told to hosts whose daemons `--runtime` starts: a unit that is there starts them, too
    #[arg(long, hide = true)]
    pub runtime_unit: bool,
    /// Told by the unit that `tasuki watch` has one of its own
    #[arg(long, hide = true)]
    pub watch_by_unit: bool,
    /// Turn forwarding off where the plan does not need it, even if it was on before
    #[arg(long)]
    pub stop_forwarding: bool,
    /// One rate for all rails in rails.json, as 100M or 1G
    #[arg(long, value_parser = rate)]
    pub rate: Option<Rate>,
    /// Apply at every start of the machine, by a systemd unit
    #[arg(long)]
    pub persist: bool,
    /// Remove the unit of an earlier --persist
    #[arg(long, conflicts_with = "persist")]
    pub no_persist: bool,
    /// Where the unit goes
    #[arg(long, value_name = "FOLDER", default_value = tasuki_host::UNIT_FOLDER)]
    pub unit_dir: PathBuf,
}

/// Options of `tasuki undo` and `tasuki status`.
#[derive(Debug, Args)]
#[command(after_help = "Without a cluster file and --lab: this machine alone.

Examples:
  tasuki status cluster.toml           # all hosts of the file, over ssh
  sudo tasuki undo                     # this machine
  sudo tasuki undo cluster.toml        # all hosts of the file
  tasuki undo --lab ring")]
pub struct StateArgs {
    /// Cluster file: all its hosts
    pub cluster: Option<PathBuf>,
    /// Which hosts, and how they are reached.
    #[command(flatten)]
    pub hosts: HostsArgs,
    /// Only say what would be changed
    #[arg(long)]
    pub dry_run: bool,
    /// With undo --dry-run: every setting, as it is and as it becomes
    #[arg(long, requires = "dry_run")]
    pub full: bool,
}

/// Options of `tasuki watch`.
#[derive(Debug, Args)]
#[command(
    after_help = "`tasuki apply` starts it on every host, and `tasuki undo` ends it: it is rarely called by \
                  hand.

When all cables between two hosts are dead (no carrier, or nothing is heard, also in one direction only),
their packets go through other hosts within a second, and back once a cable has been well for a second. All
hosts tell each other what is dead, so that all routes agree. `tasuki apply --no-watch`, or `fallback =
false` in the cluster file, keeps pairs to their own cables. See docs/guide/watch.md.

Examples:
  tasuki watch --status --lab ring      # what is dead, and who is led around it
  tasuki watch cluster.toml             # in the foreground, on this machine, until Ctrl-C"
)]
pub struct WatchArgs {
    /// Cluster file; - reads it from standard input
    pub cluster: Option<PathBuf>,
    /// As this host of the cluster [default: this machine's name]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Say what the watches of all hosts know, and end: of a cluster file's hosts, of a --lab's, or of this
    /// machine
    #[arg(long)]
    pub status: bool,
    /// With --status: the hosts of this lab
    #[arg(long, requires = "status")]
    pub lab: Option<String>,
    /// With --status: print JSON
    #[arg(long, requires = "status")]
    pub json: bool,
    /// Where `apply` keeps its record of this host [default: /var/lib/tasuki; /run/tasuki-state in a lab]
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["status", "lab", "json"])]
    pub state_dir: Option<PathBuf>,
    /// Say on standard output that it runs, then be silent
    #[arg(long, hide = true)]
    pub background: bool,
}
