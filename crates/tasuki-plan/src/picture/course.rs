//! The room that a picture takes, and the courses of cables in it.

use super::layout::{Point, STEP};
use std::collections::HashMap;
use tasuki_topo::{Network, NodeId};

/// The rectangle of a picture; y grows downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Frame {
    /// Around the parts of a network at these points and the cables between them, with [`middles`].
    pub fn around(net: &Network, points: &[Point], middles: &[Point]) -> Self {
        // The margins have room for parts, and for lines that are bent around them.
        let (of_part, of_line) = (0.7 * STEP.0, 0.15 * STEP.0);
        let parts = points.iter().map(|&point| (point, of_part));
        let lines = net.links().iter().zip(middles).map(|(link, middle)| {
            let [a, b] = link.ends.map(|(node, _)| points[node.ix()]);
            // Half way along its curve, which is where it is farthest out.
            let centre =
                Point { x: (a.x + 2.0 * middle.x + b.x) / 4.0, y: (a.y + 2.0 * middle.y + b.y) / 4.0 };
            (centre, of_line)
        });
        let (mut least, mut most) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
        for (point, margin) in parts.chain(lines) {
            least = (least.0.min(point.x - margin), least.1.min(point.y - margin));
            most = (most.0.max(point.x + margin), most.1.max(point.y + margin));
        }
        Self { x: least.0, y: least.1, width: most.0 - least.0, height: most.1 - least.1 }
    }
}

/// For every cable of a network, the control point of the quadratic Bezier curve that it is drawn as, from
/// its first end to its second.
pub(super) fn middles(net: &Network, points: &[Point]) -> Vec<Point> {
    let mut drawn: HashMap<(u32, u32), usize> = HashMap::new();
    let links = net.links().iter().map(|link| {
        let [a, b] = link.ends.map(|(node, _)| node);
        let parallel = drawn.entry((a.0.min(b.0), a.0.max(b.0))).or_default();
        let bend = bend(points, a, b, *parallel);
        *parallel += 1;
        let (from, to) = (points[a.ix()], points[b.ix()]);
        Point { x: (from.x + to.x) / 2.0 + bend.x, y: (from.y + to.y) / 2.0 + bend.y }
    });
    links.collect()
}

/// How far the middle of a cable is drawn off the straight line, such that parallel cables (this one is
/// number `parallel` of them) do not cover each other and none leads through a part that is not one of its
/// ends.
fn bend(points: &[Point], a: NodeId, b: NodeId, parallel: usize) -> Point {
    let (from, to) = (points[a.ix()], points[b.ix()]);
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = dx.hypot(dy).max(1.0);
    let across = |i: &usize| {
        let (x, y) = (points[*i].x - from.x, points[*i].y - from.y);
        let (along, off) = ((x * dx + y * dy) / length, (y * dx - x * dy) / length);
        along > 1.0 && along < length - 1.0 && off.abs() < 14.0
    };
    let blocked = (0..points.len()).filter(|&i| i != a.ix() && i != b.ix()).any(|i| across(&i));
    // Parallel cables are 0, 1, -1, 2, -2, ... steps off the line.
    let turn = parallel.div_ceil(2) as f64 * if parallel % 2 == 1 { 1.0 } else { -1.0 };
    // A cable is bent up or to the left, whichever end is the first: hosts stand below switches and to their
    // right.
    let side = if dx > 0.0 || (dx == 0.0 && dy < 0.0) { 1.0 } else { -1.0 };
    let off = turn * 16.0 + if blocked { side * (26.0 + length * 0.12) } else { 0.0 };
    Point { x: dy / length * off, y: -dx / length * off }
}
