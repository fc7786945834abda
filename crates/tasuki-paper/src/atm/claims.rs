//! What the paper states, and when our figures agree.

use crate::cell::Claim;
use crate::data::Atm;
use crate::rule::Rule;
use tasuki_sim::transport::Pacing;

/// Rates, factors and lengths, of which the text always says "about".
const ABOUT: Rule = Rule::Percent(10.0);
/// Percentages, of which the text says the same.
const POINTS: Rule = Rule::Within(5.0);

/// The claims of the paper, in its order.
pub fn claims(data: &Atm) -> Vec<Claim> {
    let input = |item, cell: &str, unit, value| Claim::new(item, cell, unit, value, Rule::Input);
    let mut claims = vec![
        input("5", "link", "Mbit/s", data.link_mbps),
        input("6.1", "R of SS5", "Mbit/s", data.r_mbps.ss5),
        input("6.1", "B of SS5", "bytes", data.b_bytes.ss5),
        input("6.1", "R of SS20", "Mbit/s", data.r_mbps.ss20),
        input("6.1", "B of SS20", "bytes", data.b_bytes.ss20),
        input("6.2", "sender's limit, SS20", "Mbit/s", data.figure5.max_mbps),
    ];
    for (name, column) in [("SS5", &data.table1_ss5_mbps), ("SS20", &data.table1_ss20_mbps)] {
        for (bytes, mbps) in data.table1_bytes.iter().zip(column) {
            let claim = Claim::new("T1", table1_name(name, *bytes), "Mbit/s", *mbps, Rule::Input);
            claims.push(claim.noted("follows from R and B by equation (2)"));
        }
    }
    claims.extend(figures(data));
    claims
}

/// The name of a cell of table 1.
pub(super) fn table1_name(host: &str, bytes: f64) -> String {
    format!("{host}, {:.1} MByte", bytes / 1e6)
}

/// Figures 5 to 7. Without and with pace means at the rate of the link and of table 1.
fn figures(data: &Atm) -> Vec<Claim> {
    let (five, six, seven) = (data.figure5, data.figure6, data.figure7);
    let fitted = "fixes what a dropped packet costs the receiver";
    vec![
        Claim::new("F5", "lost without pace", "%", five.loss_pct[0], Rule::Input).noted(fitted),
        Claim::new("F5", "lost with pace", "%", five.loss_pct[1], POINTS),
        Claim::new("F5", "gain by pace, mean", "%", five.throughput_gain_pct, POINTS),
        Claim::new("F5", "no pace is faster below", "MByte", five.slower_below_mbyte, ABOUT),
        Claim::new("F5", "highest throughput", "Mbit/s", five.max_mbps, ABOUT)
            .noted("more than R: a mean that the paper measured with packets lost"),
        Claim::new("F5", "throughput with pace, mean", "Mbit/s", five.mean_mbps, ABOUT),
        Claim::new("F6", "lost without pace", "%", six.loss_pct[0], Rule::AtLeast)
            .noted("the text says or more"),
        Claim::new("F6", "lost with pace", "%", six.loss_pct[1], POINTS),
        Claim::new("F6", "gain by pace", "times", six.gain, ABOUT),
        Claim::new("F6", "throughput with pace", "Mbit/s", six.mbps, ABOUT),
        Claim::new("F7", "gain by pace", "times", seven.gain, Rule::Percent(2.0)),
        Claim::new("F7", "sender's limit, SS5", "Mbit/s", seven.mbps, Rule::Input),
    ]
}

/// What the text says of a figure with the paper's protocol and this pacing; `None` of other pacings.
pub fn said(data: &Atm, figure: u8, pacing: Pacing) -> Option<String> {
    let item = format!("F{figure}");
    let of = |claim: &Claim| match pacing {
        Pacing::Unpaced => claim.cell.ends_with("without pace") || figure == 7,
        Pacing::Static => !claim.cell.ends_with("without pace"),
        _ => false,
    };
    let words = |claim: &Claim| format!("{} {} {}", claim.cell, claim.published, claim.unit);
    let all: Vec<String> =
        claims(data).iter().filter(|claim| claim.item == item && of(claim)).map(words).collect();
    (!all.is_empty()).then(|| all.join(", "))
}
