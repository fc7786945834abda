//! Single points of failure against trying the loss of everything.

mod common;

use tasuki_topo::measure::weak_points;
use tasuki_topo::shapes::{self, Fit};
use tasuki_topo::{LinkId, Network, NodeId};

/// Ordered pairs of surviving hosts that are connected.
fn pairs(net: &Network, gone: Option<NodeId>) -> u64 {
    let alive: Vec<NodeId> = net.hosts().iter().copied().filter(|&h| Some(h) != gone).collect();
    let reach = |goal: &NodeId| {
        let need = common::needed(net, *goal);
        alive.iter().filter(|h| *h != goal && need.contains_key(h)).count() as u64
    };
    alive.iter().map(reach).sum()
}

fn check(net: &Network, seed: u64) {
    let found = weak_points(net);
    let mut nodes = Vec::new();
    for node in (0..net.nodes().len() as u32).map(NodeId).filter(|&n| net.forwards(n)) {
        let lost = pairs(net, Some(node)) - pairs(&net.without(&[], &[node]), Some(node));
        if lost > 0 {
            nodes.push((node, lost));
        }
    }
    let mut cables = Vec::new();
    for link in (0..net.links().len() as u32).map(LinkId) {
        let lost = pairs(net, None) - pairs(&net.without(&[link], &[]), None);
        if lost > 0 {
            cables.push((link, lost));
        }
    }
    assert_eq!(found.nodes.iter().map(|l| (l.part, l.pairs)).collect::<Vec<_>>(), nodes, "seed {seed}");
    assert_eq!(found.cables.iter().map(|l| (l.part, l.pairs)).collect::<Vec<_>>(), cables, "seed {seed}");
}

#[test]
fn equals_trying_every_loss() {
    for seed in 0..150 {
        check(&common::mixed(seed), seed);
    }
    for seed in 0..20 {
        let fit = if seed % 2 == 0 { Fit::relays() } else { Fit::switches(1) };
        let net = shapes::irregular(10, 9 + (seed % 5) as u32, 4, seed, &fit);
        check(&net.unwrap_or_else(|e| panic!("seed {seed}: {e}")), seed);
    }
}

/// A ring of relaying hosts survives any one loss; a line of them does not; a star depends on its switch.
#[test]
fn ring_line_star() -> Result<(), tasuki_topo::NetworkError> {
    let ring = weak_points(&shapes::ring(6, &Fit::relays())?);
    assert!(ring.nodes.is_empty() && ring.cables.is_empty());
    let line = weak_points(&shapes::mesh(&[4], &Fit::relays())?);
    // a-b-c-d: without b, a is apart from c and d; without the middle cable, two are apart from two.
    assert_eq!(line.nodes.iter().map(|l| (l.part.0, l.pairs)).collect::<Vec<_>>(), [(1, 4), (2, 4)]);
    assert_eq!(line.cables.iter().map(|l| l.pairs).collect::<Vec<_>>(), [6, 8, 6]);
    let star = weak_points(&shapes::from_edges("star", 1, &[], &Fit::switches(5))?);
    assert_eq!(star.nodes.iter().map(|l| l.pairs).collect::<Vec<_>>(), [20]);
    assert_eq!(star.cables.len(), 5);
    Ok(())
}
