//! The rate at which a message can be sent without loss, computed from the properties of its receiver.

use crate::table::borderless;
use serde::Serialize;
use tasuki_rate::{Static, paper};

/// A message to a receiver.
#[derive(Clone, Debug, Serialize)]
pub struct RateRow {
    /// Name of the receiver.
    pub host: String,
    /// M: length of the message, bytes.
    pub message_bytes: u64,
    /// The rate by equation (2), bit/s; `None` if the buffer holds the whole message.
    pub model_bps: Option<f64>,
    /// The rate at which it is sent, at most that of the link, bit/s.
    pub send_bps: f64,
    /// The value of table 1 of the paper, Mbit/s; `None` for messages that the table lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_mbps: Option<u32>,
}

/// The rates of messages of these lengths to a receiver.
pub fn rates(host: &str, sending: Static, bytes: &[u64]) -> Vec<RateRow> {
    let row = |&message_bytes: &u64| RateRow {
        host: host.into(),
        message_bytes,
        model_bps: sending.receiver.send_rate(message_bytes),
        send_bps: sending.rate_bps(message_bytes),
        published_mbps: None,
    };
    bytes.iter().map(row).collect()
}

/// Table 1 of the paper, computed for messages of these lengths, beside the published value for those that it
/// has.
pub fn published_rates(bytes: &[u64]) -> Vec<RateRow> {
    let of = |host: &paper::Host| {
        let mut rows = rates(host.name, host.sending(), bytes);
        for row in &mut rows {
            let at = paper::TABLE1_BYTES.iter().position(|bytes| *bytes == row.message_bytes);
            row.published_mbps = at.map(|at| host.table1_mbps[at]);
        }
        rows
    };
    paper::HOSTS.iter().flat_map(of).collect()
}

/// The rates as a table for a terminal.
pub fn rates_table(rows: &[RateRow]) -> String {
    let published = rows.iter().any(|row| row.published_mbps.is_some());
    let mega = |bps: f64| format!("{:.0}", bps / 1e6);
    let header = ["receiver", "message, bytes", "R/(1 - B/M), Mbit/s", "sent at, Mbit/s"];
    let mut shown = borderless(header.into_iter().chain(published.then_some("table 1")));
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
        let rows = published_rates(&paper::TABLE1_BYTES);
        assert_eq!(rows.len(), 20);
        for row in &rows {
            let computed = row.model_bps.map(|bps| (bps / 1e6).round() as u32);
            assert_eq!(computed, row.published_mbps, "{row:?}");
            assert!(row.send_bps <= paper::LINK_BPS);
        }
        let text = rates_table(&rows);
        // A terminal has 80 columns.
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("137") && text.contains("SS20") && text.contains("table 1"), "{text}");
    }
}
