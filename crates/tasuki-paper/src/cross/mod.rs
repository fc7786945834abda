//! "Tuning of a small-scale PC cluster" (Fukunaga, Umeno, Ashihara): the networks (a) to (d) between two
//! hosts and under NAS kernels, in labs.

use crate::cell::{Claim, Findings};
use crate::data::Cross;
use crate::lab::{Stage, gain, median, number, record, records};
use crate::rule::Rule;
use serde_json::Value;

/// A gain that the text calls none may be so much, in case it is measured as more than 1.
const NO_GAIN: f64 = 1.02;
/// Bandwidth that grows does so by this factor at least.
const GROWS: f64 = 1.02;

/// The claims of the paper, in its order.
pub fn claims(data: &Cross) -> Vec<Claim> {
    let [four, two] = ["F6", "F7"];
    let times = |item, cell: &str, value| Claim::new(item, cell, "times", value, Rule::Effect);
    let slower = |cell: &str, word: &str| {
        let published = f64::from(u8::from(word == "slower"));
        Claim { published, ..Claim::statement(four, cell) }
    };
    let (over, off, mops) = (&data.ratio_4pc_cross_over_switch, &data.ratio_4pc_delay_off, &data.is_2pc_mops);
    let mut claims: Vec<Claim> =
        ["(b) more bandwidth than (a)", "(c) more bandwidth than (b)", "(d) more bandwidth than (c)"]
            .map(|cell| Claim::statement("F4", cell))
            .into();
    claims.push(Claim::statement("F5", "(b) less latency than (a)"));
    claims.push(times("F5", "latency of (c) over (b)", 1.0).noted("the text says no difference"));
    claims.push(times("F5", "latency of (d) over (b)", 1.0).noted("the text says no difference"));
    claims.extend([
        times(four, "IS, (b) over (a)", over.is),
        times(four, "CG, (b) over (a)", over.cg),
        Claim::statement(four, "MG, (b) better than (a)"),
        Claim::statement(four, "LU, (b) better than (a)"),
        Claim::statement(four, "BT, (b) better than (a)").noted(NO_KERNEL),
        Claim::statement(four, "SP, (b) better than (a)").noted(NO_KERNEL),
        times(four, "IS, (c) over (b)", off.is),
        slower("CG, (c) slower than (b)", &off.cg),
        slower("LU, (c) slower than (b)", &off.lu),
        Claim::statement(four, "MG, (c) no gain over (b)"),
        Claim::statement(four, "EP, (c) no gain over (b)"),
        times(two, "IS, (d) over (c)", data.bonding_2pc.is),
        times(two, "CG, (d) over (c)", data.bonding_2pc.cg),
        Claim::statement(two, "MG, (d) no gain over (c)"),
        Claim::statement(two, "LU, (d) no gain over (c)"),
        times(two, "IS, (c) over one host", mops.delay_off / mops.one_pc),
        times(two, "IS, (d) over one host", mops.bonding / mops.one_pc),
        Claim::statement("5", "gain shrinks with a switch for some").noted("no such network is measured"),
    ]);
    claims
}

const NO_KERNEL: &str = "Tasuki has no such kernel";

/// The measurements: the paper's class A in the full ones, class W in the quick ones. The wires have a tenth
/// of the paper's rate for programs, because hosts of a lab share processors.
pub fn stages(quick: bool) -> Vec<Stage> {
    let (class, repetitions) = if quick { ("W", 1) } else { ("A", 6) };
    // The networks that the paper compares, without our controls.
    let programs = |kernels: &str, hosts: u32| {
        let networks = if hosts == 2 { "c,d" } else { "a,b,c" };
        format!(
            "bench cross --rate 100M --kernel {kernels} --class {class} --repetitions {repetitions} \
             --hosts {hosts} --network {networks}"
        )
    };
    let pair = format!(
        "bench cross --rate 1G --repetitions {repetitions} --seconds {}",
        if quick { 0.4 } else { 1.5 }
    );
    if quick {
        return vec![
            Stage::new("pair", 10, &pair),
            Stage::new("four-is-ep-cg-mg-lu", 60, &programs("is,ep,cg,mg,lu", 4)),
            Stage::new("two-is-cg-mg-lu", 30, &programs("is,cg,mg,lu", 2)),
        ];
    }
    // One kernel each, so that an interrupted measurement loses no more than one of them.
    vec![
        Stage::new("pair", 120, &pair),
        Stage::new("four-is", 650, &programs("is", 4)),
        Stage::new("four-ep", 100, &programs("ep", 4)),
        Stage::new("four-cg", 150, &programs("cg", 4)),
        Stage::new("four-mg", 150, &programs("mg", 4)),
        Stage::new("four-lu", 450, &programs("lu", 4)),
        Stage::new("two-is", 650, &programs("is", 2)),
        Stage::new("two-cg", 130, &programs("cg", 2)),
        Stage::new("two-mg", 130, &programs("mg", 2)),
        Stage::new("two-lu", 390, &programs("lu", 2)),
    ]
}

/// What the result of a measurement says about the claims.
pub fn read(stage: &str, json: &Value) -> Findings {
    let mut found = Findings::default();
    match stage.split('-').next() {
        Some("pair") => pair(json, &mut found),
        Some("four") => four_hosts(json, &mut found),
        Some("two") => two_hosts(json, &mut found),
        _ => {}
    }
    found
}

