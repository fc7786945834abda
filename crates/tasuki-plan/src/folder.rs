//! Writes everything about a chosen proposal into the files of a folder.

use crate::{
    Inventory, PlanningError, Ranked, TablesFile,
    cabling_list::{NO_RACK, cabling_list, labels, listed_ends},
    digits, measure_rows,
    picture::{Page, Section, draw_cluster},
    write_file,
};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tasuki_topo::{Engine, Limits, Network, PathRule, route};

/// The files of a folder, each with a description of its content.
const FILES: [(&str, &str); 6] = [
    ("cluster.toml", "the cluster file"),
    ("tables.json", "single shortest paths, for tasuki topo verify --lossy"),
    ("cabling.txt", "what to plug in where, rack by rack"),
    ("labels.csv", "labels for both ends of every cable"),
    ("cabling.svg", "the picture"),
    ("index.html", "all of it as a page"),
];

/// The files that [`write_folder`] writes.
pub fn folder_files(folder: &Path) -> Vec<PathBuf> {
    FILES.iter().map(|(name, _)| folder.join(name)).collect()
}

/// Writes cluster file, tables, cabling list, labels, picture and page into a folder, which is made if it
/// does not exist. Returns each file with a description of its content.
pub fn write_folder(
    folder: &Path,
    one: &Ranked,
    inventory: &Inventory,
) -> Result<Vec<[String; 2]>, PlanningError> {
    let fail = |source| PlanningError::File { verb: "make", path: folder.into(), source };
    fs::create_dir_all(folder).map_err(fail)?;
    let net = Network::from_cluster(&one.cluster)?;
    // Ethernet and relaying hosts drop packets instead of waiting for room, so that no deadlock can arise.
    let tables = route(&net, Engine::Minimal(PathRule::SpreadPerHost), Limits::lossy())?;
    // In the order of `FILES`.
    let texts = [
        one.cluster.to_toml(),
        TablesFile::new(&net, &tables).to_json()?,
        cabling_list(&one.cluster, one.moves.as_ref()),
        labels(&one.cluster),
        draw_cluster(&net, &one.cluster, &[])?,
        page(one, &net, inventory)?.html(),
    ];
    let mut written = Vec::new();
    for ((path, (_, what)), text) in folder_files(folder).into_iter().zip(FILES).zip(texts) {
        write_file(&path, &text)?;
        written.push([path.display().to_string(), what.to_owned()]);
    }
    Ok(written)
}

fn page(one: &Ranked, net: &Network, inventory: &Inventory) -> Result<Page, PlanningError> {
    let mut sections = vec![Section {
        heading: "What it gives".into(),
        note: "Definitions: docs/reference/topologies.md of Tasuki.".into(),
        columns: Vec::new(),
        rows: gives(one).into_iter().map(Vec::from).collect(),
    }];
    if let Some(moves) = &one.moves {
        let note =
            format!("{} cables stay, {} are unplugged, {} are added.", moves.kept, moves.moved, moves.added);
        let rows = moves.unplug.iter().map(|[a, b]| vec![a.clone(), b.clone()]).collect();
        let columns = if moves.moved > 0 { vec!["unplug".into(), "from".into()] } else { Vec::new() };
        sections.push(Section { heading: "First".into(), note, columns, rows });
    }
    sections.extend(cabling(one));
    Ok(Page {
        title: format!("{}: {}", one.cluster.name, one.what),
        summary: format!("{} hosts with up to {} ports: {}.", inventory.hosts, inventory.nics, one.why),
        picture: draw_cluster(net, &one.cluster, &[])?,
        sections,
    })
}

/// The properties of the proposal: name and value of each line.
fn gives(one: &Ranked) -> Vec<[String; 2]> {
    let mega = |rate: f64| format!("{} Mbit/s", digits((rate / 1e5).round() / 10.0));
    let mut gives = vec![
        ["all to all, a host".to_owned(), mega(one.all_to_all_bits_per_second)],
        [
            "the same over the best routes".to_owned(),
            one.all_to_all_best_bits_per_second.scaled(1e6).show(" Mbit/s"),
        ],
        ["each host to the next one".to_owned(), one.neighbour_bits_per_second.scaled(1e6).show(" Mbit/s")],
    ];
    let lost = [
        ("any one cable", one.after_cable_bits_per_second),
        ("any one switch", one.after_switch_bits_per_second),
    ];
    for (what, left) in lost.into_iter().filter_map(|(what, left)| Some((what, left?))) {
        if what == "any one cable" || one.measures.switches > 0 {
            let left = if left > 0.0 { mega(left) } else { "hosts are apart".into() };
            gives.push([format!("all to all after {what} failed, worst case"), left]);
        }
    }
    gives.extend(one.pcie.iter().map(|note| ["PCI Express".to_owned(), note.clone()]));
    gives.extend(measure_rows(&one.measures));
    gives
}

/// A section of cables for every rack.
fn cabling(one: &Ranked) -> Vec<Section> {
    let listed = listed_ends(&one.cluster, one.moves.as_ref());
    let mut racks: Vec<&str> = listed.iter().map(|end| end.rack.as_str()).collect();
    racks.dedup();
    let section = |rack: &str| {
        let rows = listed.iter().filter(|end| end.rack == rack).map(|end| {
            let columns = [&end.label, &end.here, &end.there, &end.length];
            columns.map(String::clone).into_iter().chain([end.action.clone()]).collect()
        });
        Section {
            heading: if rack == NO_RACK { "Cabling".into() } else { format!("Cabling: {rack}") },
            note: "Both ends of a cable carry its label.".into(),
            columns: ["label", "here", "other end", "length", ""].map(String::from).into(),
            rows: rows.collect(),
        }
    };
    racks.into_iter().map(section).collect()
}
