//! Tables 10 to 12: NAS programs. Their messages are replayed from traces that the user records; without
//! traces nothing of this is run.

use super::names::{OF_32, named_64};
use crate::cell::Claim;
use crate::data::Rhinet2;
use crate::rule::Rule;

/// The programs, in the order of the columns of tables 10 and 11.
pub(super) const PROGRAMS: [&str; 5] = ["CG.S.16", "LU.W.16", "IS.S.16", "IS.S.32", "IS.S.64"];
/// Those of table 12, as the data file and as tables 10 and 11 call them.
pub(super) const BROKEN_DOWN: [(&str, &str); 2] = [("CG_S_16", "CG.S.16"), ("IS_S_64", "IS.S.64")];
const REPLAYED: &str =
    "replayed from traces (--traces): table 8's time in hosts per message, table 12's computing";
const NO_COMPUTING: &str = "its computing on their processors, nearly all of it, is not in the text";
const RATIO: &str = "of the programs that are replayed; LU is not";

fn note(program: &str) -> &'static str {
    if program.starts_with("LU") { NO_COMPUTING } else { REPLAYED }
}

/// The claims of tables 10 to 12 and of the text about them.
pub(super) fn claims(data: &Rhinet2) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut push = |item, cell: String, seconds, rule, note| {
        claims.push(Claim::new(item, cell, "s", seconds, rule).noted(note));
    };
    for (key, name, _) in named_64() {
        for (program, &seconds) in PROGRAMS.iter().zip(data.table10.get(key).into_iter().flatten()) {
            push("T10", format!("{name}, {program}"), seconds, Rule::Percent(2.0), note(program));
        }
    }
    for (key, name) in OF_32 {
        for (program, &seconds) in PROGRAMS.iter().zip(data.table11.get(key).into_iter().flatten()) {
            push("T11", format!("{name}, {program}"), seconds, Rule::Percent(2.0), note(program));
        }
    }
    for (key, parts) in &data.table12 {
        for (part, &seconds) in PARTS.iter().zip(parts) {
            let rule = if *part == PARTS[0] { Rule::Input } else { Rule::Percent(2.0) };
            push("T12", format!("A, {}, {part}", key.replace('_', ".")), seconds, rule, REPLAYED);
        }
    }
    let mut most = |cell: &str, key| {
        claims.push(Claim::new("4.4", cell, "%", data.text(key), Rule::Within(2.0)).noted(RATIO));
    };
    most(OVER_A, "npb_torus_over_A_max_pct");
    most(OVER_CLOS, "npb_torus_over_clos_max_pct");
    claims
}

/// The parts of a program's time in table 12.
pub(super) const PARTS: [&str; 3] = ["computing", "communicating", "waiting"];
/// The cell of the text about topology A.
pub(super) const OVER_A: &str = "torus over A, at most";
/// The cell of the text about Clos.
pub(super) const OVER_CLOS: &str = "torus over Clos, at most";
