//! Clusters from a file or from a shape.

use crate::{args::Source, failure::Failure};
use std::path::Path;
use tasuki_cluster::{
    Cluster,
    generate::{Options, Shape, generate, shapes_help},
};

/// The shapes, for `--help`.
pub fn help() -> String {
    format!("Shapes:\n{}", shapes_help())
}

/// Reads a cluster file, or generates the shape.
pub fn cluster(file: Option<&Path>, shape: Option<&Shape>, options: &Options) -> Result<Cluster, Failure> {
    match (file, shape) {
        (Some(file), _) => Ok(Cluster::load(file)?),
        (None, Some(shape)) => Ok(generate(shape, options)?),
        (None, None) => Err(Failure::new("name a cluster file or a --shape")),
    }
}

/// The cluster that a command's [`Source`] names.
pub fn from_source(source: &Source) -> Result<Cluster, Failure> {
    cluster(source.cluster.as_deref(), source.shape.as_ref(), &Options::default())
}
