//! Everything about a chosen proposal, as files.

use super::{measure::rows, plan::Ranked, racks, range::digits, tables::TablesFile};
use crate::{
    args::PlanArgs,
    failure::Failure,
    picture::{Page, Section, draw, write},
};
use std::{fs, path::Path};
use tasuki_topo::{Engine, Limits, Network, PathRule, route};

/// Writes cluster file, tables, cabling list, labels, picture and page into a folder; returns what is where.
pub fn write_all(folder: &Path, one: &Ranked, arguments: &PlanArgs) -> Result<Vec<[String; 2]>, Failure> {
    fs::create_dir_all(folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    let net = Network::from_cluster(&one.cluster)?;
    // Ethernet and relaying hosts drop packets; tables only say who goes where.
    let tables = route(&net, Engine::Minimal(PathRule::SpreadPerHost), Limits::lossy())?;
    let files = [
        ("cluster.toml", "the cluster file", one.cluster.to_toml()),
        (
            "tables.json",
            "single shortest paths, for tasuki topo verify --lossy",
            TablesFile::new(&net, &tables).to_json()?,
        ),
        ("cabling.txt", "what to plug in where, rack by rack", racks::list(&one.cluster, one.moves.as_ref())),
        ("labels.csv", "labels for both ends of every cable", racks::labels(&one.cluster)),
        ("cabling.svg", "the picture", draw(&net)?),
        ("index.html", "all of it as a page", page(one, &net, arguments)?.html()),
    ];
    let mut written = Vec::new();
    for (name, what, text) in files {
        let path = folder.join(name);
        write(&path, &text)?;
        written.push([path.display().to_string(), what.to_owned()]);
    }
    Ok(written)
}

fn page(one: &Ranked, net: &Network, arguments: &PlanArgs) -> Result<Page, Failure> {
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
    gives.extend(rows(&one.measures));
    let listed = racks::listed(&one.cluster, one.moves.as_ref());
    let mut sections = vec![Section {
        heading: "What it gives".into(),
        note: "Definitions: docs/topologies.md of Tasuki.".into(),
        columns: Vec::new(),
        rows: gives.into_iter().map(Vec::from).collect(),
    }];
    if let Some(moves) = &one.moves {
        let note =
            format!("{} cables stay, {} are unplugged, {} are added.", moves.kept, moves.moved, moves.added);
        let rows = moves.unplug.iter().map(|[a, b]| vec![a.clone(), b.clone()]).collect();
        let columns = if moves.moved > 0 { vec!["unplug".into(), "from".into()] } else { Vec::new() };
        sections.push(Section { heading: "First".into(), note, columns, rows });
    }
    let mut racks: Vec<&str> = listed.iter().map(|end| end.rack.as_str()).collect();
    racks.dedup();
    for rack in racks {
        let words = |end: &racks::Listed| {
            [&end.label, &end.here, &end.there, &end.length]
                .map(String::clone)
                .into_iter()
                .chain([end.action.into()])
        };
        sections.push(Section {
            heading: if rack == "no rack" { "Cabling".into() } else { format!("Cabling: {rack}") },
            note: "Both ends of a cable carry its label.".into(),
            columns: ["label", "here", "other end", "length", ""].map(String::from).into(),
            rows: listed.iter().filter(|end| end.rack == rack).map(|end| words(end).collect()).collect(),
        });
    }
    Ok(Page {
        title: format!("{}: {}", one.cluster.name, one.what),
        summary: format!("{} hosts with up to {} ports: {}.", arguments.hosts, arguments.nics, one.why),
        picture: draw(net)?,
        sections,
    })
}
