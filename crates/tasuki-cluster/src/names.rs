//! Rules for names, and the nearest of several names.

/// Longest interface name: `IFNAMSIZ` of Linux less the closing zero.
const INTERFACE_MAX: usize = 15;
/// Longest name of a cluster: the lab makes socket names of it.
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
pub(crate) fn check_label(name: &str) -> Result<(), String> {
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

/// What is wrong with a name of a network interface: what the kernel refuses, and what it takes but no tool
/// can name afterwards.
pub(crate) fn check_interface(name: &str) -> Result<(), String> {
    let reserved = RESERVED_INTERFACES.iter().find(|(reserved, _)| *reserved == name);
    if name.is_empty() {
        Err("it is empty".into())
    } else if name.len() > INTERFACE_MAX {
        Err(format!("it has {} bytes, {INTERFACE_MAX} are the most", name.len()))
    } else if let Some(bad) = name.chars().find(|&c| !c.is_ascii_graphic() || "/:%\"'\\".contains(c)) {
        Err(format!("{bad:?} cannot be in the name of an interface"))
    } else if name == "." || name == ".." {
        Err("it names a folder".into())
    } else if let Some((_, what)) = reserved {
        Err(format!("it is reserved for {what}"))
    } else {
        Ok(())
    }
}

fn is_in_cluster_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// What is wrong with a name of a cluster.
pub(crate) fn check_cluster(name: &str) -> Result<(), String> {
    if name.is_empty() {
        Err("it is empty".into())
    } else if let Some(bad) = name.chars().find(|&c| !is_in_cluster_name(c)) {
        Err(format!("{bad:?} is not a letter, digit, hyphen, dot or underscore"))
    } else if name.len() > CLUSTER_MAX {
        Err(format!("it has {} bytes, {CLUSTER_MAX} are the most", name.len()))
    } else {
        Ok(())
    }
}

/// A name for a cluster made from the stem of a file's name.
pub(crate) fn cluster_name_from(stem: &str) -> String {
    let good = |c: char| if is_in_cluster_name(c) { c } else { '-' };
    let name: String = stem.chars().map(good).take(CLUSTER_MAX).collect();
    if name.is_empty() { "cluster".into() } else { name }
}

/// The name that `name` may be a misspelling of.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let worst = 1 + name.chars().count() / 4;
    let distances = candidates.into_iter().map(|candidate| (distance(name, candidate), candidate));
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    nearest.filter(|(distance, _)| *distance <= worst).map(|(_, candidate)| candidate)
}

/// Levenshtein's distance, without regard to case: characters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<_> = a.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (line, right) in b.chars().map(|c| c.to_ascii_lowercase()).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, &left) in a.iter().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[a.len()]
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
        assert_eq!(nearest("managment", ["name", "management", "mac"]), Some("management"));
        assert_eq!(nearest("colour", ["name", "management", "mac"]), None);
    }
}
