//! A report as a page that needs nothing else.

use crate::finding::{Finding, Report};
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#222}\
h1{font-size:1.4em}table{border-collapse:collapse;margin:.5em 0 2em}td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left;\
font-variant-numeric:tabular-nums}.f{border-left:5px solid #c0392b;padding:.3em 1em;margin:1em 0;background:#fdf3f2}.w{border-color:#d68910;\
background:#fef9ef}.ok{border-color:#1e8449;background:#f0f9f3}ul{margin:.3em 0}small{color:#666}";

fn text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The page.
pub fn page(report: &Report) -> String {
    let mut page = String::new();
    let stages: Vec<_> = report.stages.iter().map(u8::to_string).collect();
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "<!doctype html><meta charset=utf-8><title>{0}: check</title><style>{STYLE}</style><h1>Cluster {0}</h1>\
         <p>Stages {1}, {2:.0} s, seed {3}</p>",
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
