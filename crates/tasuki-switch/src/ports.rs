//! Which interface of a switch is which port of the cluster file.

use std::collections::BTreeMap;
use tasuki_cluster::InterfaceNames;

/// Names of interfaces that a message shows.
const SHOWN_MAX: usize = 12;

/// An interface of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// ifIndex.
    pub index: u64,
    /// ifName; empty where the switch has none.
    pub name: String,
    /// ifDescr.
    pub description: String,
}

impl Interface {
    /// Its name, or what else it is told by.
    pub fn shown(&self) -> String {
        match (self.name.as_str(), self.description.as_str()) {
            ("", "") => format!("ifIndex {}", self.index),
            ("", description) => description.into(),
            (name, _) => name.into(),
        }
    }
}

/// The interfaces of ports, and which ports have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Interfaces by port.
    pub ports: BTreeMap<u32, Interface>,
    /// Why ports are missing.
    pub problems: Vec<String>,
}

/// Finds the interfaces of ports: by their names, if the file has these; else the one whose name, or whose
/// description, ends in the port's number, or whose ifIndex it is if no name ends in a number.
pub fn find(wanted: &[u32], names: Option<&InterfaceNames>, interfaces: &[Interface]) -> Found {
    if let Some(names) = names {
        return by_names(wanted, names, interfaces);
    }
    let by_name = match_all(wanted, interfaces, |one| last_number(&one.name));
    let by_description = match_all(wanted, interfaces, |one| last_number(&one.description));
    let is_numbered = interfaces.iter().any(|one| last_number(&one.name).is_some());
    let by_index = || match_all(wanted, interfaces, |one| u32::try_from(one.index).ok());
    for found in [&by_name, &by_description] {
        if found.problems.is_empty() {
            return found.clone();
        }
    }
    let by_index = if is_numbered { None } else { Some(by_index()) };
    let best = by_index.filter(|found| found.problems.is_empty()).unwrap_or(by_name);
    if best.problems.is_empty() { best } else { advised(best, interfaces) }
}

fn by_names(wanted: &[u32], names: &InterfaceNames, interfaces: &[Interface]) -> Found {
    let mut found = Found::default();
    for &port in wanted {
        let name = names.of(port);
        match interfaces.iter().find(|one| one.name == name || one.description == name) {
            Some(one) => drop(found.ports.insert(port, one.clone())),
            None => {
                let has = listed(interfaces);
                found.problems.push(format!(
                    "port {port} should be the interface {name:?} (`interfaces` in the cluster file), but \
                     the switch has {has}"
                ));
            }
        }
    }
    found
}

/// The interfaces whose number is a port's, where exactly one is.
fn match_all(wanted: &[u32], interfaces: &[Interface], number: impl Fn(&Interface) -> Option<u32>) -> Found {
    let mut found = Found::default();
    for &port in wanted {
        let candidates: Vec<&Interface> = interfaces.iter().filter(|one| number(one) == Some(port)).collect();
        match candidates.as_slice() {
            [one] => drop(found.ports.insert(port, (*one).clone())),
            [] => found.problems.push(format!("no interface of the switch is port {port}")),
            several => {
                let names: Vec<_> = several.iter().map(|one| one.shown()).collect();
                found.problems.push(format!("port {port} may be {}", names.join(" or ")));
            }
        }
    }
    found
}

/// Adds what helps to the problems.
fn advised(found: Found, interfaces: &[Interface]) -> Found {
    let has = listed(interfaces);
    let advice = |problem: String| {
        format!(
            "{problem}: it has {has}; say what its ports are called, as interfaces = \"Gi1/0/{{}}\" in \
             [[switch]]"
        )
    };
    Found { problems: found.problems.into_iter().map(advice).collect(), ..found }
}

fn listed(interfaces: &[Interface]) -> String {
    let mut names: Vec<_> = interfaces.iter().take(SHOWN_MAX).map(Interface::shown).collect();
    if interfaces.len() > SHOWN_MAX {
        names.push(format!("{} more", interfaces.len() - SHOWN_MAX));
    }
    if names.is_empty() { "no Ethernet interface".into() } else { names.join(", ") }
}

/// The number that a name ends in.
fn last_number(name: &str) -> Option<u32> {
    let before = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name[before.len()..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<Interface> {
        let one = |(name, index): (&&str, u64)| Interface {
            index,
            name: (*name).into(),
            description: String::new(),
        };
        names.iter().zip(10..).map(one).collect()
    }

    fn indices(found: &Found) -> Vec<(u32, u64)> {
        found.ports.iter().map(|(port, one)| (*port, one.index)).collect()
    }

    #[test]
    fn as_switches_call_their_ports() {
        for names in [
            ["1", "2", "3"],
            ["g1", "g2", "g3"],
            ["0/1", "0/2", "0/3"],
            ["Gi1/0/1", "Gi1/0/2", "Gi1/0/3"],
            ["swp1", "swp2", "swp3"],
            ["port 01", "port 02", "port 03"],
        ] {
            let found = find(&[1, 3], None, &named(&names));
            assert_eq!((indices(&found), found.problems.as_slice()), (vec![(1, 10), (3, 12)], [].as_slice()));
        }
    }

    #[test]
    fn descriptions_and_indices_where_names_say_nothing() {
        let mut interfaces = named(&["", "", ""]);
        assert_eq!(indices(&find(&[10, 12], None, &interfaces)), [(10, 10), (12, 12)]);
        for (one, number) in interfaces.iter_mut().zip(1..) {
            one.description = format!("Slot: 0 Port: {number}");
        }
        assert_eq!(indices(&find(&[1, 3], None, &interfaces)), [(1, 10), (3, 12)]);
    }

    #[test]
    fn what_is_not_certain_is_said() {
        let two = named(&["Gi1/0/1", "Te1/0/1", "Gi1/0/2"]);
        let found = find(&[1, 2, 3], None, &two);
        assert_eq!(indices(&found), [(2, 12)]);
        assert!(found.problems[0].starts_with("port 1 may be Gi1/0/1 or Te1/0/1: it has "), "{found:?}");
        assert!(found.problems[1].starts_with("no interface of the switch is port 3: it has Gi1/0/1, Te1"));
        let names = "Te1/0/{}".parse().expect("names");
        let found = find(&[1, 2], Some(&names), &two);
        assert_eq!(indices(&found), [(1, 11)]);
        assert!(found.problems[0].contains("should be the interface \"Te1/0/2\""), "{found:?}");
        assert!(find(&[1], None, &[]).problems[0].contains("no Ethernet interface"));
        let long = "9".repeat(40);
        assert_eq!(find(&[9], None, &named(&[&long])).problems.len(), 1);
    }
}
