//! A network as SVG. Colours come from classes, so that a page can follow the reader's light or dark setting.

use super::course::{Frame, middles};
use super::layout::{Point, layout};
use html_escape::encode_quoted_attribute as escape;
use std::fmt::Write;
use tasuki_cluster::{Cluster, Rate};
use tasuki_topo::{Link, Network, NodeId};

/// Largest number of characters of a name that is printed whole.
const NAME_MAX: usize = 11;

/// Largest number of cables whose ends are labelled; labels of more would cover each other.
const LABELLED_MAX: usize = 60;
/// Distance of the label of a cable's end from the middle of the part, in units of the picture.
const LABEL_AT: f64 = 34.0;
/// Height of the line below the picture.
const FOOT: f64 = 26.0;

const STYLE: &str = "\
.cable{fill:none;stroke:#7a8699;stroke-width:1.6;stroke-opacity:.8}\
.cable.fast{stroke-width:3.2}\
.part rect{stroke-width:1.4}\
.host rect{fill:#dbeafe;stroke:#2563eb}\
.switch rect{fill:#fde8c8;stroke:#b45309}\
text{font:12px system-ui,sans-serif;fill:#111827;text-anchor:middle}\
text.small{font-size:9.5px;fill:#374151;stroke:#fff;stroke-width:3px;paint-order:stroke}\
.cable.fault{stroke:#dc2626;stroke-opacity:1;stroke-width:3.5;stroke-dasharray:7 4}\
.part.fault rect{fill:#fecaca;stroke:#dc2626}\
.lit{stroke:#dc2626;stroke-opacity:1;stroke-width:3}\
.dim{opacity:.25}\
@media(prefers-color-scheme:dark){.host rect{fill:#1e3a8a;stroke:#93c5fd}.switch \
rect{fill:#78350f;stroke:#fcd34d}\
text{fill:#f3f4f6}text.small{fill:#d1d5db;stroke:#111827}.cable{stroke:#9ca3af}}";

/// What is drawn.
pub(super) struct Drawing<'a> {
    pub net: &'a Network,
    /// The network's cluster, whose cables have the order of the network's links. With it the picture shows
    /// NICs by their names, and the racks of hosts.
    pub cluster: Option<&'a Cluster>,
    /// Names of the parts at fault, which are red.
    pub faults: &'a [&'a str],
}

impl Drawing<'_> {
    /// The class of a part of this name: red if it is at fault.
    fn mark(&self, name: &str) -> &'static str {
        if self.faults.contains(&name) { " fault" } else { "" }
    }

    /// The class of a cable: red if it or a NIC at either end is at fault.
    fn cable_mark(&self, number: usize) -> &'static str {
        let cable = self.cluster.and_then(|cluster| Some((cluster, cluster.cables.get(number)?)));
        let Some((cluster, cable)) = cable else { return "" };
        let [a, b] = cable.ends.map(|end| cluster.end_name(end));
        let names = [format!("{a} - {b}"), format!("{b} - {a}"), a, b];
        names.iter().map(|name| self.mark(name)).find(|mark| !mark.is_empty()).unwrap_or("")
    }
}

/// The picture of a network.
pub(super) fn svg(drawing: &Drawing<'_>) -> String {
    let net = drawing.net;
    let points = layout(net);
    let middles = middles(net, &points);
    let Frame { x, y, width, height } = Frame::around(net, &points, &middles);
    let height = height + FOOT;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{x:.0} {y:.0} {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" style=\"--wide:{width:.0}px\" role=\"img\" \
         aria-label=\"{}\">\n<style>{STYLE}</style>\n",
        escape(net.name())
    );
    let labels = cables(drawing, &points, &middles, &mut text);
    for (i, point) in points.iter().enumerate() {
        part(drawing, NodeId(i as u32), *point, &mut text);
    }
    // Labels come last, so that no part or cable covers them.
    text += &labels;
    small(&mut text, Point { x: x + width / 2.0, y: y + height - FOOT / 2.0 }, &rates(net));
    text.push_str("</svg>\n");
    text
}

/// Draws a host or a switch, with the host's rack below it.
fn part(drawing: &Drawing<'_>, id: NodeId, point: Point, text: &mut String) {
    let Drawing { net, cluster, .. } = *drawing;
    let name = net.label(id);
    let host = net.host_of(id);
    let kind = if host.is_some() { "host" } else { "switch" };
    let short: String = match name.chars().count() {
        count if count <= NAME_MAX => name.to_owned(),
        _ => name.chars().take(NAME_MAX - 1).chain(['…']).collect(),
    };
    let wide = 14.0 + 7.0 * short.chars().count().max(2) as f64;
    let _ = writeln!(
        text,
        "<g class=\"part {kind}{}\" data-node=\"{}\" transform=\"translate({:.1} {:.1})\"><title>{}</title>\
         <rect x=\"{:.1}\" y=\"-11\" width=\"{wide:.1}\" height=\"22\" rx=\"{}\"/>\
         <text dy=\".35em\">{}</text></g>",
        drawing.mark(name),
        id.0,
        point.x,
        point.y,
        escape(&title(net, id)),
        -wide / 2.0,
        if kind == "host" { 4 } else { 11 },
        escape(&short)
    );
    let rack = host.and_then(|_| cluster?.host(name)).and_then(|id| cluster?.host_of(id).rack.as_deref());
    if let Some(rack) = rack {
        small(text, Point { y: point.y + 18.0, ..point }, rack);
    }
}

