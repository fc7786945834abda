//! The record as a web page in one file, which needs no other one.

use crate::figures::{Pair, RankTime, Report};
use html_escape::encode_quoted_attribute as text;
use std::fmt::Write;

/// The style sheet of the page.
const STYLE: &str = include_str!("html.css");
/// Pairs of ranks that the page lists.
const PAIRS_MAX: usize = 20;
/// Width of a bar that stands for all of something, pixels.
const BAR: f64 = 320.0;
/// Classes of the parts of a rank's bar, in order.
const PARTS: [&str; 3] = ["computing", "receiving", "sending"];

/// The page of a job that ended at the time `ended`, in words.
pub fn page(report: &Report, ended: &str) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>{0}</title><style>{STYLE}</style><h1>{0}</h1><p>{1} ranks, {2:.2} s from start to end, ended \
         {3}; in MPI for {4:.0} % of the ranks' time. tasuki {5}.</p>",
        text(&report.program),
        report.ranks.len(),
        report.seconds,
        text(ended),
        report.share_in_mpi() * 100.0,
        env!("CARGO_PKG_VERSION")
    );
    for warning in &report.warnings {
        let _ = write!(page, "<p class=warning>{}</p>", text(warning));
    }
    ranks(&mut page, &report.ranks);
    pairs(&mut page, &report.pairs);
    sizes(&mut page, report);
    nics(&mut page, report);
    page.push_str("</html>\n");
    page
}

/// A table with a heading, of rows of cells that are HTML already.
fn table(page: &mut String, title: &str, names: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let _ = write!(page, "<h2>{title}</h2><div class=wide><table><tr>");
    names.iter().for_each(|name| page.push_str(&format!("<th>{name}")));
    for row in rows {
        page.push_str("<tr>");
        row.iter().for_each(|cell| page.push_str(&format!("<td>{cell}")));
    }
    page.push_str("</table></div>");
}

/// A bar of parts, each with its class and its share of the whole width.
fn bar(parts: &[(&str, f64)], label: &str) -> String {
    let mut at = 0.0;
    let mut bar = format!("<svg class=bar role=img aria-label='{}' width={BAR} height=14>", text(label));
    for (class, share) in parts {
        let width = share.clamp(0.0, 1.0) * BAR;
        let _ = write!(bar, "<rect class={class} x={at:.1} width={width:.1} height=14></rect>");
        at += width;
    }
    bar + "</svg>"
}

fn ranks(page: &mut String, ranks: &[RankTime]) {
    let longest = ranks.iter().map(RankTime::seconds).fold(f64::MIN_POSITIVE, f64::max);
    let row = |rank: &RankTime| {
        let times = [rank.computing, rank.receiving, rank.sending];
        let parts: Vec<(&str, f64)> =
            PARTS.iter().zip(times).map(|(class, seconds)| (*class, seconds / longest)).collect();
        let label = format!(
            "computing {:.2} s, receiving {:.2} s, sending {:.2} s",
            rank.computing, rank.receiving, rank.sending
        );
        let mut cells = vec![rank.rank.to_string(), bar(&parts, &label)];
        cells.extend(times.map(|seconds| format!("{seconds:.3}")));
        cells.extend([rank.messages.to_string(), megabytes(rank.bytes)]);
        cells
    };
    let names = [
        "rank",
        "",
        "<span class=computing>&#9632;</span> computing s",
        "<span class=receiving>&#9632;</span> receiving s",
        "<span class=sending>&#9632;</span> sending s",
        "messages",
        "MB sent",
    ];
    table(page, "What ranks did", &names, ranks.iter().map(row));
    page.push_str(
        "<p class=note>From each rank's first message on. Receiving and sending is time in MPI until \
                   the rank went on; waiting is in it.</p>",
    );
}

fn pairs(page: &mut String, pairs: &[Pair]) {
    let row = |pair: &Pair| {
        vec![
            format!("{} to {}", pair.from, pair.to),
            format!("{:.3}", pair.waited),
            pair.messages.to_string(),
            megabytes(pair.bytes),
        ]
    };
    let names = ["ranks", "receiver in MPI s", "messages", "MB"];
    table(page, "Pairs that are waited for longest", &names, pairs.iter().take(PAIRS_MAX).map(row));
    if pairs.len() > PAIRS_MAX {
        let _ = write!(page, "<p class=note>{PAIRS_MAX} of {} pairs; JSON has all.</p>", pairs.len());
    }
}

fn sizes(page: &mut String, report: &Report) {
    let most = report.sizes.iter().map(|class| class.messages).max().unwrap_or(1).max(1);
    let rows = report.sizes.iter().map(|class| {
        let share = class.messages as f64 / most as f64;
        vec![
            format!("up to {} B", class.longest),
            bar(&[("computing", share)], &format!("{} messages", class.messages)),
            class.messages.to_string(),
            megabytes(class.bytes),
        ]
    });
    table(page, "Messages by size", &["size", "", "messages", "MB"], rows);
}

fn nics(page: &mut String, report: &Report) {
    let most = report.nics.iter().map(|nic| nic.sent_bytes.max(nic.received_bytes)).max().unwrap_or(1).max(1);
    let rows = report.nics.iter().map(|nic| {
        let share = nic.sent_bytes as f64 / most as f64;
        let of_line = nic.bits_per_second.filter(|_| report.seconds > 0.0).map_or("-".into(), |rate| {
            format!("{:.0} %", nic.sent_bytes as f64 * 800.0 / report.seconds / rate as f64)
        });
        vec![
            format!("{}:{}", text(&nic.host), text(&nic.nic)),
            text(nic.to.as_deref().unwrap_or("-")).into_owned(),
            bar(&[("sending", share)], &format!("{} MB sent", megabytes(nic.sent_bytes))),
            megabytes(nic.sent_bytes),
            megabytes(nic.received_bytes),
            of_line,
            nic.errors.to_string(),
            nic.dropped.to_string(),
        ]
    });
    let names = ["NIC", "to", "", "MB sent", "MB received", "of line", "errors", "dropped"];
    table(page, "What NICs carried", &names, rows);
    page.push_str("<p class=note>All that passed while the job ran, that of other programs too.</p>");
}

fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 10.0 { format!("{megabytes:.3}") } else { format!("{megabytes:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_load::NicUse;

    #[test]
    fn names_are_no_markup_and_bars_have_the_width_of_their_shares() {
        let report = Report {
            program: "<script>a</script> 'x'".into(),
            seconds: 2.0,
            ranks: vec![
                RankTime { rank: 0, computing: 3.0, receiving: 1.0, ..RankTime::default() },
                RankTime { rank: 1, computing: 2.0, ..RankTime::default() },
            ],
            nics: vec![NicUse { host: "n<1>".into(), nic: "eth1".into(), ..NicUse::default() }],
            ..Report::default()
        };
        let page = page(&report, "now");
        assert!(!page.contains("<script") && page.contains("n&lt;1&gt;:eth1"), "{page}");
        assert!(page.contains("<rect class=computing x=0.0 width=240.0 height=14>"), "{page}");
        assert!(page.contains("<rect class=computing x=0.0 width=160.0 height=14>"), "{page}");
        assert!(page.contains("<rect class=receiving x=240.0 width=80.0 height=14>"), "{page}");
        assert!(!page.contains("http"), "it needs nothing from elsewhere");
    }
}
