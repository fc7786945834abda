//! Places of the parts of a network in its picture.
//!
//! Parts of grids stand by their coordinates, also where only cables tell of the grid, hosts of planes of
//! switches in a row, trees of switches in tiers, all other parts in a circle, with switches that join
//! relaying hosts in the middle of it. Hosts that have switches for their only neighbours stand next to the
//! first of these.

mod lattice;
mod planes;

use std::f64::consts::TAU;
use tasuki_topo::{Network, NodeId};

/// Width and height of a part including the distance to the next one, in units of the picture.
pub(super) const STEP: (f64, f64) = (96.0, 64.0);

/// Largest number of hosts in a row below a switch of a grid.
const GRID_COLUMNS: usize = 4;
/// Distance of hosts below a switch of a grid, as shares of [`STEP`].
const HOST_STEP: (f64, f64) = (0.72, 0.6);

/// Angle, in radians, over which the hosts of a switch in a circle are spread outside of it.
const FAN: f64 = TAU / 4.0;

/// The distance of a host from its switch if `hosts` hosts share an angle.
fn reach(hosts: usize, angle: f64) -> f64 {
    (hosts as f64 * STEP.0 * 0.9 / angle).max(1.5 * STEP.0)
}

/// A place in the picture; y grows downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
}

/// The network, as far as the picture needs it.
struct Parts<'a> {
    net: &'a Network,
    /// `[node]`: its neighbours, each once.
    beside: Vec<Vec<usize>>,
    /// `[node]`: whether it is a host that has only switches for neighbours.
    leaf: Vec<bool>,
}

/// Finds a point for every node of a network.
pub(super) fn layout(net: &Network) -> Vec<Point> {
    let parts = Parts::new(net);
    if let Some(points) = parts.wound().filter(|_| net.grid().is_none()) {
        return points;
    }
    let mut points = match (parts.is_grid(), parts.planes(), parts.tiers()) {
        (true, ..) => parts.grid(),
        (false, Some(planes), _) => return parts.row(&planes),
        (false, None, Some(tiers)) => return parts.stack(&tiers),
        (false, None, None) => parts.circle(),
    };
    parts.hang(&mut points);
    points
}

impl<'a> Parts<'a> {
    fn new(net: &'a Network) -> Self {
        let nodes = net.nodes().len();
        let mut beside = vec![Vec::new(); nodes];
        for link in net.links() {
            let [a, b] = link.ends.map(|(node, _)| node.ix());
            beside[a].push(b);
            beside[b].push(a);
        }
        beside.iter_mut().for_each(|all| {
            all.sort_unstable();
            all.dedup();
        });
        let switch = |node: usize| net.host_of(NodeId(node as u32)).is_none();
        let leaf = |node: usize| {
            !switch(node) && !beside[node].is_empty() && beside[node].iter().all(|&n| switch(n))
        };
        let leaf = (0..nodes).map(leaf).collect();
        Self { net, beside, leaf }
    }

    fn nodes(&self) -> std::ops::Range<usize> {
        0..self.beside.len()
    }

    /// Whether the network is drawn by its coordinates. A single ring is drawn as a circle.
    fn is_grid(&self) -> bool {
        self.net.grid().is_some_and(|grid| grid.dims.len() > 1 || !grid.wraps)
    }

    /// The leaf hosts whose first switch is this one.
    fn hanging(&self, switch: usize) -> Vec<usize> {
        self.nodes().filter(|&node| self.leaf[node] && self.beside[node].first() == Some(&switch)).collect()
    }

    /// Switches in tiers, lowest first; `None` unless hosts have cables to the lowest tier only and no cable
    /// stays within a tier.
    fn tiers(&self) -> Option<Vec<Vec<usize>>> {
        let inner: Vec<usize> = self.nodes().filter(|&node| !self.leaf[node]).collect();
        if inner.iter().any(|&node| self.net.host_of(NodeId(node as u32)).is_some()) {
            return None;
        }
        let mut level = vec![usize::MAX; self.beside.len()];
        let mut tier: Vec<usize> =
            inner.iter().copied().filter(|&node| self.beside[node].iter().any(|&n| self.leaf[n])).collect();
        let mut tiers = Vec::new();
        while !tier.is_empty() {
            tier.iter().for_each(|&node| level[node] = tiers.len());
            let mut above: Vec<usize> = tier.iter().flat_map(|&node| &self.beside[node]).copied().collect();
            above.retain(|&node| !self.leaf[node] && level[node] == usize::MAX);
            above.sort_unstable();
            above.dedup();
            tiers.push(std::mem::replace(&mut tier, above));
        }
        let flat =
            |&node: &usize| self.beside[node].iter().any(|&n| !self.leaf[n] && level[n] == level[node]);
        (tiers.len() > 1 && !inner.iter().any(flat)).then_some(tiers)
    }

