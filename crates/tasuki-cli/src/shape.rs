//! Clusters from a file or from a shape.

use crate::failure::Failure;
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
