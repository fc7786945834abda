//! Statements of the paper's text about its figures, and the curves of the figures.

use super::bandwidth::{PATTERNS, flows, mean};
use super::barrier::of_two;
use super::irregular::Irregular;
use super::model::{MOST_DATA, SMALL};
use super::networks::{Named, Routing, fat_tree_32, line, mesh, of_32, torus};
use super::{Model, Rhinet2Error};
use crate::cell::Findings;
use tasuki_random::Random;
use tasuki_topo::{Network, PathRule};

/// A figure of the paper, drawn from the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// "F4", "F6 complement".
    pub name: String,
    /// Title: what the figure shows.
    pub title: String,
    /// Name of the horizontal axis.
    pub x: &'static str,
    /// Name of the vertical axis.
    pub y: &'static str,
    /// Curves of the figure.
    pub curves: Vec<Curve>,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What the curve is of.
    pub name: String,
    /// Points of the curve.
    pub points: Vec<(f64, f64)>,
}

/// Packet sizes of figures 6 and 8, bytes of data: the text names only the largest.
const SIZES: [u32; 7] = [96, 256, 512, 768, 1024, 1408, MOST_DATA];

/// Bandwidths by pattern and size, MByte/s.
struct Bandwidths(Vec<Vec<f64>>);

impl Bandwidths {
    fn of(model: &Model, net: &Network, routing: Routing, sizes: &[u32]) -> Result<Bandwidths, Rhinet2Error> {
        let tables = model.route(net, routing)?;
        let row = |(_, pattern)| {
            let flows = flows(net, pattern);
            sizes.iter().map(|&size| mean(model, net, &tables, &flows, size)).collect()
        };
        PATTERNS.into_iter().map(row).collect::<Result<_, _>>().map(Bandwidths)
    }

