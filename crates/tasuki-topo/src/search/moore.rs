//! Bounds that no graph can beat: from any vertex at most `degree` others are one edge away, `degree *
//! (degree - 1)` two edges, and so on (the Moore bound; for averages: Cerf, Cowan, Mullin, Stanton, Networks
//! 1974).

/// Vertices at distance 1, 2, ... of a vertex in the best case, for 2 or more vertices and a degree of 1 or
/// more.
fn shells(vertices: usize, degree: usize) -> Vec<usize> {
    let (mut left, mut shell) = (vertices.saturating_sub(1), degree);
    let mut shells = Vec::new();
    while left > 0 && shell > 0 {
        shells.push(shell.min(left));
        left -= shell.min(left);
        shell = shell.saturating_mul(degree - 1);
    }
    shells
}

/// No connected graph with these many vertices and edges at each has a smaller diameter, in edges.
pub fn least_diameter(vertices: usize, degree: usize) -> u32 {
    shells(vertices, degree).len() as u32
}

/// No connected graph has a smaller sum of the distances of all ordered pairs, in edges.
pub(super) fn least_sum(vertices: usize, degree: usize) -> u64 {
    let of_one = shells(vertices, degree).iter().zip(1..).map(|(&shell, far)| shell * far).sum::<usize>();
    (vertices * of_one) as u64
}

/// No connected graph with these many vertices and edges at each has a smaller average distance over pairs of
/// different vertices, in edges; 0 for fewer than 2 vertices.
pub fn least_average(vertices: usize, degree: usize) -> f64 {
    let pairs = vertices * vertices.saturating_sub(1);
    least_sum(vertices, degree) as f64 / pairs.max(1) as f64
}
