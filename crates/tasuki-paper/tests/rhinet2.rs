//! The published evaluation, run again, at a fraction of the effort of `tasuki paper rhinet2`.

use tasuki_paper::rhinet2::{Effort, Irregular, Model, figures, run, sensitivity};
use tasuki_paper::{Cell, Data, Findings, Paper, Standing};

const SMALL: Effort = Effort { lists: 60, graphs: usize::MAX, seed: 1 };

/// Predicted cells that the model is known not to meet; `docs/results/simulator.md` says why.
const DIFFER: [(&str, &str); 4] = [
    ("T4", "torus 4x4, waiting"),
    ("F6", "torus over mesh, at most"),
    ("F7", "loss per switch, at most"),
    ("F8", "Clos over torus 4x2, at most"),
];

fn data() -> Data {
    Data::built_in().expect("the figures of this build can be read")
}

fn found(effort: Effort) -> Findings {
    run(&Model::fitted(), &data().rhinet2, effort, |_| ()).expect("all networks can be simulated")
}

fn standing(cells: &[Cell], wanted: Standing) -> Vec<(&str, &str)> {
    let of = cells.iter().filter(|cell| cell.standing() == wanted);
    of.map(|cell| (cell.item, cell.cell.as_str())).collect()
}

/// What is known to differ is counted so, and a changed figure of the file turns its cell.
#[test]
fn cells_differ_that_are_known_to() {
    let (mut data, found) = (data(), found(SMALL));
    let cells = Paper::Rhinet2.cells(&data, &found);
    let differs = standing(&cells, Standing::Differs);
    assert!(DIFFER.iter().all(|cell| differs.contains(cell)), "{differs:?}");
    for item in ["T1", "T3", "T4", "T5", "T6", "T7", "T9"] {
        assert!(standing(&cells, Standing::Agrees).iter().any(|(of, _)| *of == item), "{item}");
    }
    let unrun = standing(&cells, Standing::NotRun);
    assert!(unrun.iter().all(|(item, _)| ["T10", "T11", "T12", "4.4", "4.6"].contains(item)), "{unrun:?}");
    // What was found has its claim, so that nothing that was run is left out of the count.
    for (item, cell) in found.keys() {
        assert!(cells.iter().any(|known| known.item == item && known.cell == cell), "{item} {cell}");
    }
    data.rhinet2.table3[2].time_us *= 1.1;
    data.rhinet2.table3[0].time_us *= 1.1;
    let changed = Paper::Rhinet2.cells(&data, &found);
    let verdict = |cells: &[Cell], cell: &str| {
        cells.iter().find(|known| known.cell == cell && known.item == "T3").and_then(|known| known.agrees)
    };
    assert_eq!(verdict(&cells, "mesh 4x4"), Some(true));
    for cell in ["mesh 4x4", "topology A, all in one network"] {
        assert_eq!(verdict(&changed, cell), Some(false), "{cell}");
    }
}

/// Calculated by hand from table 3, section 4.2.1 and the shapes: without waiting, a barrier of 64 hosts
/// takes at least six pairs of steps, each 4.64 us in hosts, 2 x 0.226 us of injection, and 0.697 us per
/// switch of the average path between different hosts. It takes at most that and the additional time of the
/// longest of several chains.
#[test]
fn barriers_are_what_their_steps_take() {
    let found = found(Effort { graphs: 1, ..SMALL });
    for (table, name, distance, steps) in [
        ("T3", "mesh 4x4", 223.0 / 63.0, 6.0),
        ("T3", "torus 4x4", 191.0 / 63.0, 6.0),
        ("T7", "ring 4", 31.0 / 15.0, 4.0),
    ] {
        let expected = steps * (4.64 + 2.0 * 136.0 * 8.0 / 4800.0 + 0.697 * distance);
        let time = found.get(table, name).map_or(0.0, |finding| finding.value);
        assert!((-0.02..0.03).contains(&(time / expected - 1.0)), "{name}: {time}, by hand {expected}");
    }
}

/// A seed gives equal cells in every run; figures have a point for each size, and every choice of the
/// sensitivity table is run.
#[test]
fn it_can_be_run_again() {
    let tiny = Effort { lists: 5, graphs: 2, seed: 3 };
    assert_eq!(found(tiny), found(tiny));
    let figures = figures(&Model::fitted()).expect("figures can be drawn");
    assert_eq!(figures.len(), 10, "figures 4 and 7, four patterns of 6 and of 8");
    assert!(figures.iter().all(|figure| figure.curves.iter().all(|curve| curve.points.len() == 7)));
    let rows = sensitivity(tiny, |_| ()).expect("every choice can be simulated");
    assert!(rows.len() > 10 && rows.iter().all(|row| row.cells.len() == rows[0].cells.len()));
    assert!(rows.iter().skip(1).any(|row| row.cells != rows[0].cells));
}

/// No graph is used both for A and for B, and all are proper sub-graphs of the mesh.
#[test]
fn graphs_for_a_and_b_differ() {
    let data = data().rhinet2;
    let (a, b) = (Irregular::a(&data, usize::MAX), Irregular::b(&data, usize::MAX));
    assert_eq!((a.found, b.found), (a.chosen.len(), b.chosen.len()));
    assert!(a.chosen.iter().all(|graph| !b.chosen.contains(graph) && *graph != 0));
}
