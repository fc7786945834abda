//! How fast a host of a lab takes bursts, what its buffer holds, and what it loses of more.

mod chunks;

use super::{
    Session, Testbed,
    peers::{Pair, measure},
};
use crate::{
    BenchError, Machine, ending,
    plot::Panel,
    rates::{RateRow, rates, rates_table},
    raw::{Burst, Drain, DrainTest, Protocol, Test},
    stats::Summary,
    table::borderless,
};
use chunks::gathered;
use serde::Serialize;
use std::fmt::Write;
use tasuki_rate::{Distribution, Receiver, Slow, Static, paper::TABLE1_BYTES};

/// Bars of a histogram.
const BINS: usize = 20;
/// Rates that differ from their mean by less than this share are the same rate.
const NARROW: f64 = 0.01;
/// From this share of the line's rate on, the line is the limit and not the host.
const LINE_LIMITED: f64 = 0.93;

/// What is sent to the receiver.
#[derive(Clone, Copy, Debug)]
pub struct DrainOptions {
    /// What bursts are made of.
    pub protocol: Protocol,
    /// How many bursts.
    pub bursts: u32,
    /// Payload of a burst, bytes.
    pub bytes: u64,
    /// Payload sent per second, bit/s; `None`: as fast as the sender can.
    pub send_bps: Option<u64>,
    /// How the receiver is slowed.
    pub slow: Slow,
    /// The receiver's buffer, bytes: payload in its ring, or SO_RCVBUF.
    pub buffer_bytes: u64,
}

/// What was measured on one network, and what follows.
#[derive(Serialize)]
pub struct DrainReport {
    /// Name of the network.
    network: String,
    /// The host that sent.
    from: String,
    /// The host that received.
    to: String,
    protocol: Protocol,
    /// How the receiver was slowed, in words.
    slow: String,
    burst_bytes: u64,
    packet_bytes: u64,
    /// B, bytes.
    buffer_bytes: u64,
    /// R, bit/s.
    drain_bps: Distribution,
    /// The line's rate, if something holds it.
    line_bps: Option<u64>,
    /// R is the line's, not the host's.
    line_limited: bool,
    /// Lost of all that was sent.
    lost_percent: f64,
    overflow: Option<Overflow>,
    rates: Vec<RateRow>,
    machine: Machine,
    bursts: Vec<Burst>,
    /// What came to grief after the bursts that are told.
    pub failures: Vec<String>,
}

/// What bursts lost, beside equation (1) for the time that each took.
#[derive(Serialize)]
struct Overflow {
    send_bps: Summary,
    lost_bytes: Summary,
    equation_1_bytes: Summary,
    /// Lost over equation (1), burst by burst.
    ratio: Summary,
}

/// Sends bursts between two hosts of a lab.
pub fn drain(
    lab: &Testbed,
    pair: Pair,
    options: &DrainOptions,
    session: Session<'_>,
) -> Result<DrainReport, BenchError> {
    let (drain, failures) = bursts(lab, pair, options, session)?;
    Ok(DrainReport { failures, ..report(lab, pair, options.bytes, drain)? })
}

/// All bursts, some at a time, and what came to grief.
fn bursts(
    lab: &Testbed,
    pair: Pair,
    options: &DrainOptions,
    session: Session<'_>,
) -> Result<(Drain, Vec<String>), BenchError> {
    session.progress.begin("drain", options.bursts.into());
    session.progress.step(&lab.name);
    let gathered = gathered(options.bursts, |bursts| {
        let test = DrainTest {
            protocol: options.protocol,
            bursts,
            bytes: options.bytes,
            send_bps: options.send_bps,
            slow: options.slow,
            buffer_bytes: options.buffer_bytes,
        };
        let mut outcome = measure(lab, pair, vec![Test::Drain(test)])?;
        if let Some(failure) = outcome.failures.first() {
            return Err(BenchError::refused(failure));
        }
        session.progress.advance(bursts.into());
        outcome.drains.pop().ok_or_else(|| BenchError::refused("the raw peers measured nothing"))
    });
    session.progress.finish();
    gathered
}

fn report(lab: &Testbed, pair: Pair, burst_bytes: u64, drain: Drain) -> Result<DrainReport, BenchError> {
    let name = |host| lab.cluster.host_of(host).name.clone();
    let samples: Vec<f64> = drain.bursts.iter().filter_map(Burst::drain_bps).collect();
    let mean = samples.iter().sum::<f64>() / samples.len().max(1) as f64;
    // A histogram of rates that are all the same says nothing, so it gets one bar.
    let is_narrow = samples.iter().all(|sample| (sample / mean - 1.0).abs() < NARROW);
    let drain_bps = Distribution::of(&samples, if is_narrow { 1 } else { BINS })
        .ok_or_else(|| BenchError::refused("the receiver took less than two packets of every burst"))?;
    let line_bps = lab.line_bits_per_second(pair.from, pair.to);
    let line_limited = drain.slow == Slow::No
        && line_bps.is_some_and(|line| drain_bps.mean > LINE_LIMITED * payload_share(&drain) * line as f64);
    let mean_bps = match drain.slow {
        // A receiver that is slowed to a steady rate has exactly that rate.
        Slow::Steady { bps } => bps as f64,
        _ => drain_bps.mean,
    };
    let receiver = Receiver { drain_bps: mean_bps, buffer_bytes: drain.buffer_bytes };
    let (sent, lost) = drain
        .bursts
        .iter()
        .fold((0, 0), |(sent, lost), burst| (sent + burst.sent_bytes, lost + burst.lost_bytes()));
    let link_bps = line_bps.map_or(f64::INFINITY, |line| line as f64 * payload_share(&drain));
    // If nothing holds the line's rate, the fastest sender that is known is the one that was measured.
    let fastest = drain.bursts.iter().map(Burst::send_bps).fold(0.0, f64::max);
    let link_bps = if link_bps.is_finite() { link_bps } else { fastest };
    Ok(DrainReport {
        network: lab.name.clone(),
        from: name(pair.from),
        to: name(pair.to),
        protocol: drain.protocol,
        slow: drain.slow.to_string(),
        burst_bytes,
        packet_bytes: drain.packet_bytes,
        buffer_bytes: drain.buffer_bytes,
        line_bps,
        line_limited,
        lost_percent: 100.0 * lost as f64 / (sent as f64).max(1.0),
        overflow: overflow(receiver, &drain.bursts),
        rates: rates(&name(pair.to), Static { receiver, link_bps }, &TABLE1_BYTES),
        machine: Machine::here(),
        drain_bps,
        bursts: drain.bursts,
        failures: Vec::new(),
    })
}

