//! What the paper states, and when our figures agree: all of it is fixed before anything is simulated.
//!
//! One measure holds throughout: 2 % of a time or a rate, 2 points of a percentage, the printed figure where
//! it has so few digits that rounding is more than that.

use super::names::{FAT_14, GROUP_A, GROUP_B, OF_16, OF_32, named_64};
use crate::cell::{Claim, Open};
use crate::data::{Barrier, Rhinet2};
use crate::rule::Rule;

/// Times and rates.
const NEAR: Rule = Rule::Percent(2.0);
/// Percentages.
const POINTS: Rule = Rule::Within(2.0);
/// Percentages of which the text says "about".
const ABOUT: Rule = Rule::Within(5.0);
/// Distances, with one decimal.
const TENTH: Rule = Rule::Printed(0.05);
/// Parts of barriers, without decimals.
const WHOLE: Rule = Rule::Printed(0.5);
/// Names of the parts of a barrier's time.
pub(super) const PARTS: [&str; 4] = ["host", "injection", "hops", "waiting"];

/// All claims of the paper that have figures in the text, in its order.
pub fn claims(data: &Rhinet2) -> Vec<Claim> {
    let mut claims = table1(data);
    claims.extend(barriers64(data));
    claims.extend(barriers32(data));
    claims.extend(barriers16(data));
    claims.extend(barrier_text(data));
    claims.extend(fitted(data));
    claims.extend(table9(data));
    claims.extend(figures(data));
    claims.extend(super::programs::claims(data));
    claims
}

/// Table 1 for the sizes that were built: meshes and tori of 4 x 4, the fat tree (2, 4, 2), Clos of 4 x 4.
fn table1(data: &Rhinet2) -> Vec<Claim> {
    let rows = [
        ("2D mesh 4x4", "mesh_nxn"),
        ("2D torus 4x4", "torus_nxn"),
        (FAT_14, "fat_tree_pqr"),
        ("Myrinet-Clos 4x4", "myrinet_clos_nxn"),
    ];
    let mut claims = Vec::new();
    for (name, key) in rows {
        let formula = |degree: bool| {
            let row = data.table1.get(key);
            evaluate(row.map_or("", |row| if degree { &row.degree } else { &row.diameter }))
        };
        claims.push(Claim::new("T1", format!("{name}, diameter"), "cables", formula(false), Rule::Equal));
        claims.push(Claim::new("T1", format!("{name}, degree"), "cables", formula(true), Rule::Equal));
    }
    claims
}

/// The value of a formula of table 1 for n = 4, p = 2, q = 4, r = 2; not a number if it is another formula.
fn evaluate(formula: &str) -> f64 {
    match formula {
        "2(n-1)" => 6.0,
        "n" | "2r" => 4.0,
        "p+q" => 6.0,
        number => number.parse().unwrap_or(f64::NAN),
    }
}

/// Tables 3 and 4.
fn barriers64(data: &Rhinet2) -> Vec<Claim> {
    let (mut times, mut parts) = (Vec::new(), Vec::new());
    for (key, name, group) in named_64() {
        let Barrier { time_us, avg_dist } = data.barrier64(key);
        let open = group.map_or(Open::Known, Open::PartOf);
        times.push(Claim::new("T3", name, "us", time_us, NEAR).open(open));
        let rule = if group.is_some() { Rule::Input } else { TENTH };
        times.push(Claim::new("T3", format!("{name}, average distance"), "switches", avg_dist, rule));
        let published = data.table4.get(key).copied().unwrap_or([f64::NAN; 4]);
        parts.extend(breakdown("T4", name, published, group));
    }
    let ordered: Vec<f64> = ["torus4x4", "mesh4x4", "B", "A"].map(|key| data.barrier64(key).time_us).into();
    let claim = Claim::statement("T3", "order: torus, mesh, B, A");
    let published = f64::from(u8::from(ordered.is_sorted_by(|a, b| a < b)));
    let note = "for every network that could be A, and the median of those that could be B";
    times.push(Claim { published, rule: Rule::AllHold, note, ..claim }.open(Open::Over(GROUP_A)));
    for (group, note) in [
        (GROUP_A, "parts: its time in T3, hops in T4, result and drop in T9, both gains over it in F6"),
        (GROUP_B, "parts: its time in T3, hops in T4, result and drop in T9"),
    ] {
        times.push(Claim::new("T3", group, "networks", 1.0, Rule::Together).noted(note));
    }
    times.into_iter().chain(parts).collect()
}

