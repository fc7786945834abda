//! Proposals as a table.

use crate::{Ranked, digits};

/// What the columns of [`plan_rows`] mean.
pub const PLAN_COLUMNS: &str = "\
Mbit/s in one direction. all to all: what each host sends when all send to all, over the routes that Tasuki \
sets; best: the most that any routes could give. next: each host to the next one, over the best routes. \
bisection: between the worst two halves. cable fails, switch fails: all to all after the worst such loss; 0 \
separates hosts. hops, most: switches and hosts passed, on average and at most. moved: cables to unplug, of \
those that there are.";

/// The heading and the rows of a table, a row for each proposal, in this order.
pub fn plan_rows(ranked: &[Ranked]) -> ([&'static str; 15], Vec<[String; 15]>) {
    let head = [
        "",
        "cabling",
        "all to all",
        "best",
        "next",
        "bisection",
        "cable fails",
        "switch fails",
        "hops",
        "most",
        "cables",
        "NICs",
        "switches",
        "cost",
        "moved",
    ];
    let mega = |rate: f64| digits((rate / 1e5).round() / 10.0);
    let maybe = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    let row = |one: &Ranked| {
        let measures = &one.measures;
        [
            one.number.to_string(),
            one.what.clone(),
            mega(one.all_to_all_bits_per_second),
            mega(one.all_to_all_best_bits_per_second.upper),
            mega(one.neighbour_bits_per_second.upper),
            measures.bisection_bits_per_second.scaled(1e6).show(""),
            maybe(one.after_cable_bits_per_second.map(mega)),
            maybe(one.after_switch_bits_per_second.filter(|_| measures.switches > 0).map(mega)),
            maybe(measures.average_distance.map(|mean| format!("{mean:.2}"))),
            maybe(measures.longest_distance.map(|most| most.to_string())),
            measures.cables.to_string(),
            measures.nics.to_string(),
            measures.switches.to_string(),
            maybe(measures.cost.map(|cost| format!("{cost:.2}"))),
            maybe(one.moves.as_ref().map(|moves| format!("{} of {}", moves.moved, moves.moved + moves.kept))),
        ]
    };
    (head, ranked.iter().map(row).collect())
}