/// Writes small type at a point.
fn small(text: &mut String, at: Point, label: &str) {
    let label = escape(label);
    let _ = writeln!(
        text,
        "<text class=\"small\" dy=\".35em\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
        at.x, at.y
    );
}

/// A rate as people write it: `1 Gbit/s`.
fn rate(bits_per_second: u64) -> String {
    match Rate::from_bits_per_second(bits_per_second).to_string() {
        short if short.ends_with(|last: char| last.is_ascii_alphabetic()) => {
            let (number, unit) = short.split_at(short.len() - 1);
            format!("{number} {unit}bit/s")
        }
        plain => format!("{plain} bit/s"),
    }
}

/// The rates of all cables, in words.
fn rates(net: &Network) -> String {
    let mut rates: Vec<u64> = net.links().iter().map(|link| link.rate_bps).collect();
    rates.sort_unstable();
    rates.dedup();
    let cables = net.links().len();
    match rates[..] {
        [] => "no cables".into(),
        [only] => format!("{cables} cables of {}", rate(only)),
        [least, .., most] => format!("{cables} cables of {} to {}", rate(least), rate(most)),
    }
}

/// What stands at the ends of a cable: names of NICs, or numbers of ports.
fn end_labels(link: &Link, number: usize, cluster: Option<&Cluster>) -> [String; 2] {
    match cluster.and_then(|cluster| Some((cluster, cluster.cables.get(number)?))) {
        Some((cluster, cable)) => cable.ends.map(|end| {
            let name = cluster.end_name(end);
            name.rsplit_once(':').map_or(name.clone(), |(_, port)| port.to_owned())
        }),
        None => link.ends.map(|(_, port)| (port.0 + 1).to_string()),
    }
}

/// The text shown when the reader points at a part: its kind, its name, its number of cables and where they
/// lead.
fn title(net: &Network, node: NodeId) -> String {
    let beside: Vec<&str> = net.out(node).map(|channel| net.label(net.to(channel))).collect();
    let kind = if net.host_of(node).is_some() { "host" } else { "switch" };
    format!("{kind} {}, {} cables: {}", net.label(node), beside.len(), beside.join(", "))
}

/// Draws all cables, and returns the labels of their ends and, if they differ, of their rates.
fn cables(drawing: &Drawing<'_>, points: &[Point], middles: &[Point], text: &mut String) -> String {
    let Drawing { net, cluster, .. } = *drawing;
    let mut labels = String::new();
    let is_labelled = net.links().len() <= LABELLED_MAX;
    let slowest = net.links().iter().map(|link| link.rate_bps).min().unwrap_or(0);
    for (number, (link, &middle)) in net.links().iter().zip(middles).enumerate() {
        let [a, b] = link.ends.map(|(node, _)| node);
        let (from, to) = (points[a.ix()], points[b.ix()]);
        let Point { x: middle_x, y: middle_y } = middle;
        let class = if link.rate_bps > slowest { "cable fast" } else { "cable" };
        let ends = link.ends.map(|(node, port)| format!("{} port {}", net.label(node), port.0 + 1));
        let about = format!("{} - {}, {} Mbit/s", ends[0], ends[1], link.rate_bps as f64 / 1e6);
        if is_labelled {
            let curve = [from, middle, to];
            let share = (LABEL_AT / (to.x - from.x).hypot(to.y - from.y).max(1.0)).clamp(0.05, 0.4);
            let [near, far] = end_labels(link, number, cluster);
            small(&mut labels, on_curve(curve, share), &near);
            small(&mut labels, on_curve(curve, 1.0 - share), &far);
            if link.rate_bps > slowest {
                small(&mut labels, on_curve(curve, 0.5), &rate(link.rate_bps));
            }
        }
        let _ = writeln!(
            text,
            "<path class=\"{class}{}\" data-a=\"{}\" data-b=\"{}\" d=\"M{:.1} {:.1}Q{middle_x:.1} \
             {middle_y:.1} {:.1} {:.1}\"><title>{}</title></path>",
            drawing.cable_mark(number),
            a.0,
            b.0,
            from.x,
            from.y,
            to.x,
            to.y,
            escape(&about)
        );
    }
    labels
}

/// The point at a share (0 to 1) of a quadratic Bezier curve from the first to the last of these points.
fn on_curve([from, middle, to]: [Point; 3], share: f64) -> Point {
    let back = 1.0 - share;
    let of = |pick: fn(&Point) -> f64| {
        back * back * pick(&from) + 2.0 * back * share * pick(&middle) + share * share * pick(&to)
    };
    Point { x: of(|point| point.x), y: of(|point| point.y) }
}