/// A row of tables 4 and 6. Host and injection follow from what the model is fitted to.
fn breakdown(item: &'static str, name: &str, published: [f64; 4], group: Option<&'static str>) -> Vec<Claim> {
    let claim = |part: usize| {
        let (rule, open) = match (part, group) {
            (0 | 1, _) => (Rule::Input, Open::Known),
            (_, None) => (WHOLE, Open::Known),
            (2, Some(group)) => (WHOLE, Open::PartOf(group)),
            (_, Some(group)) => (Rule::RangeHolds(0.5), Open::Over(group)),
        };
        Claim::new(item, format!("{name}, {}", PARTS[part]), "us", published[part], rule).open(open)
    };
    (0..PARTS.len()).map(claim).collect()
}

/// Tables 5 and 6.
fn barriers32(data: &Rhinet2) -> Vec<Claim> {
    let (mut claims, mut parts) = (Vec::new(), Vec::new());
    for (key, name) in OF_32 {
        let row = data.table5.get(key).copied().unwrap_or(Barrier::MISSING);
        claims.extend(known_barrier("T5", name, row));
        parts.extend(breakdown("T6", name, data.table6.get(key).copied().unwrap_or([f64::NAN; 4]), None));
    }
    let times: Vec<f64> = OF_32.iter().filter_map(|(key, _)| Some(data.table5.get(*key)?.time_us)).collect();
    let published = f64::from(u8::from(times.is_sorted_by(|a, b| a > b)));
    claims.push(Claim { published, ..Claim::statement("T5", "order: ring, mesh, torus, Clos") });
    claims.extend(parts);
    claims
}

/// Table 7, and what the text says of it.
fn barriers16(data: &Rhinet2) -> Vec<Claim> {
    let row = |key| data.table7.get(key).copied().unwrap_or(Barrier::MISSING);
    let mut claims: Vec<Claim> =
        OF_16.iter().flat_map(|&(key, name)| known_barrier("T7", name, row(key))).collect();
    let gain = data.text("ft6_over_ft14_barrier_pct");
    claims.push(Claim::new("T7", "fat tree of 14 over that of 6", "%", gain, POINTS));
    let slower = row("fat_tree_2_4_1").time_us >= row("myrinet_clos8").time_us;
    let statement = Claim::statement("T7", "fat tree of 6 not faster than Clos");
    let (published, rule) = (f64::from(u8::from(slower)), Rule::Input);
    let note = "the model gives equal distances equal times";
    claims.push(Claim { published, rule, ..statement }.noted(note));
    claims
}

/// Time and average distance of a network whose graph is known.
fn known_barrier(item: &'static str, name: &str, row: Barrier) -> [Claim; 2] {
    let distance = format!("{name}, average distance");
    [
        Claim::new(item, name, "us", row.time_us, NEAR),
        Claim::new(item, distance, "switches", row.avg_dist, TENTH).noted(match name {
            FAT_14 => "pairs of a host with itself are left out here, as the printed figure wants",
            _ => "",
        }),
    ]
}

/// What the text of 4.2 says of tables 3 to 6.
fn barrier_text(data: &Rhinet2) -> Vec<Claim> {
    let over_a = |cell, key| {
        let claim = Claim::new("4.2", cell, "%", data.text(key), Rule::RangeHolds(0.5));
        claim.open(Open::Over(GROUP_A))
    };
    let about = |cell, key, note| Claim::new("4.2", cell, "%", data.text(key), ABOUT).noted(note);
    let known = "mean of mesh and torus; the text says about";
    vec![
        over_a("64 hosts: A over torus", "barrier_spread_64_pct"),
        about("64 hosts: packets' share of the time", "barrier_packet_share_64_pct", known),
        about("64 hosts: hops and waiting", "barrier_hops_contention_share_64_pct", known),
        over_a("64 hosts: hops of packets' time, at most", "barrier_hops_share_of_packet_time_max_pct"),
        about(
            "32 hosts: packets' share of the time",
            "barrier_packet_share_32_pct",
            "mean of the four networks; the text says about",
        ),
    ]
}

