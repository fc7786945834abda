//! `tasuki tune ...`

use clap::{Args, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};
use tasuki_host::{Delay, Means, Mode};

/// What to do about the interrupt delay.
#[derive(Debug, Subcommand)]
pub enum TuneCommand {
    /// Which interrupt delay NICs have, and by which means it can be changed
    Show(TuneShow),
    /// Set the interrupt delay of NICs: off, a time, or the driver's own choice (root)
    Set(TuneSet),
    /// Run the daemon that chooses the delay's length by processor use and packets, and logs every choice
    /// with its reason (root)
    Run(TuneRun),
    /// What a running `tasuki tune run` has chosen
    Status(TuneJson),
    /// End `tasuki tune run`, and give NICs the delay back that they had before the first `set` or `run`
    /// (root)
    Undo(TuneChange),
    /// The controller against every fixed delay and the kernel's adaptive-rx, on a model of a host: eight
    /// levels of load, and two in turn
    Simulate(TuneSimulate),
}

/// By what a delay is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The NIC's own timer: ethtool -C, rx-usecs
    Ethtool,
    /// The kernel's timer, for every NIC whose driver polls: gro_flush_timeout and napi_defer_hard_irqs
    Napi,
    /// InterruptThrottleRate of e1000 and e1000e, from the next time that the driver is loaded
    Module,
}

impl From<By> for Means {
    fn from(by: By) -> Means {
        match by {
            By::Ethtool => Means::Ethtool,
            By::Napi => Means::Napi,
            By::Module => Means::Module,
        }
    }
}

/// Where the record is.
#[derive(Debug, Args)]
pub struct TuneState {
    /// Where this host keeps what it was like before [default: /var/lib/tasuki; /run/tasuki-state in a lab]
    #[arg(long, value_name = "FOLDER")]
    pub state_dir: Option<PathBuf>,
}

/// How something is changed, and told.
#[derive(Debug, Args)]
pub struct TuneChange {
    /// Only say what would be changed
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Where the record is.
    #[command(flatten)]
    pub state: TuneState,
}

impl TuneChange {
    /// Whether it is to be done.
    pub fn mode(&self) -> Mode {
        if self.dry_run { Mode::Show } else { Mode::Change }
    }

    /// The folder of the state that was asked for.
    pub fn state_dir(&self) -> Option<&Path> {
        self.state.state_dir.as_deref()
    }
}

/// `tasuki tune show`
#[derive(Debug, Args)]
pub struct TuneShow {
    /// NICs [default: those that `tasuki apply` has set up, else all but loopback]
    pub nics: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `tasuki tune set`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo tasuki tune set eth1 eth2 --delay off     # every frame interrupts: shortest latency, most interrupts
  sudo tasuki tune set eth1 --delay 50us         # at most one interrupt in 50 microseconds
  sudo tasuki tune set eth1 --delay adaptive     # the driver's own choice
  sudo tasuki tune undo                          # as it was

The NIC's own timer is taken if the driver lets it be set, the kernel's otherwise; --by says which. What the \
  NIC had before is
written down first, so that `undo` restores it also after a crash. See docs/guide/interrupt-delay.md.")]
pub struct TuneSet {
    /// NICs [default: those that `tasuki apply` has set up]
    pub nics: Vec<String>,
    /// off, adaptive, or a time as 50us or 1ms
    #[arg(long, value_name = "DELAY")]
    pub delay: Delay,
    /// By this means, and no other
    #[arg(long, value_enum)]
    pub by: Option<By>,
    /// With --by module: unload the driver and load it again now. Its NICs must have no addresses
    #[arg(long)]
    pub reload: bool,
    /// How it is changed, and told.
    #[command(flatten)]
    pub change: TuneChange,
}

/// `tasuki tune run`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo tasuki tune run eth1 eth2 --log /var/log/tasuki-tune.jsonl     # in the foreground, until Ctrl-C
  sudo systemd-run --unit tasuki-tune tasuki tune run eth1            # as a service
  sudo tasuki tune run --bundle                                       # may also take NICs out of a striped \
  bundle

It tries a neighbouring delay now and then, and keeps what lets more packets in or leaves programs more of \
  the processor; the shorter
one if neither differs. At its end, by Ctrl-C, SIGTERM or `tasuki tune undo`, NICs are as they were. See \
  docs/guide/interrupt-delay.md.")]
pub struct TuneRun {
    /// NICs, all with the same delay [default: those that `tasuki apply` has set up]
    pub nics: Vec<String>,
    /// Shortest delay
    #[arg(long, default_value = "off", value_name = "DELAY")]
    pub least: Delay,
    /// Longest delay
    #[arg(long, default_value = "500us", value_name = "DELAY")]
    pub most: Delay,
    /// Time between two decisions, milliseconds
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u64).range(50..=2000))]
    pub period: u64,
    /// By this means, and no other
    #[arg(long, value_enum)]
    pub by: Option<By>,
    /// Write every period to this file, one JSON object per line: time, delay, reason, packets and interrupts
    /// per second, processor use
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// As the cluster file says, by what `tasuki apply` has written here
    #[arg(long, conflicts_with_all = ["nics", "least", "most"])]
    pub planned: bool,
    /// Say on standard output that it runs, then be silent
    #[arg(long, hide = true)]
    pub background: bool,
    /// Take NICs out of the striped bundle while the processor and not the wire is the limit; needs `tasuki
    /// watch`
    #[arg(long)]
    pub bundle: bool,
    /// Where the record is.
    #[command(flatten)]
    pub state: TuneState,
}

/// `tasuki tune status`
#[derive(Debug, Args)]
pub struct TuneJson {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `tasuki tune simulate`
#[derive(Debug, Args)]
pub struct TuneSimulate {
    /// Seeds, one run each
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(2..=1000))]
    pub runs: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print JSON: every run
    #[arg(long)]
    pub json: bool,
}
