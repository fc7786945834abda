//! `tasuki topo receivers`: simulates figures 5 to 7 of the ATM paper, and many senders at once.

use serde::Serialize;
use std::process::ExitCode;
use tasuki_args::{ReceiversArgs, write_all};
use tasuki_bench::plot::{Panel, lines};
use tasuki_paper::{Data, atm};
use tasuki_rate::Sent;
use tasuki_sim::transport::{
    ALL_GRANTING, ALL_PACINGS, ALL_SHORT_LANES, Congestion, Pacing, Receivers, Traffic,
};
use tasuki_terminal::{Failure, print_json, progress_bar, table};

/// One point of a figure.
#[derive(Serialize)]
struct Row {
    /// Name of the case: which hosts send and receive.
    case: &'static str,
    /// Number of the figure of the paper, if it has this case.
    figure: Option<u8>,
    message_bytes: u64,
    /// The most that the receiver can take and the sender can send, mean, Mbit/s.
    most_mbps: f64,
    way: &'static str,
    /// Payload from request to completion, mean, Mbit/s.
    mbps: f64,
    /// Share of the packets of a message that is lost, mean, %.
    lost_percent: f64,
    /// The statement of the paper about the case.
    published: Option<String>,
}

/// A case with many senders.
#[derive(Serialize)]
struct CrowdRow {
    crowd: &'static str,
    /// How receivers grant senders to send.
    way: &'static str,
    /// How short messages are sent; `raw, first` means through ports that send tagged frames first.
    short: &'static str,
    goodput_percent: f64,
    fairness: f64,
    resent_percent: f64,
    dropped_percent: f64,
    idle_us: f64,
    p99_us: f64,
}