/// A statement as a figure.
fn holds(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// Bytes per second and half a round trip, s, of one of the settings; `None` if it gave none.
fn of_pair(json: &Value, key: &str) -> Option<(f64, f64)> {
    let row = json.get("rows")?.as_array()?.iter().find(|row| row["key"] == key)?;
    let rate = |stream: &Value| {
        let bytes: f64 = stream["received_bytes"].as_array()?.iter().filter_map(Value::as_f64).sum();
        Some(bytes / number(stream, &["receiver", "seconds"])?)
    };
    let rates = row["streams"].as_array()?.iter().filter_map(rate).collect();
    let latency =
        |ping: &Value| Some(median(ping["samples"].as_array()?.iter().filter_map(Value::as_f64).collect()));
    let latencies = row["ping_pongs"].as_array()?.iter().filter_map(latency).collect();
    let of = (median(rates), median(latencies));
    (of.0.is_finite() && of.1.is_finite()).then_some(of)
}

fn pair(json: &Value, found: &mut Findings) {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|key| of_pair(json, key));
    for (cell, more, less) in [
        ("(b) more bandwidth than (a)", b, a),
        ("(c) more bandwidth than (b)", c, b),
        ("(d) more bandwidth than (c)", d, c),
    ] {
        if let Some((more, less)) = more.zip(less) {
            let note = format!("{:.1} and {:.1} MB/s", more.0 / 1e6, less.0 / 1e6);
            found.put("F4", cell, holds(more.0 > GROWS * less.0)).note = note;
        }
    }
    let us = |pair: (f64, f64)| pair.1 * 1e6;
    if let Some((b, a)) = b.zip(a) {
        let note = format!("{:.1} and {:.1} us", us(b), us(a));
        found.put("F5", "(b) less latency than (a)", holds(b.1 < a.1)).note = note;
    }
    for (cell, of) in [("latency of (c) over (b)", c), ("latency of (d) over (b)", d)] {
        if let Some((of, b)) = of.zip(b) {
            found.put("F5", cell, of.1 / b.1).note = format!("{:.1} and {:.1} us", us(of), us(b));
        }
    }
}

/// The gain of a kernel on a network over the one that differs in one thing.
fn step(json: &Value, kernel: &str, network: &str, hosts: &str) -> Option<(f64, [f64; 2])> {
    let record = record(records(json), &[("kernel", kernel), ("network", network), ("hosts", hosts)])?;
    gain(record, "step")
}

fn put_gain(found: &mut Findings, item: &str, cell: String, gain: Option<(f64, [f64; 2])>) {
    if let Some((gain, range)) = gain {
        found.put(item, cell, gain).range = Some(range);
    }
}

fn put_holds(
    found: &mut Findings,
    item: &str,
    cell: String,
    gain: Option<(f64, [f64; 2])>,
    is: fn(f64) -> bool,
) {
    if let Some((gain, _)) = gain {
        found.put(item, cell, holds(is(gain))).note = format!("{gain:.2} times");
    }
}

fn four_hosts(json: &Value, found: &mut Findings) {
    let (b, c) = ("(b) cables", "(c) delay off");
    let step = |kernel, network| step(json, kernel, network, "4");
    for kernel in ["IS", "CG"] {
        put_gain(found, "F6", format!("{kernel}, (b) over (a)"), step(kernel, b));
    }
    for kernel in ["MG", "LU"] {
        put_holds(found, "F6", format!("{kernel}, (b) better than (a)"), step(kernel, b), |gain| gain > 1.0);
    }
    put_gain(found, "F6", "IS, (c) over (b)".into(), step("IS", c));
    for kernel in ["CG", "LU"] {
        put_holds(found, "F6", format!("{kernel}, (c) slower than (b)"), step(kernel, c), |gain| gain < 1.0);
    }
    for kernel in ["MG", "EP"] {
        put_holds(found, "F6", format!("{kernel}, (c) no gain over (b)"), step(kernel, c), |gain| {
            gain <= NO_GAIN
        });
    }
}

fn two_hosts(json: &Value, found: &mut Findings) {
    let (c, d) = ("(c) delay off", "(d) bonded");
    let step = |kernel| step(json, kernel, d, "2");
    for kernel in ["IS", "CG"] {
        put_gain(found, "F7", format!("{kernel}, (d) over (c)"), step(kernel));
    }
    for kernel in ["MG", "LU"] {
        put_holds(found, "F7", format!("{kernel}, (d) no gain over (c)"), step(kernel), |gain| {
            gain <= NO_GAIN
        });
    }
    for (name, network) in [("(c)", c), ("(d)", d)] {
        let record = record(records(json), &[("kernel", "IS"), ("network", network), ("hosts", "2")]);
        if let Some(speedup) = record.and_then(|record| number(record, &["speedup"])) {
            found.put("F7", format!("IS, {name} over one host"), speedup);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setting_in_which_nothing_was_measured_is_not_judged() {
        let stream = |bytes: u64| json!({ "received_bytes": [bytes], "receiver": { "seconds": 1.0 } });
        let row = |key: &str, bytes: u64| {
            let ping = json!({ "samples": [1e-5] });
            json!({ "key": key, "streams": [stream(bytes)], "ping_pongs": [ping] })
        };
        let failed = json!({ "key": "c", "streams": [], "ping_pongs": [] });
        let rows = [row("a", 100_000_000), row("b", 110_000_000), failed, row("d", 200_000_000)];
        let found = read("pair", &json!({ "rows": rows }));
        let value = |item: &str, cell: &str| found.get(item, cell).map(|finding| finding.value);
        assert_eq!(value("F4", "(b) more bandwidth than (a)"), Some(1.0));
        assert_eq!(value("F4", "(c) more bandwidth than (b)"), None);
        assert_eq!(value("F4", "(d) more bandwidth than (c)"), None);
        assert_eq!(value("F5", "(b) less latency than (a)"), Some(0.0));
        assert_eq!(value("F5", "latency of (c) over (b)"), None);
        assert_eq!(value("F5", "latency of (d) over (b)"), Some(1.0));
    }
}