    /// Places tiers above each other, and hosts below the lowest.
    fn stack(&self, tiers: &[Vec<usize>]) -> Vec<Point> {
        let mut points = vec![Point::default(); self.beside.len()];
        let across = |hosts: usize| (hosts as f64).sqrt().ceil().clamp(1.0, 8.0);
        let mut x = 0.0;
        let top = tiers.len() as f64 * 2.2 * STEP.1;
        for &switch in &tiers[0] {
            let hosts = self.hanging(switch);
            let columns = across(hosts.len());
            for (i, &host) in hosts.iter().enumerate() {
                let (column, row) = (i % columns as usize, i / columns as usize);
                points[host] = Point { x: x + column as f64 * STEP.0, y: top + row as f64 * STEP.1 * 0.7 };
            }
            points[switch] = Point { x: x + (columns - 1.0) * STEP.0 / 2.0, y: top - 1.6 * STEP.1 };
            x += (columns + 0.4) * STEP.0;
        }
        let width = (x - 1.4 * STEP.0).max(STEP.0);
        for (number, tier) in tiers.iter().enumerate().skip(1) {
            for (i, &switch) in tier.iter().enumerate() {
                let share = (i as f64 + 0.5) / tier.len() as f64;
                let y = top - 1.6 * STEP.1 - number as f64 * 2.2 * STEP.1;
                points[switch] = Point { x: share * width.max(tier.len() as f64 * STEP.0), y };
            }
        }
        points
    }

    /// Places nodes by their coordinates; a third and fourth dimension are blocks beside and below each
    /// other.
    fn grid(&self) -> Vec<Point> {
        let Some(grid) = self.net.grid() else { return Vec::new() };
        let most = self.nodes().map(|node| self.hanging(node).len()).max().unwrap_or(0);
        let (wide, high) =
            (STEP.0 * (1.5 + most.min(4) as f64 * 0.5), STEP.1 * (1.6 + most.div_ceil(4) as f64));
        let mut points = vec![Point::default(); self.beside.len()];
        for (vertex, point) in points.iter_mut().enumerate().take(grid.vertices()) {
            let (mut step_x, mut step_y) = (wide, high);
            for (dim, &size) in grid.dims.iter().enumerate() {
                let at = f64::from(grid.coordinate(vertex, dim));
                let (to, step) =
                    if dim % 2 == 0 { (&mut point.x, &mut step_x) } else { (&mut point.y, &mut step_y) };
                *to += at * *step;
                *step *= f64::from(size) + 0.3;
            }
        }
        points
    }

    /// Places relaying hosts (or switches, if no host relays) in a circle, in an order in which cables are
    /// short, and switches between relaying hosts in a smaller circle.
    fn circle(&self) -> Vec<Point> {
        let inner = self.nodes().filter(|&node| !self.leaf[node]);
        let (hosts, switches): (Vec<usize>, Vec<usize>) =
            inner.partition(|&node| self.net.host_of(NodeId(node as u32)).is_some());
        let (outer, middle) = if hosts.is_empty() { (switches, Vec::new()) } else { (hosts, switches) };
        let mut points = vec![Point::default(); self.beside.len()];
        let most = outer.iter().map(|&node| self.hanging(node).len()).max().unwrap_or(0);
        let fan = if most > 0 { 2.0 * reach(most, FAN) * (FAN / 2.0).sin() } else { 0.0 };
        // Between two neighbours there is room for a label at either end of a cable.
        let room = fan + STEP.0 * 1.4;
        let radius = if outer.len() < 2 { 0.0 } else { (outer.len() as f64 * room / TAU).max(room) };
        let mut place = |ring: &[usize], radius: f64| {
            for (i, &node) in ring.iter().enumerate() {
                let angle = TAU * (i as f64 / ring.len() as f64) - TAU / 4.0;
                points[node] = Point { x: radius * angle.cos(), y: radius * angle.sin() };
            }
        };
        place(&self.ordered(outer), radius);
        place(&middle, if middle.len() < 2 { 0.0 } else { radius * 0.35 });
        points
    }

