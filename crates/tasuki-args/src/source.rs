//! The cluster that a command works on.

use crate::shape;
use clap::Args;
use std::path::PathBuf;
use tasuki_cluster::{
    Cluster,
    generate::{Options, Shape},
};
use tasuki_terminal::Failure;

/// A cluster from a file or a shape.
#[derive(Debug, Args)]
#[command(after_help = crate::shape::help())]
pub struct Source {
    /// Cluster file
    #[arg(conflicts_with = "shape")]
    pub cluster: Option<PathBuf>,
    /// A generated cluster instead of a file, as full:4 (see below)
    #[arg(long)]
    pub shape: Option<Shape>,
}

impl Source {
    /// The cluster that the arguments name.
    pub fn cluster(&self) -> Result<Cluster, Failure> {
        shape::cluster(self.cluster.as_deref(), self.shape.as_ref(), &Options::default())
    }
}
