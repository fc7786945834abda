//! Finds the cables that a user names.

use tasuki_cluster::{Cluster, End};

/// Whether a cable's end is at what the user names: a host or switch, or one NIC or port of it.
fn is_at(cluster: &Cluster, end: End, name: &str) -> bool {
    let full = cluster.end_name(end);
    let node = full.split(':').next().unwrap_or_default();
    full == name || node == name
}

/// Numbers of the cables (in the order of the file) that `all`, `n1`, `n1:eth1` or `n1-n2` names.
pub fn cables(cluster: &Cluster, words: &str) -> Result<Vec<usize>, String> {
    let ends = |cable: &usize| cluster.cables[*cable].ends;
    let every = 0..cluster.cables.len();
    let at = |name: &str| -> Vec<usize> {
        let one_end = |cable: &usize| ends(cable).iter().any(|&end| is_at(cluster, end, name));
        every.clone().filter(one_end).collect()
    };
    let mut found = if words == "all" { every.clone().collect() } else { at(words) };
    // Names of hosts may contain '-', so the text is split at each of them in turn.
    for (split, _) in words.match_indices('-') {
        let (a, b) = (&words[..split], &words[split + 1..]);
        let between = |cable: &usize| {
            let [x, y] = ends(cable);
            (is_at(cluster, x, a) && is_at(cluster, y, b)) || (is_at(cluster, x, b) && is_at(cluster, y, a))
        };
        found.extend(every.clone().filter(between));
    }
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        return Err(format!(
            "no cable matches {words:?}: name a NIC or switch port (n1:eth1), two hosts (n1-n2), \
             a host or switch (n1), or all"
        ));
    }
    Ok(found)
}

/// The side (0 or 1) of a cable that `from` names.
pub fn side(cluster: &Cluster, cable: usize, from: &str) -> Result<usize, String> {
    let [a, b] = cluster.cables[cable].ends;
    match (is_at(cluster, a, from), is_at(cluster, b, from)) {
        (true, _) => Ok(0),
        (_, true) => Ok(1),
        _ => Err(format!(
            "{from:?} is not an end of the cable {} - {}",
            cluster.end_name(a),
            cluster.end_name(b)
        )),
    }
}
