//! `tasuki bench rates`: at which rate a message can be sent without loss, computed.

use crate::{
    args::BenchRates,
    failure::Failure,
    terminal::{print_json, table},
};
use serde::Serialize;
use std::process::ExitCode;
use tasuki_rate::{Receiver, Static, paper};

/// One cell.
#[derive(Clone, Debug, Serialize)]
pub struct RateRow {
    /// Whose receiver.
    pub host: String,
    /// M, bytes.
    pub message_bytes: u64,
    /// Equation (2), bit/s; none where the buffer holds the message.
    pub model_bps: Option<f64>,
    /// At which it is sent: no faster than the link, bit/s.
    pub send_bps: f64,
    /// Table 1 of the paper, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_mbps: Option<u32>,
}

/// The rates of some messages to a receiver.
pub fn rows(host: &str, sending: Static, bytes: &[u64]) -> Vec<RateRow> {
    let row = |&message_bytes: &u64| RateRow {
        host: host.into(),
        message_bytes,
        model_bps: sending.receiver.send_rate(message_bytes),
        send_bps: sending.rate_bps(message_bytes),
        published_mbps: None,
    };
    bytes.iter().map(row).collect()
}

/// Runs the command.
pub fn run(arguments: &BenchRates) -> Result<ExitCode, Failure> {
    let rows = match (arguments.drain, arguments.buffer, arguments.link) {
        (Some(drain), Some(buffer_bytes), Some(link)) => {
            let receiver = Receiver { drain_bps: drain.bits_per_second as f64, buffer_bytes };
            rows("receiver", Static { receiver, link_bps: link.bits_per_second as f64 }, &arguments.bytes)
        }
        _ => published(&arguments.bytes),
    };
    if arguments.json {
        print_json(&rows)?;
    } else {
        print!("{}", text(&rows));
    }
    Ok(ExitCode::SUCCESS)
}

/// Table 1: computed, and as printed where it has the length.
fn published(bytes: &[u64]) -> Vec<RateRow> {
    let of = |host: &paper::Host| {
        let mut rows = rows(host.name, host.sending(), bytes);
        for row in &mut rows {
            let at = paper::TABLE1_BYTES.iter().position(|bytes| *bytes == row.message_bytes);
            row.published_mbps = at.map(|at| host.table1_mbps[at]);
        }
        rows
    };
    paper::HOSTS.iter().flat_map(of).collect()
}

/// The rows as a table.
pub fn text(rows: &[RateRow]) -> String {
    let published = rows.iter().any(|row| row.published_mbps.is_some());
    let mega = |bps: f64| format!("{:.0}", bps / 1e6);
    let mut shown = table([""; 0]);
    let header = ["receiver", "message, bytes", "R/(1 - B/M), Mbit/s", "sent at, Mbit/s"];
    shown.set_header(header.into_iter().chain(published.then_some("table 1 of the paper")));
    for row in rows {
        let model = row.model_bps.map_or("any".into(), mega);
        let cells = [row.host.clone(), row.message_bytes.to_string(), model, mega(row.send_bps)];
        let last = row.published_mbps.map_or_else(String::new, |mbps| mbps.to_string());
        shown.add_row(cells.into_iter().chain(published.then_some(last)));
    }
    format!("{shown}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_the_paper_is_shown_beside_its_own() {
        let rows = published(&paper::TABLE1_BYTES);
        assert_eq!(rows.len(), 20);
        for row in &rows {
            let computed = row.model_bps.map(|bps| (bps / 1e6).round() as u32);
            assert_eq!(computed, row.published_mbps, "{row:?}");
            assert!(row.send_bps <= paper::LINK_BPS);
        }
        let text = text(&rows);
        assert!(text.contains("137") && text.contains("SS20") && text.contains("table 1"), "{text}");
    }
}
