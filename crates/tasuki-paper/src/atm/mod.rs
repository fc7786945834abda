//! "Improvement of MPI data transfer throughput on an ATM workstation cluster" (Ooi, Osawa, Yuba): table 1
//! from its equation (2), and what it says of figures 5 to 7, on its model of a receiver.
//!
//! The model has one number that is fitted: what a packet costs the receiver that it must drop
//! ([`VAIN_PERMILLE`]), by the packets that figure 5 loses without pace. Everything about figure 6, and all
//! throughputs, follow without it being touched again.

mod claims;

pub use claims::{claims, said};

use crate::cell::Findings;
use tasuki_rate::paper::{HOSTS, LINK_BPS, TABLE1_BYTES};
use tasuki_rate::{Receiver, Sent};
use tasuki_sim::transport::{Pacing, Receivers, SS5_SENDS, SS20_SENDS, VAIN_PERMILLE};

/// Length of messages of which the text states losses, bytes.
const LONG: u64 = 5_000_000;
/// Step in which the length is searched below which no pace is faster, bytes.
const STEP: u64 = 50_000;
/// By so many per cent no pace must be faster in order to be called faster.
const FASTER_PERCENT: f64 = 0.1;

/// Number of times that [`run`] calls `progress`.
pub const STAGES: u64 = 4;

/// Runs the model. `progress` is called with the name of each stage as it begins.
pub fn run(mut progress: impl FnMut(&str)) -> Findings {
    let mut found = Findings::default();
    progress("table 1");
    inputs(&mut found);
    table1(&mut found);
    let [equal, slower, faster, ..] = Receivers::all();
    progress("equal hosts");
    let rates = [Pacing::Unpaced, Pacing::Static].map(|pacing| curve(&equal, pacing));
    let gains: Vec<f64> =
        rates[0].iter().zip(&rates[1]).map(|(free, paced)| (paced / free - 1.0) * 100.0).collect();
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
    found.put_range("F5", "gain by pace, mean", &gains).value = mean(&gains);
    found.put_range("F5", "throughput with pace, mean", &rates[1]).value = mean(&rates[1]);
    let highest = rates.iter().flatten().copied().fold(0.0, f64::max);
    found.put("F5", "highest throughput", highest);
    found.put("F5", "lost without pace", loss(&equal, Pacing::Unpaced));
    found.put("F5", "lost with pace", loss(&equal, Pacing::Static));
    found.put("F5", "no pace is faster below", unpaced_wins_below(&equal));
    progress("from fast to slow");
    let [free, paced] = [Pacing::Unpaced, Pacing::Static].map(|pacing| mbps(&slower, LONG, pacing));
    found.put("F6", "lost without pace", loss(&slower, Pacing::Unpaced));
    found.put("F6", "lost with pace", loss(&slower, Pacing::Static));
    found.put("F6", "gain by pace", paced / free);
    found.put("F6", "throughput with pace", paced);
    progress("from slow to fast");
    let [free, paced] = [Pacing::Unpaced, Pacing::Static].map(|pacing| mbps(&faster, LONG, pacing));
    found.put("F7", "gain by pace", paced / free);
    found
}

/// The figures that went in.
fn inputs(found: &mut Findings) {
    found.put("5", "link", LINK_BPS / 1e6);
    for host in HOSTS {
        let Receiver { drain_bps, buffer_bytes } = host.receiver;
        found.put("6.1", format!("R of {}", host.name), drain_bps / 1e6);
        found.put("6.1", format!("B of {}", host.name), buffer_bytes as f64);
    }
    found.put("6.2", "sender's limit, SS20", SS20_SENDS as f64 / 1e6);
    found.put("F7", "sender's limit, SS5", SS5_SENDS as f64 / 1e6);
    found.notes.push(format!(
        "A packet that is dropped costs the receiver {:.0} % of one that is not: fitted to the loss of \
         figure 5 without pace.",
        f64::from(VAIN_PERMILLE) / 10.0
    ));
    let plain = HOSTS.map(|host| {
        table1_of(Receiver { buffer_bytes: thousands(host.receiver.buffer_bytes), ..host.receiver })
    });
    let met = HOSTS.iter().zip(&plain).flat_map(|(host, got)| {
        host.table1_mbps.iter().zip(got).map(|(printed, got)| f64::from(*printed) == got.round())
    });
    found.notes.push(format!(
        "The KB of B are read as 1024 bytes; with 1000, {} of the 20 cells of table 1 come out.",
        met.filter(|met| *met).count()
    ));
}

/// As many KB of 1000 bytes as these bytes are KB of 1024.
fn thousands(bytes: u64) -> u64 {
    bytes / 1024 * 1000
}

/// A column of table 1 by equation (2), Mbit/s.
fn table1_of(receiver: Receiver) -> Vec<f64> {
    TABLE1_BYTES.iter().map(|&bytes| receiver.send_rate(bytes).unwrap_or(f64::NAN) / 1e6).collect()
}

fn table1(found: &mut Findings) {
    for host in HOSTS {
        for (bytes, mbps) in TABLE1_BYTES.iter().zip(table1_of(host.receiver)) {
            // The table has whole numbers.
            found.put("T1", claims::table1_name(host.name, *bytes as f64), mbps.round());
        }
    }
}

/// Throughputs for the lengths of table 1, Mbit/s.
fn curve(case: &Receivers, pacing: Pacing) -> Vec<f64> {
    TABLE1_BYTES.iter().map(|&bytes| mbps(case, bytes, pacing)).collect()
}

/// What comes of messages of so many bytes; nothing if the case cannot be run, which the model always can.
fn sent(case: &Receivers, bytes: u64, pacing: Pacing) -> Vec<Sent> {
    case.send(bytes, pacing).unwrap_or_default()
}

/// Mean throughput, Mbit/s.
fn mbps(case: &Receivers, bytes: u64, pacing: Pacing) -> f64 {
    let all = sent(case, bytes, pacing);
    all.iter().map(|sent| bytes as f64 * 8e-6 / sent.seconds).sum::<f64>() / all.len() as f64
}

/// Share of the packets that is lost of long messages, %.
fn loss(case: &Receivers, pacing: Pacing) -> f64 {
    let all = sent(case, LONG, pacing);
    100.0 * all.iter().map(|sent| sent.lost).sum::<f64>() / all.len() as f64
}

/// The length from which on pace is never slower, MByte; 0 if it is nowhere slower.
fn unpaced_wins_below(case: &Receivers) -> f64 {
    let lengths = (1..=LONG / STEP).map(|step| step * STEP);
    let wins = lengths.filter(|&bytes| {
        mbps(case, bytes, Pacing::Unpaced)
            > mbps(case, bytes, Pacing::Static) * (1.0 + FASTER_PERCENT / 100.0)
    });
    wins.max().unwrap_or(0) as f64 / 1e6
}
