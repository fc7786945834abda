//! Random networks: regular ones and irregular ones, connected, and the same for the same seed.

use super::{Fit, from_edges, problem, product};
use crate::error::NetworkError;
use crate::network::Network;
use crate::random::SplitMix64;
use std::collections::HashSet;

/// A random connected simple graph in which every vertex has `degree` edges: a circulant graph, shuffled by
/// degree-preserving exchanges of edge ends (20 per edge), repeated until it is connected.
pub fn random_regular(n: u32, degree: u32, seed: u64, fit: &Fit) -> Result<Network, NetworkError> {
    let name = format!("random {degree}-regular graph of {n} (seed {seed})");
    product(&name, &[n, degree.max(1)])?;
    if degree >= n || !(u64::from(n) * u64::from(degree)).is_multiple_of(2) {
        return Err(problem(name, "needs degree < n and n * degree even"));
    }
    if (degree < 2 && n > 2) || (degree == 0 && n == 2) {
        return Err(problem(name, "too few edges to connect all vertices; take a degree of at least 2"));
    }
    let edges = regular_edges(n as usize, degree as usize, &mut SplitMix64::new(seed));
    from_edges(&name, n as usize, &edges, fit)
}

/// Edges of a random connected graph for `2 <= degree < n` (or 2 vertices). Where `n * degree` is odd, one
/// vertex has an edge less.
pub(crate) fn regular_edges(n: usize, degree: usize, random: &mut SplitMix64) -> Vec<(usize, usize)> {
    let mut edges = circulant(n, degree, random);
    // A connected graph of degree 2 is a ring; exchanges would only break it into several.
    let mut rounds = if degree > 2 { 1 } else { 0 };
    while rounds > 0 || !connected(n, &edges) {
        exchange(&mut edges, random);
        rounds -= i32::from(rounds > 0);
    }
    edges
}

/// Vertex `v` joined to `v + 1 ..= v + degree / 2` (and to the opposite one for odd degrees), vertices
/// shuffled.
fn circulant(n: usize, degree: usize, random: &mut SplitMix64) -> Vec<(usize, usize)> {
    let mut names: Vec<usize> = (0..n).collect();
    random.shuffle(&mut names);
    let mut edges = Vec::new();
    for v in 0..n {
        edges.extend((1..=degree / 2).map(|step| (names[v], names[(v + step) % n])));
        if degree % 2 == 1 && v < n / 2 {
            edges.push((names[v], names[v + n / 2]));
        }
    }
    edges
}

/// Replaces pairs of edges a-b, c-d by a-d, c-b wherever that leaves the graph simple.
fn exchange(edges: &mut [(usize, usize)], random: &mut SplitMix64) {
    let key = |a: usize, b: usize| (a.min(b), a.max(b));
    let mut present: HashSet<(usize, usize)> = edges.iter().map(|&(a, b)| key(a, b)).collect();
    for _ in 0..edges.len() * 20 {
        let (i, j) = (random.below(edges.len()), random.below(edges.len()));
        let ((a, b), (mut c, mut d)) = (edges[i], edges[j]);
        if random.below(2) == 1 {
            (c, d) = (d, c);
        }
        if a == d || c == b || i == j || present.contains(&key(a, d)) || present.contains(&key(c, b)) {
            continue;
        }
        present.remove(&key(a, b));
        present.remove(&key(c, d));
        present.insert(key(a, d));
        present.insert(key(c, b));
        (edges[i], edges[j]) = ((a, d), (c, b));
    }
}

fn connected(n: usize, edges: &[(usize, usize)]) -> bool {
    let mut neighbours = vec![Vec::new(); n];
    for &(a, b) in edges {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut seen = vec![false; n];
    let mut stack = vec![0];
    while let Some(v) = stack.pop() {
        if !std::mem::replace(&mut seen[v], true) {
            stack.extend(&neighbours[v]);
        }
    }
    seen.iter().all(|&s| s)
}

/// A random connected network of `n` vertices and `edges` >= n - 1 distinct edges, no vertex with more than
/// `max_degree`: a random spanning tree and random further edges.
pub fn irregular(n: u32, edges: u32, max_degree: u32, seed: u64, fit: &Fit) -> Result<Network, NetworkError> {
    let name = format!("irregular network of {n} with {edges} edges (seed {seed})");
    product(&name, &[n, max_degree])?;
    let (n, wanted, max_degree) = (n as usize, edges as usize, max_degree as usize);
    let most = (n * max_degree / 2).min(n * (n - 1) / 2);
    if wanted + 1 < n || wanted > most || (max_degree < 2 && n > 2) {
        return Err(problem(name, format!("needs between {} and {most} edges and a degree >= 2", n - 1)));
    }
    let mut random = SplitMix64::new(seed);
    let mut edges = random_tree(n, max_degree, &mut random);
    let mut degree = vec![0usize; n];
    for &(a, b) in &edges {
        degree[a] += 1;
        degree[b] += 1;
    }
    let present: HashSet<_> = edges.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
    let mut others: Vec<_> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    others.retain(|edge| !present.contains(edge));
    random.shuffle(&mut others);
    for (a, b) in others {
        if edges.len() < wanted && degree[a] < max_degree && degree[b] < max_degree {
            edges.push((a, b));
            degree[a] += 1;
            degree[b] += 1;
        }
    }
    if edges.len() < wanted {
        let why = format!("the degree limit left room for {} edges only; allow a higher degree", edges.len());
        return Err(problem(name, why));
    }
    from_edges(&name, n, &edges, fit)
}

fn random_tree(n: usize, max_degree: usize, random: &mut SplitMix64) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..n).collect();
    random.shuffle(&mut order);
    let mut open = vec![(order[0], max_degree)];
    let mut edges = Vec::new();
    for &v in &order[1..] {
        let at = random.below(open.len());
        edges.push((open[at].0, v));
        open[at].1 -= 1;
        if open[at].1 == 0 {
            open.swap_remove(at);
        }
        if max_degree > 1 {
            open.push((v, max_degree - 1));
        }
    }
    edges
}
