//! A report as a web page in one file.

use crate::finding::{Finding, Report};
use html_escape::encode_quoted_attribute as text;
use std::{
    fmt::Write,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The style sheet of the page.
const STYLE: &str = include_str!("html.css");

/// Names of the parts at fault, as reports write them: `n1:eth1 - n2:eth1` for a cable, `n1:eth1` for a NIC.
/// Warnings are left out.
pub fn faults(report: &Report) -> Vec<&str> {
    report.findings.iter().filter(|finding| !finding.warning).map(|finding| finding.part.name()).collect()
}

/// The verdict in a few words: how many faults and warnings there are.
pub fn verdict(report: &Report) -> String {
    let plural = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let faults = faults(report).len();
    match (faults, report.findings.len() - faults) {
        (0, 0) => "nothing found".into(),
        (faults, warnings) => format!("{}, {}", plural(faults, "fault"), plural(warnings, "warning")),
    }
}

/// A time as `2026-11-24 17:30 UTC`. The date follows from the days since 1970 as in Howard Hinnant's
/// "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    // Years begin in March, so that the day of a leap year is the last one; eras have 400 years.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + 400 * era + u64::from(month <= 2);
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// The page of a report that was made at `time`. `picture` is the cabling as SVG with the parts at fault
/// marked ([`faults`]); it may be empty.
pub fn page(report: &Report, time: SystemTime, picture: &str) -> String {
    let mut page = String::new();
    let stages: Vec<_> = report.stages.iter().map(u8::to_string).collect();
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "<!doctype html><meta charset=utf-8><title>{0}: check</title><style>{STYLE}</style><h1>Cluster \
         {0}: {4}</h1><p>{5}, tasuki {6}; stages {1}, {2:.0} s, seed {3}</p>",
        text(&report.cluster),
        stages.join(", "),
        report.seconds,
        report.seed,
        verdict(report),
        date(time),
        env!("CARGO_PKG_VERSION")
    );
    if !picture.is_empty() {
        let _ = write!(page, "<figure>{picture}<figcaption>Red: at fault.</figcaption></figure>");
    }
    if report.findings.is_empty() {
        page.push_str("<div class='f ok'>Nothing was found.</div>");
    }
    for finding in &report.findings {
        one(&mut page, finding);
    }
    for (title, names, rows) in &report.tables {
        let _ = write!(page, "<h2>{}</h2><table><tr>", text(title));
        names.iter().for_each(|name| page.push_str(&format!("<th>{}", text(name))));
        for row in rows {
            page.push_str("<tr>");
            row.iter().for_each(|cell| page.push_str(&format!("<td>{}", text(cell))));
        }
        page.push_str("</table>");
    }
    page
}

fn one(page: &mut String, finding: &Finding) {
    let class = if finding.warning { "f w" } else { "f" };
    let _ = write!(
        page,
        "<div class='{class}'><b>{}</b><br>{}<ul>",
        text(&finding.part.to_string()),
        text(&finding.says)
    );
    finding.evidence.iter().for_each(|seen| page.push_str(&format!("<li>{}", text(seen))));
    let _ = write!(page, "</ul><small>{}</small></div>", text(&finding.advice));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Kind, Part};

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        // date -u -d @N
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59 UTC"),
            (1_795_541_400, "2026-11-24 17:30 UTC"),
        ] {
            assert_eq!(at(seconds), text);
        }
    }

    #[test]
    fn the_page_begins_with_verdict_date_version_and_cabling() {
        let cable = Part::Cable("n1:eth1 - n2:eth1".into());
        let fault = Finding::new(1, Kind::Dead, cable, "No frames pass.", "Replace it.");
        let host = Finding::new(1, Kind::Load, Part::Host("n3".into()), "Busy.", "Wait.").as_warning();
        let report = Report { cluster: "c".into(), findings: vec![fault, host], ..Report::default() };
        assert_eq!(faults(&report), ["n1:eth1 - n2:eth1"]);
        let page = page(&report, UNIX_EPOCH, "<svg>the cabling</svg>");
        let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part} is missing in {page}"));
        let version = concat!("tasuki ", env!("CARGO_PKG_VERSION"));
        let order = ["c: 1 fault, 1 warning", "1970-01-01", version, "the cabling", "No frames pass."];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{page}");
        let good = super::page(&Report::default(), UNIX_EPOCH, "");
        assert!(good.contains("nothing found") && !good.contains("figure>"));
    }
}
