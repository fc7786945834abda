//! Names of shapes.

use super::GenerateError;
use crate::names::nearest;
use std::{fmt, str::FromStr};

/// A common shape of cluster. Text form: see [`SHAPES`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Every host cabled to every other.
    Full {
        /// Number of hosts.
        hosts: usize,
    },
    /// All hosts on one switch.
    Star {
        /// Number of hosts.
        hosts: usize,
    },
    /// One switch per NIC index: the first NICs of all hosts on the first switch, and so on.
    Planes {
        /// Number of hosts.
        hosts: usize,
        /// NICs per host, which is the number of switches.
        nics: usize,
    },
    /// Hosts in a ring.
    Ring {
        /// Number of hosts.
        hosts: usize,
    },
    /// Hosts in a grid of two or three dimensions.
    Mesh {
        /// Hosts per dimension.
        sizes: Vec<usize>,
    },
    /// A grid whose edges meet.
    Torus {
        /// Hosts per dimension.
        sizes: Vec<usize>,
    },
    /// Groups of hosts, cross-connected inside each group, and one switch for all hosts.
    Mixed {
        /// Number of hosts.
        hosts: usize,
        /// Hosts per group.
        group: usize,
    },
    /// Two hosts with parallel cables.
    Pair {
        /// Number of cables.
        cables: usize,
    },
}

/// The description of a shape for `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeHelp {
    /// The word before the colon.
    pub name: &'static str,
    /// How it is written.
    pub syntax: &'static str,
    /// One line on what it is.
    pub meaning: &'static str,
}

/// All shapes.
pub const SHAPES: [ShapeHelp; 8] = [
    ShapeHelp { name: "full", syntax: "full:N", meaning: "every host cabled to every other (N-1 NICs each)" },
    ShapeHelp { name: "pair", syntax: "pair:K", meaning: "two hosts with K parallel cables" },
    ShapeHelp { name: "star", syntax: "star:N", meaning: "N hosts with one NIC each on one switch" },
    ShapeHelp {
        name: "planes",
        syntax: "planes:NxK",
        meaning: "N hosts with K NICs each, one switch per NIC index",
    },
    ShapeHelp { name: "ring", syntax: "ring:N", meaning: "N hosts in a ring; hosts relay" },
    ShapeHelp { name: "mesh", syntax: "mesh:AxB", meaning: "hosts in a grid (also AxBxC); hosts relay" },
    ShapeHelp {
        name: "torus",
        syntax: "torus:AxB",
        meaning: "a grid whose edges meet (also AxBxC); hosts relay",
    },
    ShapeHelp {
        name: "mixed",
        syntax: "mixed:N/G",
        meaning: "N hosts in groups of G: cables inside a group, one switch for all",
    },
];

/// The table of [`SHAPES`] as text, one line each, for `--help`.
pub fn shapes_help() -> String {
    let line = |shape: &ShapeHelp| format!("  {:<11}  {}\n", shape.syntax, shape.meaning);
    SHAPES.iter().map(line).collect()
}

impl FromStr for Shape {
    type Err = GenerateError;

    fn from_str(text: &str) -> Result<Self, GenerateError> {
        let (name, sizes) = text.split_once(':').unwrap_or((text, ""));
        let Some(help) = SHAPES.iter().find(|shape| shape.name == name) else {
            let names = SHAPES.iter().map(|shape| shape.name);
            let near = nearest(name, names).map(|near| format!(" (did you mean {near}?)"));
            return Err(GenerateError::UnknownShape { text: text.into(), near: near.unwrap_or_default() });
        };
        let separator = if name == "mixed" { '/' } else { 'x' };
        let wrong = || GenerateError::ShapeSyntax { text: text.into(), syntax: help.syntax };
        // usize::from_str accepts a sign, which a shape does not have.
        let size = |size: &str| {
            let digits = size.bytes().all(|digit| digit.is_ascii_digit());
            digits.then(|| size.parse().ok()).flatten().ok_or_else(wrong)
        };
        let sizes: Vec<usize> = sizes.split(separator).map(size).collect::<Result<_, _>>()?;
        Ok(match (name, &sizes[..]) {
            ("full", &[hosts]) => Self::Full { hosts },
            ("star", &[hosts]) => Self::Star { hosts },
            ("ring", &[hosts]) => Self::Ring { hosts },
            ("pair", &[cables]) => Self::Pair { cables },
            ("planes", &[hosts, nics]) => Self::Planes { hosts, nics },
            ("mixed", &[hosts, group]) => Self::Mixed { hosts, group },
            ("mesh", [_, _] | [_, _, _]) => Self::Mesh { sizes },
            ("torus", [_, _] | [_, _, _]) => Self::Torus { sizes },
            _ => return Err(wrong()),
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grid = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        formatter.pad(&match self {
            Self::Full { hosts } => format!("full:{hosts}"),
            Self::Star { hosts } => format!("star:{hosts}"),
            Self::Planes { hosts, nics } => format!("planes:{hosts}x{nics}"),
            Self::Ring { hosts } => format!("ring:{hosts}"),
            Self::Mesh { sizes } => format!("mesh:{}", grid(sizes)),
            Self::Torus { sizes } => format!("torus:{}", grid(sizes)),
            Self::Mixed { hosts, group } => format!("mixed:{hosts}/{group}"),
            Self::Pair { cables } => format!("pair:{cables}"),
        })
    }
}
