//! Papers for plugging the cables in: the list of all cables, rack by rack, and labels for their ends.

use crate::Moves;
use std::fmt::Write;
use tasuki_cluster::{Cluster, End};

/// The name of the rack for hosts that are in none.
pub(crate) const NO_RACK: &str = "no rack";

/// The name of the list's part with the ports of switches.
const SWITCHES: &str = "switches";

/// The rack of a cable's end; switches have none in cluster files.
fn rack(cluster: &Cluster, end: End) -> &str {
    match end {
        End::Nic(nic) => {
            cluster.hosts.get(nic.host.0).and_then(|host| host.rack.as_deref()).unwrap_or(NO_RACK)
        }
        End::Port { .. } => SWITCHES,
    }
}

/// One end of a cable in the list.
pub struct ListedEnd {
    /// The rack that this end is in.
    pub rack: String,
    /// The label on both ends of the cable.
    pub label: String,
    /// Host or switch, and port, of this end.
    pub here: String,
    /// Host or switch, and port, of the other end, with its rack if that is another one.
    pub there: String,
    /// Length of the cable; empty if it is unknown.
    pub length: String,
    /// What to do with the cable of a cluster that grows: `plug in`, or `stays`, with its label until now
    /// if that was another; empty for a new cluster.
    pub action: String,
}

/// All ends of all cables, rack by rack; a cable inside a rack is listed once.
pub fn listed_ends(cluster: &Cluster, moves: Option<&Moves>) -> Vec<ListedEnd> {
    let mut all = Vec::new();
    for (number, cable) in cluster.cables.iter().enumerate() {
        let [a, b] = cable.ends;
        let inside = rack(cluster, a) == rack(cluster, b);
        for (here, there) in [(a, b), (b, a)].into_iter().take(if inside { 1 } else { 2 }) {
            let far = if inside { String::new() } else { format!(" ({})", rack(cluster, there)) };
            all.push(ListedEnd {
                rack: rack(cluster, here).into(),
                label: format!("c{}", number + 1),
                here: cluster.end_name(here),
                there: format!("{}{far}", cluster.end_name(there)),
                length: cable.length_m.map_or(String::new(), |metres| format!("{metres} m")),
                action: match moves.and_then(|moves| moves.numbers.get(number)) {
                    None => String::new(),
                    Some(None) => "plug in".into(),
                    Some(Some(was)) if *was == number + 1 => "stays".into(),
                    Some(Some(was)) => format!("stays, was c{was}"),
                },
            });
        }
    }
    // The sort is stable, so that cables keep their order within a rack. Racks come in the order of the
    // hosts, then hosts without a rack, and switches last.
    let order = |name: &str| match name {
        SWITCHES => usize::MAX,
        NO_RACK => cluster.hosts.len(),
        _ => cluster.hosts.iter().position(|host| host.rack.as_deref() == Some(name)).unwrap_or(usize::MAX),
    };
    all.sort_by_key(|end| order(&end.rack));
    all
}

/// The list of cables as text: one end a line, with a box to tick.
pub fn cabling_list(cluster: &Cluster, moves: Option<&Moves>) -> String {
    let mut text = format!(
        "Cabling of {}: {} cables. Both ends of a cable carry its label.\n",
        cluster.name,
        cluster.cables.len()
    );
    // Writing into a string cannot fail, here and below.
    if let Some(moves) = moves {
        let _ = writeln!(text, "{} stay, {} are unplugged first:", moves.kept, moves.moved);
        moves.unplug.iter().for_each(|[a, b]| {
            let _ = writeln!(text, "  [ ] unplug {a} - {b}");
        });
    }
    let mut last = String::new();
    for end in listed_ends(cluster, moves) {
        if end.rack != last {
            let _ = writeln!(text, "\n{}", end.rack);
            last.clone_from(&end.rack);
        }
        let _ = writeln!(
            text,
            "  [ ] {:<6} {:<20} - {:<32} {:<6} {}",
            end.label, end.here, end.there, end.length, end.action
        );
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Labels as comma-separated values: two lines per cable, one for the label of either end.
pub fn labels(cluster: &Cluster) -> String {
    let mut text = String::from("label,this end,other end,length_m\n");
    for (number, cable) in cluster.cables.iter().enumerate() {
        let [a, b] = cable.ends.map(|end| cluster.end_name(end));
        let length = cable.length_m.map_or(String::new(), |metres| metres.to_string());
        for (here, there) in [(&a, &b), (&b, &a)] {
            let _ = writeln!(text, "c{},{here},{there},{length}", number + 1);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::generate::{Options, generate};

    #[test]
    fn every_part_of_the_list_has_one_heading_and_switches_come_last() {
        let cluster = generate(&"mixed:6/3".parse().unwrap(), &Options::default()).unwrap();
        let list = cabling_list(&cluster, None);
        let headings: Vec<&str> =
            list.lines().skip(1).filter(|line| !line.is_empty() && !line.starts_with(' ')).collect();
        assert_eq!(headings, [NO_RACK, SWITCHES], "{list}");
    }
}
