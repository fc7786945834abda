//! The networks of the paper.

use super::model::LINK_BPS;
use super::names::{CLOS, FAT_6, FAT_14};
use tasuki_topo::shapes::{self, ClosHosts, Fit, PairRing};
use tasuki_topo::{Network, NetworkBuilder, NetworkError};

/// How a network is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Routing {
    /// Structured channels, paths spread over hosts (4.1.1).
    Structured,
    /// Structured channels, the lowest port (4.1.1: the torus).
    StructuredLow,
    /// Shortest paths, with as few channels as they need (4.1.1: fat trees, Clos).
    Minimal,
}

/// A network of the paper.
pub(super) struct Named {
    pub name: &'static str,
    pub net: Network,
    pub routing: Routing,
}

pub(super) fn fit(hosts: u32) -> Fit {
    Fit::switches(hosts).rates(LINK_BPS, LINK_BPS)
}

fn named(
    name: &'static str,
    net: Result<Network, NetworkError>,
    routing: Routing,
) -> Result<Named, NetworkError> {
    Ok(Named { name, net: net?, routing })
}

pub(super) fn mesh() -> Result<Named, NetworkError> {
    named(super::names::MESH, shapes::mesh(&[4, 4], &fit(4)), Routing::Structured)
}

pub(super) fn torus() -> Result<Named, NetworkError> {
    named(super::names::TORUS, shapes::torus(&[4, 4], PairRing::OneCable, &fit(4)), Routing::StructuredLow)
}

/// The networks of table 5, in its order.
pub(super) fn of_32() -> Result<[Named; 4], NetworkError> {
    let four = fit(4);
    Ok([
        named("ring 8", shapes::ring(8, &four), Routing::Structured)?,
        named("mesh 4x2", shapes::mesh(&[4, 2], &four), Routing::Structured)?,
        named("torus 4x2", shapes::torus(&[4, 2], PairRing::OneCable, &four), Routing::StructuredLow)?,
        named(CLOS, shapes::myrinet_clos(4, ClosHosts::Both, &four), Routing::Minimal)?,
    ])
}

/// The networks of table 7, in its order.
pub(super) fn of_16() -> Result<[Named; 4], NetworkError> {
    let four = fit(4);
    Ok([
        named(FAT_14, shapes::fat_tree_part(2, 4, 2, 2, &fit(2)), Routing::Minimal)?,
        named(FAT_6, shapes::fat_tree(2, 4, 1, &four), Routing::Minimal)?,
        named(CLOS, shapes::myrinet_clos(4, ClosHosts::Lower, &four), Routing::Minimal)?,
        named("ring 4", shapes::ring(4, &four), Routing::Structured)?,
    ])
}

/// The fat tree of figure 8: 14 switches, 32 hosts.
pub(super) fn fat_tree_32() -> Result<Named, NetworkError> {
    named(FAT_14, shapes::fat_tree_part(2, 4, 2, 2, &fit(4)), Routing::Minimal)
}

/// A line of switches with one host at each end (figures 4 and 7, table 8).
pub(super) fn line(switches: u32) -> Result<Network, NetworkError> {
    let mut builder = NetworkBuilder::new(format!("{switches} switches in a line"));
    let mut last = builder.host("first");
    for number in 0..switches {
        let next = builder.switch(format!("switch{number}"), None);
        builder.cable(last, next, LINK_BPS);
        last = next;
    }
    let end = builder.host("last");
    builder.cable(last, end, LINK_BPS);
    builder.build()
}