    /// Exchanges parts of a ring as long as that makes cables shorter.
    fn ordered(&self, mut ring: Vec<usize>) -> Vec<usize> {
        let n = ring.len();
        if !(4..=200).contains(&n) {
            return ring;
        }
        let mut place = vec![usize::MAX; self.beside.len()];
        ring.iter().enumerate().for_each(|(i, &node)| place[node] = i);
        let length = |node: usize, place: &[usize]| -> usize {
            let others = self.beside[node].iter().map(|&n| place[n]).filter(|&at| at != usize::MAX);
            others.map(|at| at.abs_diff(place[node])).map(|gap| gap.min(n - gap)).sum()
        };
        for _ in 0..20 {
            let mut better = false;
            for (i, j) in (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))) {
                let (a, b) = (ring[i], ring[j]);
                let before = length(a, &place) + length(b, &place);
                (place[a], place[b]) = (j, i);
                if length(a, &place) + length(b, &place) < before {
                    ring.swap(i, j);
                    better = true;
                } else {
                    (place[a], place[b]) = (i, j);
                }
            }
            if !better {
                break;
            }
        }
        ring
    }

    /// Places hosts beside their switch: outwards from the middle, or below it in a grid.
    fn hang(&self, points: &mut [Point]) {
        for switch in self.nodes() {
            let hosts = self.hanging(switch);
            if hosts.is_empty() {
                continue;
            }
            let Point { x, y } = points[switch];
            if self.is_grid() {
                // Hosts stand to the right of the cable that leads down.
                for (i, &host) in hosts.iter().enumerate() {
                    let (column, row) = ((i % GRID_COLUMNS) as f64, (i / GRID_COLUMNS) as f64);
                    points[host] = Point {
                        x: x + (0.5 + column * HOST_STEP.0) * STEP.0,
                        y: y + (0.75 + row * HOST_STEP.1) * STEP.1,
                    };
                }
                continue;
            }
            let alone = x.hypot(y) < 1.0;
            let (facing, spread) = if alone { (-TAU / 4.0, TAU) } else { (y.atan2(x), FAN) };
            let reach = reach(hosts.len(), spread);
            for (i, &host) in hosts.iter().enumerate() {
                let gaps = if alone { hosts.len() } else { hosts.len().max(2) - 1 } as f64;
                let share = if hosts.len() == 1 { 0.5 } else { i as f64 / gaps };
                let angle = if alone { facing + share * spread } else { facing + (share - 0.5) * spread };
                points[host] = Point { x: x + reach * angle.cos(), y: y + reach * angle.sin() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_topo::shapes::{self, ClosHosts, Fit, PairRing};

    /// No two parts cover each other, whatever the shape.
    #[test]
    fn parts_do_not_cover_each_other() {
        let (four, relays) = (Fit::switches(4), Fit::relays());
        let nets = [
            shapes::full(8, &relays),
            shapes::ring(9, &four),
            shapes::mesh(&[4, 4], &four),
            shapes::torus(&[3, 4, 3], PairRing::OneCable, &relays),
            shapes::hypercube(5, &relays),
            shapes::fat_tree(2, 4, 2, &four),
            shapes::myrinet_clos(4, ClosHosts::Lower, &four),
            shapes::myrinet_clos(4, ClosHosts::Both, &four),
            shapes::leaf_spine(6, 3, 2, &Fit::switches(8)),
            shapes::petersen(&relays),
            shapes::hoffman_singleton(&relays),
            shapes::full(1, &Fit::switches(24)),
        ];
        for net in nets.into_iter().map(|net| net.unwrap_or_else(|error| panic!("{error}"))) {
            let points = layout(&net);
            for (i, a) in points.iter().enumerate() {
                for (j, b) in points.iter().enumerate().skip(i + 1) {
                    let apart = (a.x - b.x).abs() > 40.0 || (a.y - b.y).abs() > 20.0;
                    assert!(apart, "{}: {} on {}", net.name(), net.nodes()[i].name, net.nodes()[j].name);
                }
            }
        }
    }
}
