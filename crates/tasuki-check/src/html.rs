//! A report as a web page in one file.

use crate::finding::{Finding, Report};
use std::fmt::Write;

/// The style sheet of the page.
const STYLE: &str = include_str!("html.css");

fn text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The page of a report.
pub fn page(report: &Report) -> String {
    let mut page = String::new();
    let stages: Vec<_> = report.stages.iter().map(u8::to_string).collect();
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "<!doctype html><meta charset=utf-8><title>{0}: check</title><style>{STYLE}</style><h1>Cluster \
         {0}</h1><p>Stages {1}, {2:.0} s, seed {3}</p>",
        text(&report.cluster),
        stages.join(", "),
        report.seconds,
        report.seed
    );
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