/// Runs the command.
pub fn run(arguments: &ReceiversArgs) -> Result<ExitCode, Failure> {
    if arguments.crowd {
        return crowds(arguments.json);
    }
    if let Some(bytes) = arguments.sizes.iter().find(|bytes| !(1..=100_000_000).contains(*bytes)) {
        return Err(Failure::usage(format!("--sizes {bytes}: messages have 1 to 100000000 bytes")));
    }
    let cases = Receivers::all();
    if let Some(folder) = &arguments.plots {
        arguments.overwrite.check_in(folder, cases.iter().map(plot_file))?;
    }
    let data = Data::built_in()?;
    let said = |case: &Receivers, pacing| atm::said(&data.atm, case.figure?, pacing);
    let points = (cases.len() * arguments.sizes.len() * ALL_PACINGS.len()) as u64;
    let bar = progress_bar(points).with_prefix("receivers");
    let mut rows = Vec::new();
    for case in &cases {
        for &message_bytes in &arguments.sizes {
            for way in ALL_PACINGS {
                bar.set_message(format!("{}, {}", case.name, way.name()));
                let sent =
                    case.send(message_bytes, way).map_err(|failure| Failure::new(failure.complaint))?;
                let (mbps, lost_percent) = mean(message_bytes, &sent);
                let (figure, most_mbps) = (case.figure, case.most_bps() / 1e6);
                let published = said(case, way);
                let (case, way) = (case.name, way.name());
                rows.push(Row { case, figure, message_bytes, most_mbps, way, mbps, lost_percent, published });
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    if let Some(folder) = &arguments.plots {
        write_all(folder, &plots(&rows)?, &arguments.overwrite)?;
    }
    if arguments.json {
        print_json(&rows)?;
    } else {
        print(&rows);
    }
    Ok(ExitCode::SUCCESS)
}

/// Mean throughput in Mbit/s and loss in per cent.
fn mean(message: u64, sent: &[Sent]) -> (f64, f64) {
    let n = sent.len().max(1) as f64;
    let mbps = sent.iter().map(|sent| message as f64 * 8e-6 / sent.seconds).sum::<f64>() / n;
    (mbps, 100.0 * sent.iter().map(|sent| sent.lost).sum::<f64>() / n)
}

fn print(rows: &[Row]) {
    let mut shown = table(["", "bytes", "at most", "way", "Mbit/s", "lost, %", "the paper says"]);
    for row in rows {
        let case = row.figure.map_or(row.case.into(), |figure| format!("{} (figure {figure})", row.case));
        shown.add_row([
            case,
            row.message_bytes.to_string(),
            format!("{:.1}", row.most_mbps),
            row.way.into(),
            format!("{:.1}", row.mbps),
            format!("{:.2}", row.lost_percent),
            row.published.clone().unwrap_or_default(),
        ]);
    }
    println!("{shown}");
}

/// Writes a plot per case: throughput and loss over the length of messages.
fn plots(rows: &[Row]) -> Result<Vec<(String, String)>, Failure> {
    let mut files: Vec<(String, String)> = Vec::new();
    for case in Receivers::all() {
        let curves = |of: fn(&Row) -> f64| {
            let curve = |way: Pacing| {
                let own = rows.iter().filter(|row| row.case == case.name && row.way == way.name());
                let points = own.map(|row| (row.message_bytes as f64 / 1e6, of(row))).collect();
                let own_said = rows.iter().find(|row| row.case == case.name && row.way == way.name());
                let said = own_said.and_then(|row| row.published.as_ref());
                let said = said.map_or_else(String::new, |said| format!(" (paper: {said})"));
                (format!("{}{said}", way.name()), points)
            };
            ALL_PACINGS.into_iter().map(curve).collect()
        };
        let panel = |y: &str, of| Panel {
            title: case.name.into(),
            x: "message, MB".into(),
            y: y.into(),
            curves: curves(of),
        };
        let panels = [panel("Mbit/s", |row| row.mbps), panel("packets lost, %", |row| row.lost_percent)];
        files.push((plot_file(&case), lines(&panels)?));
    }
    Ok(files)
}

/// The name of the file with the plot of a case.
fn plot_file(case: &Receivers) -> String {
    format!("receivers-{}.svg", case.name.replace([' ', ','], "-"))
}

fn crowds(json: bool) -> Result<ExitCode, Failure> {
    let crowds = [(Traffic::Incast, "16 to 1"), (Traffic::AllToAll, "all to all of 16")];
    let ways = ALL_GRANTING.into_iter().flat_map(|granting| ALL_SHORT_LANES.map(|short| (granting, short)));
    let bar = progress_bar((crowds.len() * ways.clone().count()) as u64).with_prefix("crowd");
    let mut rows = Vec::new();
    for (crowd, name) in crowds {
        for (granting, short) in ways.clone() {
            bar.set_message(format!("{name}, {}, {}", granting.name(), short.name()));
            let plan = Congestion { short, ..Congestion::new(crowd, granting) };
            let got = plan.measure().map_err(|failure| Failure::new(failure.complaint))?;
            rows.push(CrowdRow {
                crowd: name,
                way: granting.name(),
                short: short.name(),
                goodput_percent: 100.0 * got.goodput,
                fairness: got.fairness,
                resent_percent: 100.0 * got.resent,
                dropped_percent: 100.0 * got.dropped,
                idle_us: got.idle_ns as f64 / 1e3,
                p99_us: got.p99_ns as f64 / 1e3,
            });
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    if json {
        print_json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut shown = table([
        "",
        "way",
        "short go",
        "goodput, %",
        "Jain",
        "resent, %",
        "dropped, %",
        "64 B idle, us",
        "64 B p99 meanwhile, us",
    ]);
    for row in &rows {
        shown.add_row([
            row.crowd.into(),
            row.way.into(),
            row.short.into(),
            format!("{:.1}", row.goodput_percent),
            format!("{:.3}", row.fairness),
            format!("{:.2}", row.resent_percent),
            format!("{:.2}", row.dropped_percent),
            format!("{:.1}", row.idle_us),
            format!("{:.1}", row.p99_us),
        ]);
    }
    println!("{shown}");
    Ok(ExitCode::SUCCESS)
}
