//! `tasuki cluster ...`

use super::{overwrite::Overwrite, rate::rate, source::Source};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tasuki_cluster::{Rate, generate::Shape};

/// What to do with a cluster file.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Write a cluster file of a shape: tasuki cluster new full:4 > cluster.toml
    New(ClusterNew),
    /// Read a file strictly and say everything that is wrong with it
    Check {
        /// Cluster files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Hosts, NICs, addresses and cables
    Show {
        /// The cluster: a file, or a shape.
        #[command(flatten)]
        source: Source,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The rails between hosts: which NICs, over what, at which rate
    Rails {
        /// The cluster: a file, or a shape.
        #[command(flatten)]
        source: Source,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The routes that each host gets
    Routes {
        /// The cluster: a file, or a shape.
        #[command(flatten)]
        source: Source,
        /// Only this host
        #[arg(long)]
        host: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Options of `tasuki cluster new`.
#[derive(Debug, Args)]
#[command(after_help = crate::shape::help())]
pub struct ClusterNew {
    /// Shape, as full:4
    pub shape: Shape,
    /// Rate of every NIC and switch
    #[arg(long, default_value = "1G", value_parser = rate)]
    pub rate: Rate,
    /// MTU of every NIC in bytes
    #[arg(long, default_value_t = 1500)]
    pub mtu: u32,
    /// Cores of every host that ranks may use; otherwise `run` asks the hosts
    #[arg(long)]
    pub cores: Option<u32>,
    /// Copies of every cable, each with NICs of its own
    #[arg(long, default_value_t = 1)]
    pub copies: usize,
    /// File to write; otherwise standard output
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
}
