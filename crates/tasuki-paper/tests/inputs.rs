//! What went in is what the papers say, and the one fitted number is where its figure puts it.

use tasuki_paper::{Data, Paper, Standing, atm};

/// Inputs of the simulated papers are the published figures, as printed.
#[test]
fn inputs_are_the_published_figures() {
    let data = Data::built_in().expect("the figures of this build can be read");
    let found = atm::run(|_| ());
    for cell in Paper::Atm.cells(&data, &found).iter().filter(|cell| cell.standing() == Standing::Input) {
        let here = cell.here.unwrap_or(f64::NAN);
        // The fitted one is met by a whole number of thousandths, the others exactly.
        let near = if cell.item == "F5" { 1.0 } else { 1e-9 };
        assert!((here - cell.published).abs() <= near, "{cell:?}");
    }
}

/// Equation (1) by hand for figure 6: 5 MB at 120 Mbit/s to a receiver of 52 that spends the share c on what
/// it drops: (1 - 52/120 - B/M) / (1 - c) is lost of long messages, but never what the empty buffer takes,
/// B/M.
#[test]
fn figure_6_follows_from_the_model_by_hand() {
    let found = atm::run(|_| ());
    let share = f64::from(tasuki_sim::transport::VAIN_PERMILLE) / 1000.0;
    let first = 65_536.0 / 5e6;
    let by_hand = 100.0 * ((1.0 - 52.0 / 120.0 - first) / (1.0 - share)).min(1.0 - first);
    let lost = found.get("F6", "lost without pace").map_or(0.0, |finding| finding.value);
    assert!((lost - by_hand).abs() < 2.0, "{lost}, by hand {by_hand}");
}
