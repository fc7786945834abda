//! Tables 10 to 12: NAS programs. They are claims like all others; nothing runs them yet.

use super::names::{OF_32, named_64};
use crate::cell::Claim;
use crate::data::Rhinet2;
use crate::rule::Rule;

const OF_64_HOSTS: [&str; 5] = ["CG.S.16", "LU.W.16", "IS.S.16", "IS.S.32", "IS.S.64"];
const NOT_RUN: &str = "needs messages of these programs as their MPI sent them, and its time in hosts";

/// The claims of tables 10 to 12 and of the text about them.
pub(super) fn claims(data: &Rhinet2) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut push = |item, cell: String, unit, value, rule| {
        claims.push(Claim::new(item, cell, unit, value, rule).noted(NOT_RUN));
    };
    for (key, name, _) in named_64() {
        for (program, &seconds) in OF_64_HOSTS.iter().zip(data.table10.get(key).into_iter().flatten()) {
            push("T10", format!("{name}, {program}"), "s", seconds, Rule::Percent(2.0));
        }
    }
    for (key, name) in OF_32 {
        for (program, &seconds) in OF_64_HOSTS.iter().zip(data.table11.get(key).into_iter().flatten()) {
            push("T11", format!("{name}, {program}"), "s", seconds, Rule::Percent(2.0));
        }
    }
    for (key, parts) in &data.table12 {
        for (part, &seconds) in ["computing", "communicating", "waiting"].iter().zip(parts) {
            push("T12", format!("A, {}, {part}", key.replace('_', ".")), "s", seconds, Rule::Percent(2.0));
        }
    }
    let text = |key| data.text(key);
    push("4.4", "torus over A, at most".into(), "%", text("npb_torus_over_A_max_pct"), Rule::Within(2.0));
    push(
        "4.4",
        "torus over Clos, at most".into(),
        "%",
        text("npb_torus_over_clos_max_pct"),
        Rule::Within(2.0),
    );
    claims
}