    /// The most by which these bandwidths exceed others, %.
    fn over(&self, others: &Bandwidths) -> f64 {
        let pairs = self.0.iter().flatten().zip(others.0.iter().flatten());
        pairs.map(|(own, other)| (own / other - 1.0) * 100.0).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Mean over patterns and sizes, MByte/s.
    fn mean(&self) -> f64 {
        let all: Vec<f64> = self.0.iter().flatten().copied().collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }
}

/// What the text says of figures 4 and 6 to 8.
pub(super) fn stated(model: &Model, a: &Irregular) -> Result<Findings, Rhinet2Error> {
    let (one, seven) = (of_two(model, 1)?, of_two(model, 7)?);
    let slope = (seven - one) / 6.0;
    let host = one - slope - 2.0 * f64::from(SMALL) * 8e6 / super::model::LINK_BPS as f64;
    let mut found = Findings::default();
    found.put("F4", "barrier of two, per switch", slope);
    found.put("F4", "barrier of two, hosts", host);
    found.put("F7", "loss per switch, at most", loss_per_switch(model)?);
    found.extend(figure6(model, a)?);
    found.extend(figure8(model)?);
    Ok(found)
}

fn figure6(model: &Model, a: &Irregular) -> Result<Findings, Rhinet2Error> {
    let of = |named: &Named| Bandwidths::of(model, &named.net, named.routing, &SIZES);
    let (mesh, torus) = (of(&mesh()?)?, of(&torus()?)?);
    let (mut torus_over, mut mesh_over) = (Vec::new(), Vec::new());
    for &lost in &a.chosen {
        // The largest packets alone: over the graphs all sizes would take seven times as long.
        let graph = Bandwidths::of(model, &a.network(lost)?, Routing::Structured, &[MOST_DATA])?;
        let largest =
            |all: &Bandwidths| Bandwidths(all.0.iter().map(|row| row[row.len() - 1..].into()).collect());
        torus_over.push(largest(&torus).over(&graph));
        mesh_over.push(largest(&mesh).over(&graph));
    }
    let mut found = Findings::default();
    found.put("F6", "torus over mesh, at most", torus.over(&mesh));
    found.put_each("F6", "torus over A, at most", torus_over).note = "1,792 bytes".into();
    found.put_each("F6", "mesh over A, at most (4.6)", mesh_over).note = "1,792 bytes".into();
    Ok(found)
}

/// Figure 8. The text does not say which paths lead to the receiving hosts, nor how the switches are
/// numbered, on which the patterns depend. So the cells are ranges over both path rules, and over numberings.
/// If the number of switches is no square, transposing rotates the bits of their numbers.
fn figure8(model: &Model) -> Result<Findings, Rhinet2Error> {
    let of = |named: &Named| Bandwidths::of(model, &named.net, named.routing, &SIZES);
    let [ring, mesh, torus, clos] = of_32()?;
    let tree = fat_tree_32()?;
    let (ring, mesh, torus_rates, clos, tree_rates) =
        (of(&ring)?, of(&mesh)?, of(&torus)?, of(&clos)?, of(&tree)?);
    let best = [&ring, &mesh, &torus_rates, &tree_rates].iter().all(|other| clos.mean() >= other.mean());
    let worse = tree_rates.mean() < torus_rates.mean() && tree_rates.mean() < mesh.mean();
    let mut found = Findings::default();
    found.put_range("F8", "Clos over fat tree of 14, at most", &renumbered(model, &clos, &tree)?);
    found.put_range("F8", "Clos over torus 4x2, at most", &renumbered(model, &clos, &torus)?);
    found.put("F8", "Clos is best on average", f64::from(u8::from(best)));
    found.put("F8", "fat tree of 14 below torus and mesh", f64::from(u8::from(worse)));
    Ok(found)
}

/// The most by which the bandwidth of Clos exceeds that of the fat tree of 14 switches and of the torus 4x2
/// with the largest packets, %, if the switches are numbered as in the model.
pub(super) fn clos_over(model: &Model) -> Result<[f64; 2], Rhinet2Error> {
    let of = |named: &Named| Bandwidths::of(model, &named.net, named.routing, &[MOST_DATA]);
    let [_, _, torus, clos] = of_32()?;
    let clos = of(&clos)?;
    Ok([clos.over(&of(&fat_tree_32()?)?), clos.over(&of(&torus)?)])
}

/// The most by which one more switch reduces the bandwidth of one pair, MB/s.
pub(super) fn loss_per_switch(model: &Model) -> Result<f64, Rhinet2Error> {
    let alone = alone_by_switches(model)?;
    Ok(alone.windows(2).map(|pair| pair[0].1 - pair[1].1).fold(0.0, f64::max))
}

/// Number of numberings that are tried.
const NUMBERINGS: u64 = 40;

/// The most by which a network's bandwidth with the largest packets is below others, by path rule and
/// numbering of its switches.
fn renumbered(model: &Model, best: &Bandwidths, named: &Named) -> Result<Vec<f64>, Rhinet2Error> {
    let mut all = Vec::new();
    for rule in [PathRule::SpreadPerHost, PathRule::LowPortFirst] {
        let model = Model { spread: rule, low: rule, ..*model };
        let tables = model.tables(named)?;
        for numbering in 0..NUMBERINGS {
            let mut most = f64::NEG_INFINITY;
            for ((_, pattern), best) in PATTERNS.into_iter().zip(&best.0) {
                let mut flows = flows(&named.net, pattern);
                if numbering > 0 {
                    renumber(&mut flows, numbering);
                }
                let rate = mean(&model, &named.net, &tables, &flows, MOST_DATA)?;
                most = most.max((best[best.len() - 1] / rate - 1.0) * 100.0);
            }
            all.push(most);
        }
    }
    Ok(all)
}

/// Renumbers the switches of a pattern.
fn renumber(flows: &mut [(u32, u32)], seed: u64) {
    let mut places: Vec<usize> = (0..flows.len()).collect();
    let mut rng = Random::new(seed);
    for at in (1..places.len()).rev() {
        places.swap(at, rng.index(at + 1));
    }
    let senders: Vec<u32> = flows.iter().map(|flow| flow.0).collect();
    // Receivers by the number of their switch: every one of them is the target of some flow.
    let mut receivers: Vec<u32> = flows.iter().map(|flow| flow.1).collect();
    receivers.sort_unstable();
    let target: Vec<usize> =
        flows.iter().map(|flow| receivers.binary_search(&flow.1).unwrap_or_default()).collect();
    for (number, &to) in target.iter().enumerate() {
        flows[number] = (senders[places[number]], receivers[places[to]]);
    }
}

/// Figure 7: bandwidth of one pair over 1 to 7 switches.
fn alone_by_switches(model: &Model) -> Result<Vec<(f64, f64)>, Rhinet2Error> {
    let point = |switches: u32| {
        let net = line(switches)?;
        let tables = model.route(&net, Routing::Minimal)?;
        Ok((f64::from(switches), mean(model, &net, &tables, &[(0, 1)], MOST_DATA)?))
    };
    (1..=7).map(point).collect()
}

/// The curves of all figures.
pub(super) fn curves(model: &Model) -> Result<Vec<Figure>, Rhinet2Error> {
    let point = |switches: u32| Ok((f64::from(switches), of_two(model, switches)?));
    let points = (1..=7).map(point).collect::<Result<Vec<_>, Rhinet2Error>>()?;
    let two = |name: &str, title: &str, y, points| Figure {
        name: name.into(),
        title: title.into(),
        x: "switches between the hosts",
        y,
        curves: vec![Curve { name: "model".into(), points }],
    };
    let mut figures = vec![
        two("F4", "Barrier of two hosts", "us", points),
        two("F7", "1,792 bytes between two hosts", "MB/s", alone_by_switches(model)?),
    ];
    let [ring, mesh8, torus8, clos] = of_32()?;
    for (name, of, networks) in [
        ("F6", "64 hosts", vec![mesh()?, torus()?]),
        ("F8", "32 hosts", vec![ring, mesh8, torus8, clos, fat_tree_32()?]),
    ] {
        let mut all = Vec::new();
        for named in &networks {
            all.push((named.name, Bandwidths::of(model, &named.net, named.routing, &SIZES)?));
        }
        for (at, (pattern, _)) in PATTERNS.iter().enumerate() {
            let curve = |(name, rates): &(&str, Bandwidths)| Curve {
                name: (*name).into(),
                points: SIZES.iter().map(|&size| f64::from(size)).zip(rates.0[at].iter().copied()).collect(),
            };
            figures.push(Figure {
                name: format!("{name} {pattern}"),
                title: format!("{of}, {pattern}"),
                x: "data per packet, bytes",
                y: "MB/s",
                curves: all.iter().map(curve).collect(),
            });
        }
    }
    Ok(figures)
}
