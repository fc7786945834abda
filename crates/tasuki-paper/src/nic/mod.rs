//! "Bandwidth by spreading communication over several NICs, and its effect on parallel programs" (Fukunaga
//! and others): one TCP stream over 1 to 4 NICs beside bonding, and two NAS kernels, in labs.

use crate::cell::{Claim, Findings};
use crate::data::NicDistribution;
use crate::lab::{ClusterFile, Stage, gain, number, record, records};
use crate::rule::Rule;
use serde_json::Value;

/// The claims of the paper, in its order.
pub fn claims(data: &NicDistribution) -> Vec<Claim> {
    let by = "the quota of the slow processors is chosen until this holds";
    let about = "the text says nearly in proportion";
    let per_nic = |nics: u32| {
        let published = f64::from(nics);
        Claim::new("F3", format!("{nics} NICs over one"), "times", published, Rule::Effect).noted(about)
    };
    let four = |cell: &str, published| Claim::new("F4", cell, "times", published, Rule::Effect);
    let bonding = data.bonding_2nic_mb_s * data.mbyte / 1e6;
    let physical = data.physical_mb_s * data.mbyte / 1e6;
    vec![
        Claim::new("3.2", "one NIC, physically", "MB/s", physical, Rule::Input)
            .noted("the wires have 100 Mbit/s; TCP's payload is 94 % of it"),
        Claim { rule: Rule::Input, ..Claim::statement("F2", "slow processor: two NICs gain") }.noted(by),
        Claim { rule: Rule::Input, ..Claim::statement("F2", "slow processor: three gain nothing more") }
            .noted(by),
        per_nic(2),
        per_nic(3),
        per_nic(4),
        Claim::new("F4", "bonding, 2 NICs", "MB/s", bonding, Rule::Percent(5.0)),
        four("bonding, 3 NICs over 2", 1.0),
        four("bonding, 4 NICs over 2", 1.0),
        four("distribution over bonding, 2 NICs", 1.0),
        four("distribution over bonding, 3 NICs", data.over_bonding.nic3),
        four("distribution over bonding, 4 NICs", data.over_bonding.nic4),
        Claim::new("F4", "receiver's processor, bonding", "%", RECEIVER_PERCENT, Rule::Within(5.0))
            .noted("says what a Pentium 4 of 1.6 GHz needs"),
        Claim::new(
            "F5",
            "LU W, four nodes, 4 NICs over 1",
            "times",
            data.npb_class_w_4nodes_4nics.lu,
            Rule::Effect,
        ),
        Claim::new(
            "F6",
            "MG W, four nodes, 4 NICs over 1",
            "times",
            data.npb_class_w_4nodes_4nics.mg,
            Rule::Effect,
        ),
        Claim::statement("F5", "LU W: four nodes faster than one").noted(SHARED),
        Claim::statement("F6", "MG W: four nodes faster than one").noted(SHARED),
    ]
}

/// Use of the receiver's processor that the text states for bonding, per cent.
const RECEIVER_PERCENT: f64 = 60.0;
const SHARED: &str = "hosts of a lab share this machine's processors";

/// The measurements. The paper's scheme gives the NICs a frame each in turn.
pub fn stages(quick: bool) -> Vec<Stage> {
    let (repetitions, seconds) = if quick { (1, 0.8) } else { (6, 1.5) };
    let stripe = |what: &str| {
        format!(
            "bench stripe {what} --granularity 1 --rate 100M --bytes 1024 --repetitions {repetitions} \
             --seconds {seconds}"
        )
    };
    let one_switch = stripe("--network switch --way round-robin,bond-one-mac --cpu fast");
    let cables = stripe("--network cables --way round-robin --cpu fast");
    let programs = format!(
        "bench nas --shape star:4 --lab-of {{cluster}} --rate 100M --kernel mg,lu --class W --transport \
         tcp --mpi openmpi-4.1 --repetitions {repetitions}"
    );
    let striped = ClusterFile {
        shape: "planes:4x4",
        more: "\n[striping]\npolicy = \"round-robin\"\ngranularity = 1\n",
    };
    let times = if quick { 1 } else { 7 };
    let mut stages = vec![
        Stage::new("one-switch", 25 * times, &one_switch),
        Stage::new("cables", 12 * times, &cables),
        Stage { cluster: Some(striped), ..Stage::new("programs", 35 * times, &programs) },
    ];
    if !quick {
        stages.push(Stage::new("slow", 120, &stripe("--network cables --way round-robin --cpu slow")));
        let pieces = "bench stripe --network switch,cables --way round-robin --cpu fast --rate 100M \
                      --bytes 1024 --repetitions 6 --seconds 1.5";
        stages.push(Stage::new("pieces-of-two", 200, pieces));
    }
    stages
}

/// What the result of a measurement says about the claims.
pub fn read(stage: &str, json: &Value) -> Findings {
    let mut found = Findings::default();
    match stage {
        "one-switch" => one_switch(json, &mut found),
        "cables" => in_proportion(json, &mut found),
        "slow" => slow(json, &mut found),
        "programs" => programs(json, &mut found),
        "pieces-of-two" => pieces(json, &mut found),
        _ => {}
    }
    found
}

/// Median, MB/s.
fn mb(json: &Value, way: &str, nics: u32) -> Option<f64> {
    let nics = nics.to_string();
    let record = record(records(json), &[("way", way), ("nics", &nics)])?;
    number(record, &["mb_per_s", "median"])
}

