//! Clusters of common shapes.
//!
//! Hosts are called n1, n2, ..., their NICs eth1, eth2, ... in the order of their cables, switches sw1, ...

mod build;
mod shape;

pub use build::ClusterBuilder;
pub use shape::{SHAPES, Shape, ShapeHelp, shapes_help};

use crate::{Cluster, DEFAULT_MTU, DEFAULT_RATE, MTU_MAX, MTU_MIN, Rate};
use thiserror::Error;

/// Largest number of hosts that are generated.
pub const HOSTS_MAX: usize = 4096;
/// Largest number of cables that are generated: with it every NIC has an address in the default link range.
pub const CABLES_MAX: usize = 32_767;

/// What all parts of a generated cluster have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Rate of every NIC and switch. Default 1G.
    pub rate: Rate,
    /// MTU of every NIC, in bytes. Default 1500.
    pub mtu: u32,
    /// Cores of every host. Default `None`: a job asks the host.
    pub cores: Option<u32>,
    /// Copies of each cable, each with NICs of its own. Default 1.
    pub nics_per_cable: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { rate: DEFAULT_RATE, mtu: DEFAULT_MTU, cores: None, nics_per_cable: 1 }
    }
}

/// Why a cluster cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GenerateError {
    /// There is no shape of that name.
    #[error(
        "there is no shape {text:?}{near}; shapes are full:4, pair:4, star:4, planes:4x3, ring:5, mesh:4x4, \
         torus:4x4x4, mixed:8/4"
    )]
    UnknownShape {
        /// The text as it was written.
        text: String,
        /// The most similar name as a question in parentheses, or nothing.
        near: String,
    },
    /// The shape's sizes are not written as they should be.
    #[error("{text:?} is not a shape; write it as {syntax} with numbers for the capital letters")]
    ShapeSyntax {
        /// The text as it was written.
        text: String,
        /// How it should be written.
        syntax: &'static str,
    },
    /// The sizes make no cluster.
    #[error("{shape}: {problem}")]
    Size {
        /// The shape.
        shape: Shape,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// An option is out of range.
    #[error("{option} is {value}; it must be {range}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        range: String,
    },
}

/// Generates a cluster.
///
/// Rings and tori have one cable between two neighbours even where the way round is no longer than two hosts:
/// a dimension of size 2 has one cable, not two parallel ones, and a dimension of size 1 has none.
pub fn generate(shape: &Shape, options: &Options) -> Result<Cluster, GenerateError> {
    check_options(options)?;
    let hosts = check_size(shape, options)?;
    let name = shape.to_string().replace(':', "").replace('/', "-");
    let mut builder = ClusterBuilder::new(name, hosts, options);
    match shape {
        Shape::Full { .. } => cross_connect(&mut builder, 0, hosts),
        Shape::Star { .. } => builder.switch_for_all(),
        Shape::Planes { nics, .. } => (0..*nics).for_each(|_| builder.switch_for_all()),
        Shape::Ring { .. } => grid(&mut builder, &[hosts], true),
        Shape::Mesh { sizes } => grid(&mut builder, sizes, false),
        Shape::Torus { sizes } => grid(&mut builder, sizes, true),
        Shape::Mixed { group, .. } => {
            (0..hosts / group).for_each(|index| cross_connect(&mut builder, index * group, *group));
            builder.switch_for_all();
        }
        Shape::Pair { cables } => (0..*cables).for_each(|_| builder.connect(0, 1)),
    }
    Ok(builder.finish())
}

/// Cables every two of `count` hosts, from host `first` on.
fn cross_connect(builder: &mut ClusterBuilder, first: usize, count: usize) {
    for a in first..first + count {
        (a + 1..first + count).for_each(|b| builder.connect(a, b));
    }
}

/// Cables hosts, numbered with the last dimension running fastest, to the next one in every dimension.
fn grid(builder: &mut ClusterBuilder, sizes: &[usize], wrap: bool) {
    let hosts: usize = sizes.iter().product();
    for host in 0..hosts {
        let mut stride = 1;
        for &size in sizes.iter().rev() {
            let place = host / stride % size;
            if place + 1 < size {
                builder.connect(host, host + stride);
            } else if wrap && size > 2 {
                builder.connect(host - place * stride, host);
            }
            stride *= size;
        }
    }
}

fn check_options(options: &Options) -> Result<(), GenerateError> {
    let fail = |option, value: String, range: &str| {
        Err(GenerateError::Option { option, value, range: range.into() })
    };
    if options.rate.bits_per_second == 0 {
        return fail("the rate", options.rate.to_string(), "more than 0");
    }
    if !(MTU_MIN..=MTU_MAX).contains(&options.mtu) {
        return fail("the MTU", options.mtu.to_string(), &format!("from {MTU_MIN} to {MTU_MAX} bytes"));
    }
    if options.cores == Some(0) {
        return fail("the number of cores", "0".into(), "at least 1");
    }
    if options.nics_per_cable == 0 {
        return fail("the number of NICs per cable", "0".into(), "at least 1");
    }
    Ok(())
}

/// Checks that the shape makes a cluster of two or more hosts and of reasonable size. Returns the number of
/// hosts.
fn check_size(shape: &Shape, options: &Options) -> Result<usize, GenerateError> {
    let fail = |problem: String| Err(GenerateError::Size { shape: shape.clone(), problem });
    let product =
        |sizes: &[usize]| sizes.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
    // A product that overflows is too large in any case.
    let hosts = match shape {
        Shape::Full { hosts } | Shape::Star { hosts } | Shape::Ring { hosts } => Some(*hosts),
        Shape::Planes { hosts, .. } | Shape::Mixed { hosts, .. } => Some(*hosts),
        Shape::Mesh { sizes } | Shape::Torus { sizes } => product(sizes),
        Shape::Pair { .. } => Some(2),
    };
    let hosts = hosts.unwrap_or(usize::MAX);
    match *shape {
        Shape::Ring { hosts: ..=2 } => return fail("a ring takes 3 hosts or more".into()),
        Shape::Pair { cables: 0 } => return fail("a pair takes 1 cable or more".into()),
        Shape::Planes { nics: 0, .. } => return fail("a host takes 1 NIC or more".into()),
        Shape::Mixed { group, .. } if group == 0 || hosts % group != 0 => {
            return fail(format!("{hosts} hosts do not divide into groups of {group}"));
        }
        _ if hosts < 2 => return fail("a cluster takes 2 hosts or more".into()),
        _ if hosts > HOSTS_MAX => return fail(format!("more than {HOSTS_MAX} hosts are not generated")),
        _ => {}
    }
    let each = |count: usize| hosts.saturating_mul(count);
    let cables = match shape {
        Shape::Full { .. } => each(hosts - 1) / 2,
        Shape::Star { .. } | Shape::Ring { .. } => hosts,
        Shape::Planes { nics, .. } => each(*nics),
        // This is an upper bound: hosts at the edges of a mesh have fewer cables.
        Shape::Mesh { sizes } | Shape::Torus { sizes } => each(sizes.len()),
        Shape::Mixed { group, .. } => each(group - 1) / 2 + hosts,
        Shape::Pair { cables } => *cables,
    };
    if cables.saturating_mul(options.nics_per_cable) > CABLES_MAX {
        return fail(format!("more than {CABLES_MAX} cables are not generated"));
    }
    Ok(hosts)
}
