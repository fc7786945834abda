//! `tasuki lab ...`

use super::rate::rate;
use clap::{Args, Subcommand};
use std::{ffi::OsString, path::PathBuf};
use tasuki_cluster::{Rate, generate::Shape};

/// Text below the options.
pub(crate) const LAB_HELP: &str = "All but `list` need root: namespaces and cables belong to the kernel.";

/// What to do with a lab.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Build a lab from a cluster file or a shape
    Up(LabUp),
    /// End labs; nothing of them remains
    Down {
        /// Names of the labs; none: the only one that is up
        names: Vec<String>,
        /// All labs that are up
        #[arg(long, conflicts_with = "names")]
        all: bool,
    },
    /// Names of the labs that are up
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Hosts, cables, faults in force and frames counted
    Status {
        /// Name of the lab; none: the only one that is up
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a command in a host: tasuki lab exec n1 -- ip route
    Exec {
        /// Name of the lab; none: the one we are in, or the only one that is up
        #[arg(long)]
        lab: Option<String>,
        /// End everything that the command started, on any host, when it ends
        #[arg(long)]
        job: bool,
        /// Host name, or one of the host's addresses
        host: String,
        /// Command and arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<OsString>,
    },
    /// Cut cables: both NICs lose carrier, as when the cable is pulled out
    Cut {
        /// Which cables, and which direction.
        #[command(flatten)]
        which: FaultArgs,
        /// Leave the carrier on, as when the cable is dead behind a media converter
        #[arg(long)]
        keep_carrier: bool,
    },
    /// Take all faults away (a changed rate stays)
    Heal(FaultArgs),
    /// Lose frames: tasuki lab loss n1:eth1 1%
    Loss {
        /// Which cables, and which direction.
        #[command(flatten)]
        which: FaultArgs,
        /// Likelihood, as 1% or 0.01
        #[arg(value_parser = likelihood)]
        likelihood: f64,
    },
    /// Deliver frames twice
    Duplicate {
        /// Which cables, and which direction.
        #[command(flatten)]
        which: FaultArgs,
        /// Likelihood, as 1% or 0.01
        #[arg(value_parser = likelihood)]
        likelihood: f64,
    },
    /// Change one byte of frames, behind the Ethernet header
    Corrupt {
        /// Which cables, and which direction.
        #[command(flatten)]
        which: FaultArgs,
        /// Likelihood, as 1% or 0.01
        #[arg(value_parser = likelihood)]
        likelihood: f64,
    },
    /// Change the rate of cables: tasuki lab rate all 100M
    Rate {
        /// Which cables, and which direction.
        #[command(flatten)]
        which: FaultArgs,
        /// New rate, as 100M, 1G, 2.5G
        #[arg(value_parser = rate)]
        rate: Rate,
    },
}

/// Options of `tasuki lab up`.
#[derive(Debug, Args)]
#[command(after_help = crate::shape::help())]
pub struct LabUp {
    /// Cluster file
    #[arg(conflicts_with = "shape")]
    pub cluster: Option<PathBuf>,
    /// A generated cluster instead of a file, as full:4 (see below)
    #[arg(long)]
    pub shape: Option<Shape>,
    /// Name of the lab [default: the cluster's name]
    #[arg(long)]
    pub name: Option<String>,
    /// One rate for every cable, as 100M or 1G, instead of those in the cluster file
    #[arg(long, conflicts_with = "unshaped", value_parser = rate)]
    pub rate: Option<Rate>,
    /// MTU of generated NICs, in bytes
    #[arg(long, requires = "shape", conflicts_with = "cluster")]
    pub mtu: Option<u32>,
    /// Leave segmentation and checksum offloads on (fast, but no cable carries 64 KiB frames)
    #[arg(long)]
    pub offloads: bool,
    /// Bare cables without rates or faults: shows the limits of the software
    #[arg(long)]
    pub unshaped: bool,
    /// Hosts that nobody has set up: cables and NICs, but no addresses, routes or settings; for `tasuki apply
    /// --lab`
    #[arg(long)]
    pub bare: bool,
    /// Start the resident runtime on all hosts, for `tasuki submit` and `tasuki run --resident`
    #[arg(long, conflicts_with = "bare")]
    pub runtime: bool,
    /// Seed of the faults' random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u32,
    /// Stay, and end the lab with this command (Ctrl-C)
    #[arg(long)]
    pub foreground: bool,
}

/// Which cables, and which direction.
#[derive(Debug, Args)]
pub struct FaultArgs {
    /// Name of the lab; none: the only one that is up
    #[arg(long)]
    pub lab: Option<String>,
    /// n1:eth1 (the cable of that NIC or switch port), n1-n2 (all between two), n1 (all of a host or switch),
    /// all
    pub cables: String,
    /// Only what this end sends (host, switch or NIC); otherwise both directions
    #[arg(long)]
    pub from: Option<String>,
}

/// Reads `1%` or `0.01`.
fn likelihood(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent, 100.0),
        None => (text, 1.0),
    };
    let value = number.trim().parse::<f64>().map_err(|_| "write a likelihood as 1% or 0.01")? / scale;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("a likelihood is between 0% and 100%".into()) }
}

#[cfg(test)]
mod tests {
    use super::likelihood;

    #[test]
    fn reads_likelihoods() {
        assert_eq!(likelihood("1%"), Ok(0.01));
        assert_eq!(likelihood("0.25"), Ok(0.25));
        assert_eq!(likelihood("100%"), Ok(1.0));
        for bad in ["2", "-1%", "NaN", "x", "%", "101%"] {
            assert!(likelihood(bad).is_err(), "{bad}");
        }
    }
}