fn put_ratio(found: &mut Findings, item: &str, cell: String, value: Option<f64>, of: Option<f64>) {
    if let (Some(value), Some(of)) = (value, of) {
        found.put(item, cell, value / of).note = format!("{value:.1} over {of:.1} MB/s");
    }
}

fn one_switch(json: &Value, found: &mut Findings) {
    let bonding = |nics| mb(json, "bond-one-mac", nics);
    if let Some(two) = bonding(2) {
        found.put("F4", "bonding, 2 NICs", two).note =
            "one MAC address for all NICs, as the kernel has it".into();
    }
    for nics in [3, 4] {
        put_ratio(found, "F4", format!("bonding, {nics} NICs over 2"), bonding(nics), bonding(2));
    }
    for nics in [2, 3, 4] {
        let cell = format!("distribution over bonding, {nics} NICs");
        put_ratio(found, "F4", cell, mb(json, "round-robin", nics), bonding(nics));
    }
    courses(json, "switch", "a frame each", found);
}

fn in_proportion(json: &Value, found: &mut Findings) {
    for nics in [2, 3, 4] {
        let cell = format!("{nics} NICs over one");
        put_ratio(found, "F3", cell, mb(json, "round-robin", nics), mb(json, "one", 1));
    }
    courses(json, "cables", "a frame each", found);
}

/// How fast round robin was and what came out of order, by number of NICs, to set pieces of one frame, as the
/// paper has them, beside those of the default length.
fn courses(json: &Value, cabling: &str, pieces: &str, found: &mut Findings) {
    for nics in ["2", "3", "4"] {
        let wanted = [("cabling", cabling), ("way", "round-robin"), ("nics", nics)];
        let Some(record) = record(records(json), &wanted) else { continue };
        let of = |key| number(record, &[key, "median"]).unwrap_or(f64::NAN);
        found.notes.push(format!(
            "Round robin, {pieces} in turn, {cabling}, {nics} NICs: {:.1} MB/s, {:.0} % of the segments out \
             of order, {:.1} % sent again",
            of("mb_per_s"),
            of("out_of_order_percent"),
            of("resent_percent")
        ));
    }
}

fn slow(json: &Value, found: &mut Findings) {
    let ([one, two, three], four) = (
        [(1, "one"), (2, "round-robin"), (3, "round-robin")].map(|(n, way)| mb(json, way, n)),
        mb(json, "round-robin", 4),
    );
    if let (Some(one), Some(two), Some(three)) = (one, two, three) {
        found.put("F2", "slow processor: two NICs gain", f64::from(u8::from(two > one)));
        let nothing = three.max(four.unwrap_or(0.0)) <= two * 1.05;
        found.put("F2", "slow processor: three gain nothing more", f64::from(u8::from(nothing)));
    }
}

fn programs(json: &Value, found: &mut Findings) {
    for (item, kernel) in [("F5", "LU"), ("F6", "MG")] {
        let of = |network: &str| {
            record(records(json), &[("kernel", kernel), ("network", network), ("hosts", "4")])
        };
        let Some(striped) = records(json).iter().find(|record| {
            record["kernel"] == kernel && record["hosts"] == 4 && record["network"] != "star:4"
        }) else {
            continue;
        };
        if let Some((gain, range)) = gain(striped, "against") {
            found.put(item, format!("{kernel} W, four nodes, 4 NICs over 1"), gain).range = Some(range);
        }
        if let Some(speedup) = of("star:4").and_then(|record| number(record, &["speedup"])) {
            let cell = format!("{kernel} W: four nodes faster than one");
            found.put(item, cell, f64::from(u8::from(speedup > 1.0))).note = format!("{speedup:.2} times");
        }
    }
}

fn pieces(json: &Value, found: &mut Findings) {
    for cabling in ["switch", "cables"] {
        courses(json, cabling, "pieces of the default length", found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Pieces of one frame and of the default length are told with the same figures, each of its own cabling.
    #[test]
    fn pieces_of_both_lengths_stand_beside_each_other() {
        let record = |cabling: &str, mb: f64, again: f64| {
            json!({
                "way": "round-robin", "nics": 3, "cabling": cabling, "mb_per_s": { "median": mb },
                "out_of_order_percent": { "median": 40 }, "resent_percent": { "median": again },
            })
        };
        let notes = |stage, records: Value| read(stage, &json!({ "records": records })).notes;
        let one = json!([record("switch", 20.0, 3.0)]);
        let both = json!([record("switch", 20.5, 2.0), record("cables", 30.0, 0.5)]);
        let order = "40 % of the segments out of order";
        let of = |pieces: &str, rest: &str, again: &str| {
            format!("Round robin, {pieces} in turn, {rest} MB/s, {order}, {again} % sent again")
        };
        let length = "pieces of the default length";
        assert_eq!(notes("one-switch", one), [of("a frame each", "switch, 3 NICs: 20.0", "3.0")]);
        assert_eq!(
            notes("cables", json!([record("cables", 31.0, 0.1)])),
            [of("a frame each", "cables, 3 NICs: 31.0", "0.1")]
        );
        assert_eq!(
            notes("pieces-of-two", both),
            [of(length, "switch, 3 NICs: 20.5", "2.0"), of(length, "cables, 3 NICs: 30.0", "0.5")]
        );
    }
}