/// Share of the line that is payload.
fn payload_share(drain: &Drain) -> f64 {
    use crate::ethernet::{HEADER_BYTES, IPV4_BYTES, UDP_BYTES, wire_bytes};
    let headers = match drain.protocol {
        Protocol::Udp => HEADER_BYTES + IPV4_BYTES + UDP_BYTES,
        // Frames have addresses and type, and 16 bytes of our own before the payload.
        _ => HEADER_BYTES + 16,
    };
    drain.packet_bytes as f64 / wire_bytes(headers + drain.packet_bytes) as f64
}

/// What bursts lost for which equation (1) expects a loss; `None`: it expects none.
fn overflow(receiver: Receiver, bursts: &[Burst]) -> Option<Overflow> {
    let expected = |burst: &Burst| receiver.overflow_bytes(burst.sent_bytes, burst.send_bps());
    let bursts: Vec<&Burst> = bursts.iter().filter(|burst| expected(burst) > 0.0).collect();
    let summary =
        |of: &dyn Fn(&Burst) -> f64| Summary::of(&bursts.iter().map(|burst| of(burst)).collect::<Vec<f64>>());
    Some(Overflow {
        send_bps: summary(&Burst::send_bps)?,
        lost_bytes: summary(&|burst| burst.lost_bytes() as f64)?,
        equation_1_bytes: summary(&expected)?,
        ratio: summary(&|burst| burst.lost_bytes() as f64 / expected(burst))?,
    })
}

impl DrainReport {
    /// As text: rates, a histogram, and what was lost.
    pub fn text(&self) -> String {
        let report = self;
        let mega = |bps: f64| format!("{:.1}", bps / 1e6);
        let r = &report.drain_bps;
        let mut text = format!(
            "{}, {} to {}, {} ({}): R = {} Mbit/s (deviation {}, {} to {}) over {} bursts of {} bytes, B = \
         {} bytes, lost {:.2} %\n",
            report.network,
            report.from,
            report.to,
            report.protocol,
            if report.slow == "none" { "not slowed".into() } else { format!("slowed: {}", report.slow) },
            mega(r.mean),
            mega(r.deviation),
            mega(r.least),
            mega(r.most),
            r.count,
            report.burst_bytes,
            report.buffer_bytes,
            report.lost_percent,
        );
        if report.line_limited {
            text +=
                "R is the line's rate: the line was the limit, not the host (--unshaped takes it away).\n";
        }
        if report.burst_bytes <= report.buffer_bytes {
            text += "The buffer holds a whole burst (M <= B), so nothing can be lost and R may be the \
                     buffer's doing: for the paper's model give a longer --bytes or a smaller --buffer.\n";
        }
        let most = r.bins.iter().map(|bin| bin.count).max().unwrap_or(1).max(1);
        for bin in &r.bins {
            let bar = "#".repeat((50 * bin.count).div_ceil(most));
            // Writing into a text cannot fail.
            let _ =
                writeln!(text, "{:>9} to {:>8} Mbit/s {:>5} {bar}", mega(bin.from), mega(bin.to), bin.count);
        }
        if let Some(overflow) = &report.overflow {
            let mut shown = borderless(["", "median", "p10", "p90"]);
            let mut row = |name: &str, summary: Summary, scale: f64, digits: usize| {
                let cell = |value: f64| format!("{:.digits$}", value / scale);
                shown.add_row([name.into(), cell(summary.median), cell(summary.p10), cell(summary.p90)]);
            };
            row("sent at, Mbit/s", overflow.send_bps, 1e6, 1);
            row("lost, bytes", overflow.lost_bytes, 1.0, 0);
            row("equation (1), bytes", overflow.equation_1_bytes, 1.0, 0);
            row("lost over equation (1)", overflow.ratio, 1.0, 3);
            let _ = writeln!(text, "\n{shown}");
        }
        text + "\n" + &rates_table(&report.rates) + &ending(&report.failures, false)
    }

    /// How often which rate was measured, as figure 4 of the paper.
    pub fn histogram(&self) -> Panel {
        let report = self;
        let r = &report.drain_bps;
        let mut points = Vec::new();
        for bin in &r.bins {
            let share = 100.0 * bin.count as f64 / r.count as f64;
            points.extend([
                (bin.from / 1e6, 0.0),
                (bin.from / 1e6, share),
                (bin.to / 1e6, share),
                (bin.to / 1e6, 0.0),
            ]);
        }
        Panel {
            title: format!("{}: how fast {} receives ({})", report.network, report.to, report.protocol),
            x: "Mbit/s".into(),
            y: "bursts, %".into(),
            curves: vec![(report.slow.clone(), points)],
        }
    }
}
