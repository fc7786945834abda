//! What happens to a host, in a few lines: how many things of each kind are new, changed or removed.

use std::collections::BTreeMap;
use tasuki_host::{Change, Key, Value};

/// Stands between a number and the name behind it, so that no line ends between them.
pub const NO_BREAK: char = '\u{a0}';

/// A line for what is new, what is changed and what is removed, if there is any of it.
pub fn lines(changes: &[Change]) -> Vec<String> {
    let of =
        |wanted: &str| -> Vec<&Change> { changes.iter().filter(|change| effect(change) == wanted).collect() };
    let line = |effect: &str| {
        let kinds = counts(&of(effect));
        (!kinds.is_empty()).then(|| format!("{effect}: {}", kinds.join(", ")))
    };
    ["new", "changed", "removed"].into_iter().filter_map(line).collect()
}

fn effect(change: &Change) -> &'static str {
    match (&change.from, &change.to) {
        (Value::Absent, _) => "new",
        (_, Value::Absent) => "removed",
        _ => "changed",
    }
}

/// The number of changes of each kind, as `2 addresses`, in the order in which the kinds first appear.
fn counts(changes: &[&Change]) -> Vec<String> {
    let mut order: Vec<[&str; 2]> = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for change in changes {
        let kind = kind(&change.key);
        if !order.contains(&kind) {
            order.push(kind);
        }
        *counts.entry(kind[0]).or_default() += 1;
    }
    let count = |[one, many]: [&str; 2]| match counts[one] {
        1 => format!("1{NO_BREAK}{one}"),
        count => format!("{count}{NO_BREAK}{many}"),
    };
    order.into_iter().map(count).collect()
}

/// The name of one thing of a key's kind, and of several.
fn kind(key: &Key) -> [&'static str; 2] {
    match key {
        Key::Interface { .. } => ["interface", "interfaces"],
        Key::Mtu { .. } => ["MTU", "MTUs"],
        Key::Offload { .. } => ["offload", "offloads"],
        Key::Address { .. } => ["address", "addresses"],
        Key::Up { .. } => ["interface up or down", "interfaces up or down"],
        Key::Sysctl { .. } => ["kernel setting", "kernel settings"],
        Key::Neighbour { .. } => ["neighbour", "neighbours"],
        Key::Clsact { .. } => ["place for programs", "places for programs"],
        Key::GsoMaxSegs { .. } => ["number of frames at once", "numbers of frames at once"],
        Key::Coalescing { .. } | Key::NapiDelay { .. } => ["interrupt delay", "interrupt delays"],
        Key::Rings { .. } => ["queue length", "queue lengths"],
        Key::Striping => ["striping", "stripings"],
        Key::Route { .. } => ["route", "routes"],
        Key::File { .. } => ["file", "files"],
        Key::Symlink { .. } => ["link", "links"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_counted_by_what_happens_to_them() {
        let address = |last: u8| Key::Address {
            interface: "eth1".into(),
            address: [10, 0, 0, last].into(),
            prefix: 32,
        };
        let mtu = Key::Mtu { interface: "eth1".into() };
        let file = Key::File { path: "/run/tasuki/rails.json".into() };
        let change = |key: Key, from: Value, to: Value| Change { key, from, to };
        let changes = [
            change(address(1), Value::Absent, Value::Present),
            change(mtu, Value::Number(1500), Value::Number(9000)),
            change(address(2), Value::Absent, Value::Present),
            change(file.clone(), Value::Absent, Value::Text("{}".into())),
            change(address(3), Value::Present, Value::Absent),
        ];
        let shown: Vec<_> = lines(&changes).iter().map(|line| line.replace(NO_BREAK, " ")).collect();
        assert_eq!(shown, ["new: 2 addresses, 1 file", "changed: 1 MTU", "removed: 1 address"]);
        assert_eq!(lines(&[]), [""; 0]);
    }
}
