//! Every figure of the data files is either judged, or an input, or named here as one that nothing stands
//! beside; and a predicted one that is changed turns its cell to "no".

use std::collections::{BTreeMap, BTreeSet};
use tasuki_paper::{Cell, Data, FILES, Finding, Findings, Paper, Standing};
use toml::Value;

/// Tables and keys whose figures describe hardware, settings or people's work, or repeat other figures.
const NOT_COMPARED: [&str; 23] = [
    "hardware",
    "host_us_64",
    "hosts_T2",
    "packets",
    "method",
    "switches",
    "hosts_per_leaf",
    "contention_effect_on_bw_max_pct",
    "nodes",
    "table1_bytes",
    "at_mbyte",
    "unit_max_bytes",
    "fig3_example",
    "bandwidth_message_bytes",
    "T1_spec",
    "myrinet",
    "ethernet",
    "racks",
    "install",
    "multi_user_512_s",
    "himeno_fig12",
    "linpack",
    "T4_top500_june_2001",
];

/// Paths to all numbers of a value.
fn numbers(value: &Value, path: &mut Vec<String>, all: &mut Vec<Vec<String>>) {
    match value {
        Value::Integer(_) | Value::Float(_) => all.push(path.clone()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(at.to_string());
                numbers(item, path, all);
                path.pop();
            }
        }
        Value::Table(table) => {
            for (key, item) in table {
                path.push(key.clone());
                numbers(item, path, all);
                path.pop();
            }
        }
        _ => {}
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, key| match value {
        Value::Array(items) => &mut items[key.parse::<usize>().expect("a place in an array")],
        Value::Table(table) => table.get_mut(key).expect("a key of a table"),
        _ => panic!("no way to {path:?}"),
    })
}

/// What would be found if everything were exactly as published.
fn as_published(paper: Paper, data: &Data) -> Findings {
    let mut found = Findings::default();
    for claim in paper.claims(data) {
        let Finding { value, range, each, .. } = found.put(claim.item, claim.cell, claim.published);
        (*range, *each) = (None, vec![*value]);
    }
    found
}

fn all_cells(data: &Data, found: &[Findings]) -> Vec<Cell> {
    Paper::ALL.iter().zip(found).flat_map(|(paper, found)| paper.cells(data, found)).collect()
}

#[test]
fn what_is_as_published_agrees() {
    let data = Data::built_in().expect("the figures of this build can be read");
    let found = Paper::ALL.map(|paper| as_published(paper, &data));
    for cell in all_cells(&data, &found) {
        assert!(cell.agrees == Some(true) || cell.standing() == Standing::Input, "{cell:?}");
        assert!(cell.published.is_finite(), "{cell:?}");
    }
}

#[test]
fn a_changed_figure_turns_its_cell() {
    let data = Data::built_in().expect("the figures of this build can be read");
    let found = Paper::ALL.map(|paper| as_published(paper, &data));
    let before = all_cells(&data, &found);
    let (mut turned, mut alone) = (BTreeMap::new(), Vec::new());
    for (file, (name, text)) in FILES.iter().enumerate() {
        let whole: Value = toml::from_str(text).expect("TOML");
        let mut paths = Vec::new();
        numbers(&whole, &mut Vec::new(), &mut paths);
        for path in paths {
            let mut changed = whole.clone();
            let number = at(&mut changed, &path);
            let value =
                number.as_float().or(number.as_integer().map(|whole| whole as f64)).unwrap_or_default();
            *number = Value::Float(value * 1.7 + 7.0);
            let mut texts = FILES.map(|(name, text)| (name.to_owned(), text.to_owned()));
            texts[file].1 = toml::to_string(&changed).expect("TOML");
            let data = Data::of(texts).unwrap_or_else(|error| panic!("{name} {path:?}: {error}"));
            let after = all_cells(&data, &found);
            let moved: Vec<_> =
                before.iter().zip(&after).filter(|(a, b)| a.published != b.published).collect();
            let known = path.iter().any(|key| NOT_COMPARED.contains(&key.as_str()));
            if !known && moved.is_empty() {
                alone.push(format!("{name}: {}", path.join(".")));
            }
            for (_, cell) in moved.iter().filter(|(_, cell)| cell.standing() != Standing::Input) {
                assert_eq!(cell.agrees, Some(false), "{name} {path:?}: {cell:?}");
                turned.entry(cell.paper).or_insert_with(BTreeSet::new).insert((cell.item, cell.cell.clone()));
            }
        }
    }
    assert!(alone.is_empty(), "these stand beside nothing: {alone:#?}");
    for paper in Paper::ALL {
        let of_it = turned.get(paper.name()).map_or(0, BTreeSet::len);
        assert!(of_it >= 5, "{paper}: numbers of the files turn {of_it} cells");
    }
}
