//! Clusters from a file or from a shape.

use crate::rate;
use std::{fmt, path::Path, str::FromStr};
use tasuki_cluster::{
    Cluster, Rate,
    generate::{Options, Shape, generate, shapes_help},
};
use tasuki_terminal::Failure;

/// The list of shapes, for `--help`.
pub fn help() -> String {
    format!("Shapes:\n{}", shapes_help())
}

/// A shape to build a lab of, and the rate of its cables if they have one of their own: `full:4` or
/// `full:4@33M`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatedShape {
    /// Hosts and cables.
    pub shape: Shape,
    /// Rate of every cable; it has priority over `--rate`.
    pub rate: Option<Rate>,
}

impl FromStr for RatedShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (shape, given) = text.split_once('@').map_or((text, None), |(shape, given)| (shape, Some(given)));
        let shape =
            shape.parse().map_err(|error: tasuki_cluster::generate::GenerateError| error.to_string())?;
        Ok(Self { shape, rate: given.map(rate).transpose()? })
    }
}

impl fmt::Display for RatedShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate {
            None => write!(f, "{}", self.shape),
            Some(rate) => write!(f, "{}@{rate}", self.shape),
        }
    }
}

/// Reads a cluster file, or generates a shape.
pub fn cluster(file: Option<&Path>, shape: Option<&Shape>, options: &Options) -> Result<Cluster, Failure> {
    match (file, shape) {
        (Some(file), _) => match file.to_str().filter(|name| !file.exists() && is_shape(name)) {
            Some(name) => Err(Failure::new(format!("{name} is a shape and no file: write --shape {name}"))),
            None => Ok(Cluster::load(file)?),
        },
        (None, Some(shape)) => Ok(generate(shape, options)?),
        (None, None) => Err(Failure::new("name a cluster file, or a shape: --shape full:4")),
    }
}

fn is_shape(name: &str) -> bool {
    name.parse::<Shape>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_in_the_place_of_a_file_is_told_its_option() {
        let refused =
            |name: &str| cluster(Some(Path::new(name)), None, &Options::default()).unwrap_err().message;
        assert_eq!(refused("full:4"), "full:4 is a shape and no file: write --shape full:4");
        assert!(refused("no-such.toml").contains("cannot read the file"), "{}", refused("no-such.toml"));
    }

    #[test]
    fn a_shape_may_have_a_rate_of_its_own() {
        for text in ["full:4", "planes:4x4@25M"] {
            assert_eq!(text.parse::<RatedShape>().map(|shape| shape.to_string()), Ok(text.into()));
        }
        assert!("full:4@33".parse::<RatedShape>().is_err_and(|error| error.contains("33M")));
        assert!("fool:4@33M".parse::<RatedShape>().is_err_and(|error| error.contains("full")));
    }
}
