//! A network as SVG. Colours come from classes, so that a page can follow the reader's light or dark setting.

use super::escape;
use super::layout::{Point, STEP, layout};
use std::collections::HashMap;
use std::fmt::Write;
use tasuki_topo::{Network, NodeId};

/// Largest number of characters of a name that is printed whole.
const NAME_MAX: usize = 11;

const STYLE: &str = "\
.cable{fill:none;stroke:#7a8699;stroke-width:1.6;stroke-opacity:.8}\
.cable.fast{stroke-width:3.2}\
.part rect{stroke-width:1.4}\
.host rect{fill:#dbeafe;stroke:#2563eb}\
.switch rect{fill:#fde8c8;stroke:#b45309}\
text{font:12px system-ui,sans-serif;fill:#111827;text-anchor:middle;dominant-baseline:central}\
.lit{stroke:#dc2626;stroke-opacity:1;stroke-width:3}\
.dim{opacity:.25}\
@media(prefers-color-scheme:dark){.host rect{fill:#1e3a8a;stroke:#93c5fd}.switch \
rect{fill:#78350f;stroke:#fcd34d}\
text{fill:#f3f4f6}.cable{stroke:#9ca3af}}";

/// The picture of a network.
pub(super) fn svg(net: &Network) -> String {
    let points = layout(net);
    let edge = |pick: fn(&Point) -> f64, fold: fn(f64, f64) -> f64, start: f64| {
        points.iter().map(pick).fold(start, fold)
    };
    let (left, right) = (edge(|p| p.x, f64::min, f64::MAX), edge(|p| p.x, f64::max, f64::MIN));
    let (top, bottom) = (edge(|p| p.y, f64::min, f64::MAX), edge(|p| p.y, f64::max, f64::MIN));
    // The margin has room for cables that are bent around parts.
    let margin = STEP.0;
    let (x, y) = (left - margin, top - margin);
    let (width, height) = (right - left + 2.0 * margin, bottom - top + 2.0 * margin);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{x:.0} {y:.0} {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" style=\"--wide:{width:.0}px\" role=\"img\" \
         aria-label=\"{}\">\n<style>{STYLE}</style>\n",
        escape(net.name())
    );
    cables(net, &points, &mut text);
    for (i, (node, point)) in net.nodes().iter().zip(&points).enumerate() {
        let kind = if net.host_of(NodeId(i as u32)).is_some() { "host" } else { "switch" };
        let short: String = match node.name.chars().count() {
            count if count <= NAME_MAX => node.name.clone(),
            _ => node.name.chars().take(NAME_MAX - 1).chain(['…']).collect(),
        };
        let wide = 14.0 + 7.0 * short.chars().count().max(2) as f64;
        let _ = writeln!(
            text,
            "<g class=\"part {kind}\" data-node=\"{i}\" transform=\"translate({:.1} \
             {:.1})\"><title>{}</title>\
             <rect x=\"{:.1}\" y=\"-11\" width=\"{wide:.1}\" height=\"22\" rx=\"{}\"/><text>{}</text></g>",
            point.x,
            point.y,
            escape(&title(net, NodeId(i as u32))),
            -wide / 2.0,
            if kind == "host" { 4 } else { 11 },
            escape(&short)
        );
    }
    text.push_str("</svg>\n");
    text
}

/// The text shown when the reader points at a part: its kind, its name, its number of cables and where they
/// lead.
fn title(net: &Network, node: NodeId) -> String {
    let beside: Vec<&str> = net.out(node).map(|channel| net.label(net.to(channel))).collect();
    let kind = if net.host_of(node).is_some() { "host" } else { "switch" };
    format!("{kind} {}, {} cables: {}", net.label(node), beside.len(), beside.join(", "))
}

fn cables(net: &Network, points: &[Point], text: &mut String) {
    let slowest = net.links().iter().map(|link| link.rate_bps).min().unwrap_or(0);
    let mut drawn: HashMap<(u32, u32), usize> = HashMap::new();
    for link in net.links() {
        let [a, b] = link.ends.map(|(node, _)| node);
        let parallel = drawn.entry((a.0.min(b.0), a.0.max(b.0))).or_default();
        let bend = bend(points, a, b, *parallel);
        *parallel += 1;
        let (from, to) = (points[a.ix()], points[b.ix()]);
        let class = if link.rate_bps > slowest { "cable fast" } else { "cable" };
        let ends = link.ends.map(|(node, port)| format!("{} port {}", net.label(node), port.0 + 1));
        let about = format!("{} - {}, {} Mbit/s", ends[0], ends[1], link.rate_bps as f64 / 1e6);
        let (middle_x, middle_y) = ((from.x + to.x) / 2.0 + bend.x, (from.y + to.y) / 2.0 + bend.y);
        let _ = writeln!(
            text,
            "<path class=\"{class}\" data-a=\"{}\" data-b=\"{}\" d=\"M{:.1} {:.1}Q{middle_x:.1} \
             {middle_y:.1} {:.1} {:.1}\"><title>{}</title></path>",
            a.0,
            b.0,
            from.x,
            from.y,
            to.x,
            to.y,
            escape(&about)
        );
    }
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
