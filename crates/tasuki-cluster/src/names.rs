//! Rules for names, and the nearest of several names.

/// Longest name of an interface, bytes: `IFNAMSIZ` of Linux less the final zero.
const INTERFACE_MAX: usize = 15;
/// Longest name of a cluster, bytes, because labs make socket names of it.
const CLUSTER_MAX: usize = 40;

/// Interfaces that every host has, or that the lab or the plan makes; and two names that stand for several
/// interfaces below `/proc/sys/net/ipv4/conf`.
const RESERVED_INTERFACES: [(&str, &str); 5] = [
    ("lo", "the loopback interface"),
    ("tasuki0", "the interface of the identity address"),
    ("mgmt0", "the lab's management interface"),
    ("all", "all interfaces in /proc/sys/net/ipv4/conf"),
    ("default", "new interfaces in /proc/sys/net/ipv4/conf"),
];

/// What is wrong with a name of a host or switch: an RFC 1123 label.
///
/// # Errors
/// The reason, as the rest of a sentence about the name.
pub fn check_label(name: &str) -> Result<(), String> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if name.is_empty() {
        Err("it is empty".into())
    } else if name.len() > 63 {
        Err(format!("it has {} bytes, 63 are the most", name.len()))
    } else if let Some(bad) = name.chars().find(|&c| !c.is_ascii() || !good(c as u8)) {
        Err(format!("{bad:?} is not a letter, digit or hyphen"))
    } else if name.starts_with('-') || name.ends_with('-') {
        Err("it begins or ends with a hyphen".into())
    } else if name.bytes().all(|byte| byte.is_ascii_digit()) {
        Err("it is a number, which programs take for an address".into())
    } else if name.eq_ignore_ascii_case("localhost") {
        Err("every host is localhost to itself".into())
    } else {
        Ok(())
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// What is wrong with a name of a network interface in a cluster file.
///
/// # Errors
/// The reason, as the rest of a sentence about the name.
pub fn check_interface(name: &str) -> Result<(), String> {
    check_interface_form(name)?;
    match RESERVED_INTERFACES.iter().find(|(reserved, _)| *reserved == name) {
        Some((_, what)) => Err(format!("it is reserved for {what}")),
        None => Ok(()),
    }
}

/// What is wrong with the form of an interface's name. The kernel accepts nearly everything, but names with
/// other characters than these would be options, patterns or commands to the tools, units, rules and paths
/// that they are written into.
pub(crate) fn check_interface_form(name: &str) -> Result<(), String> {
    if name.is_empty() {
        Err("it is empty".into())
    } else if name.len() > INTERFACE_MAX {
        Err(format!("it has {} bytes, {INTERFACE_MAX} are the most", name.len()))
    } else if let Some(bad) = name.chars().find(|&c| !is_plain(c)) {
        Err(format!("{bad:?} cannot be in the name of an interface"))
    } else if let Some(first) = name.chars().next().filter(|&c| "-.".contains(c)) {
        Err(format!("it begins with {first:?}"))
    } else {
        Ok(())
    }
}

/// What is wrong with a name of a cluster.
pub(crate) fn check_cluster(name: &str) -> Result<(), String> {
    if name.is_empty() {
        Err("it is empty".into())
    } else if let Some(bad) = name.chars().find(|&c| !is_plain(c)) {
        Err(format!("{bad:?} is not a letter, digit, hyphen, dot or underscore"))
    } else if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        Err("it begins with neither a letter nor a digit".into())
    } else if name.len() > CLUSTER_MAX {
        Err(format!("it has {} bytes, {CLUSTER_MAX} are the most", name.len()))
    } else {
        Ok(())
    }
}

/// A name for a cluster made from the stem of a file's name.
pub(crate) fn cluster_name_from(stem: &str) -> String {
    let good = |c: char| if is_plain(c) { c } else { '-' };
    let name: String =
        stem.chars().map(good).skip_while(|c| !c.is_ascii_alphanumeric()).take(CLUSTER_MAX).collect();
    if name.is_empty() { "cluster".into() } else { name }
}

/// The name of which `name` may be a misspelling.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let worst = 1 + name.chars().count() / 4;
    // No candidate is longer, and comparing a longer one would cost its length squared.
    let candidates = candidates.into_iter().filter(|candidate| name.len().max(candidate.len()) <= 64);
    let distances = candidates.map(|candidate| (distance(name, candidate), candidate));
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    nearest.filter(|(distance, _)| *distance <= worst).map(|(_, candidate)| candidate)
}

/// Characters to insert, remove, replace or swap with the next (optimal string alignment), without regard to
/// case.
fn distance(a: &str, b: &str) -> usize {
    let lower = |text: &str| text.chars().map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>();
    let (a, b) = (lower(a), lower(b));
    let mut rows = vec![(0..=a.len()).collect::<Vec<_>>()];
    for line in 1..=b.len() {
        let mut row = vec![line];
        for column in 1..=a.len() {
            let replaced = rows[line - 1][column - 1] + usize::from(a[column - 1] != b[line - 1]);
            let mut best = replaced.min(rows[line - 1][column] + 1).min(row[column - 1] + 1);
            let swapped =
                line > 1 && column > 1 && a[column - 1] == b[line - 2] && a[column - 2] == b[line - 1];
            if swapped {
                best = best.min(rows[line - 2][column - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[b.len()][a.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        // The textbook's example, and the trivial ones.
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("Rate", "rate"), 0);
        assert_eq!(distance("mut", "mtu"), 1);
        assert_eq!(nearest("managment", ["name", "management", "mac"]), Some("management"));
        assert_eq!(nearest("colour", ["name", "management", "mac"]), None);
    }
}