/// Figure 4 and table 8, to which the model is fitted.
fn fitted(data: &Rhinet2) -> Vec<Claim> {
    let [fixed, slope] = data.table8.total();
    let input = |item, cell: &str, value| Claim::new(item, cell, "us", value, Rule::Input);
    vec![
        input("F4", "barrier of two, per switch", data.packets.per_switch_us),
        input("F4", "barrier of two, hosts", data.model_barrier.host_us_per_step_pair),
        input("T8", "total without switches", fixed),
        input("T8", "total per switch", slope),
        input("T8", "host", data.table8.host),
        input("T8", "acknowledgement, injection", data.table8.ack_inj),
        input("T8", "packet, injection", data.table8.pkt_inj),
    ]
}

/// Table 9.
fn table9(data: &Rhinet2) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (key, name, group) in named_64() {
        let Some(row) = data.table9.get(key) else { continue };
        let open = group.map_or(Open::Known, Open::PartOf);
        let (rule, note) = match group {
            Some(_) => (Rule::Input, "chose the networks that could be it"),
            None => (NEAR, ""),
        };
        let ideal = Claim::new("T9", format!("{name}, ideal"), "MB/s", row.ideal, rule);
        claims.push(ideal.noted(note));
        claims.push(Claim::new("T9", format!("{name}, result"), "MB/s", row.measured, NEAR).open(open));
        claims.push(Claim::new("T9", format!("{name}, drop"), "%", row.drop_pct, POINTS).open(open));
    }
    let effect = data.text("distance_effect_on_bw_max_pct");
    let claim = Claim::new("4.3", "effect of distance, at most", "%", effect, Rule::Input);
    claims.push(claim.noted("A's ideal against the torus's"));
    claims
}

/// What the text says of figures 6 to 8.
fn figures(data: &Rhinet2) -> Vec<Claim> {
    let most = |cell: &str, key, rule| Claim::new("F6", cell, "%", data.text(key), rule);
    let over_a = Open::PartOf(GROUP_A);
    let numberings = "over path rules and numberings of the switches, which the text does not give";
    let clos = data.text("clos_over_fattree_and_torus_bw_max_pct");
    let over = |of| Claim::new("F8", format!("Clos over {of}, at most"), "%", clos, Rule::RangeHolds(0.5));
    vec![
        most("torus over mesh, at most", "torus_over_mesh_bw_max_pct", POINTS),
        most("torus over A, at most", "torus_over_A_bw_max_pct", POINTS).open(over_a),
        most("mesh over A, at most (4.6)", "mesh_over_A_bw_max_pct", POINTS).open(over_a),
        Claim::new(
            "4.6",
            "mesh over A, open loop",
            "%",
            data.text("mesh_over_A_earlier_simulation_max_pct"),
            POINTS,
        )
        .noted("another simulation of the authors; its packets and loads are not in the text"),
        Claim::new(
            "F7",
            "loss per switch, at most",
            "MB/s",
            data.text("bw_loss_per_hop_max_mbyte_s"),
            Rule::Percent(10.0),
        )
        .noted("the text says about; table 8 itself loses 13.9 from 1 to 2 switches, 10.2 on average"),
        over("fat tree of 14").noted(numberings),
        over("torus 4x2").noted(numberings),
        Claim::statement("F8", "Clos is best on average"),
        Claim::statement("F8", "fat tree of 14 below torus and mesh"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_evaluated() {
        assert_eq!(["2(n-1)", "n", "2r", "p+q", "4"].map(evaluate), [6.0, 4.0, 4.0, 6.0, 4.0]);
        assert!(evaluate("3n").is_nan(), "nothing agrees with a formula that is not known");
    }
}
