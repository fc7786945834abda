//! What the RHiNET-2 paper says of its networks besides distances (those are in `measures.rs`): parts, and
//! the order of the networks by cables.

use tasuki_topo::measure::{SelfPairs, diameter, distances};
use tasuki_topo::shapes::{self, ClosHosts, Fit, PairRing};
use tasuki_topo::{Network, NetworkError};

/// Cables between switches.
fn inner(net: &Network) -> usize {
    net.links().len() - net.hosts().len()
}

/// Tables 3, 5 and 7: hosts and switches; the cables between switches follow from the shapes (n-ring: n; mesh
/// a x b: 2ab - a - b; torus: 2ab, a size of 2 counting once; Clos n x n: n squared; fat tree: p per switch
/// below the top).
#[test]
fn parts_of_the_papers_networks() -> Result<(), NetworkError> {
    let four = Fit::switches(4);
    let one = PairRing::OneCable;
    let cases = [
        ("mesh 4x4", shapes::mesh(&[4, 4], &four)?, 64, 16, 24),
        ("torus 4x4", shapes::torus(&[4, 4], one, &four)?, 64, 16, 32),
        ("ring 8", shapes::ring(8, &four)?, 32, 8, 8),
        ("mesh 4x2", shapes::mesh(&[4, 2], &four)?, 32, 8, 10),
        ("torus 4x2", shapes::torus(&[4, 2], one, &four)?, 32, 8, 12),
        ("Clos, both tiers", shapes::myrinet_clos(4, ClosHosts::Both, &four)?, 32, 8, 16),
        ("fat tree (2,4,2)", shapes::fat_tree_part(2, 4, 2, 2, &Fit::switches(2))?, 16, 14, 24),
        ("fat tree (2,4,1)", shapes::fat_tree(2, 4, 1, &four)?, 16, 6, 8),
        ("Clos, lower tier", shapes::myrinet_clos(4, ClosHosts::Lower, &four)?, 16, 8, 16),
        ("ring 4", shapes::ring(4, &four)?, 16, 4, 4),
    ];
    for (name, net, hosts, switches, cables) in cases {
        assert_eq!((net.hosts().len(), net.switches(), inner(&net)), (hosts, switches, cables), "{name}");
    }
    Ok(())
}

/// The paper shows its irregular network B in a figure only. A stand-in that fits all that is stated: the
/// mesh without the row cables 5-6 and 13-14 (switches numbered row by row from 0): average distance 3.6
/// (3.625), and fewer cables than the mesh, which has fewer than the torus. What is selected like this proves
/// nothing about the paper's other tables.
#[test]
fn a_stand_in_for_network_b() -> Result<(), NetworkError> {
    let four = Fit::switches(4);
    let across = (0..16).filter(|v| v % 4 < 3).map(|v| (v, v + 1));
    let down = (0..12).map(|v| (v, v + 4));
    let edges: Vec<_> = across.chain(down).filter(|edge| ![(5, 6), (13, 14)].contains(edge)).collect();
    let b = shapes::from_edges("B", 16, &edges, &four)?;
    assert_eq!(distances(&b).average(SelfPairs::Included), Some(3.625));
    assert!(diameter(&b).is_some());
    let mesh = shapes::mesh(&[4, 4], &four)?;
    let torus = shapes::torus(&[4, 4], PairRing::OneCable, &four)?;
    assert!(inner(&torus) > inner(&mesh) && inner(&mesh) > inner(&b), "order of the paper");
    Ok(())
}
