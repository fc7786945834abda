//! The report as a page that needs nothing else.

use crate::cell::{Cell, Standing};
use crate::judge::Tally;
use crate::paper::Paper;
use html_escape::encode_quoted_attribute as escaped;
use std::fmt::Write;

const STYLE: &str = "body{font:14px/1.5 sans-serif;max-width:72em;margin:2em auto;padding:0 1em}\
    table{border-collapse:collapse;width:100%}td,th{padding:.2em .6em;border-bottom:1px solid #ddd;\
    text-align:left;vertical-align:top}td.n{text-align:right;white-space:nowrap}\
    tr.agrees td.v{background:#dff3df}tr.differs td.v{background:#f8dcdc}tr.input,tr.notrun{color:#666}\
    small{color:#666}";

/// The page. `notes` are what was run besides; `commands` what a reader types to see it again.
pub fn page(paper: Paper, cells: &[Cell], notes: &[String], commands: &[String]) -> String {
    let mut text = format!(
        "<!doctype html><html lang=\"en\"><head><meta \
         charset=\"utf-8\"><title>{0}</title><style>{STYLE}</style> </head><body><h1>{0}</h1><p>{1}</p>",
        escaped(paper.title()),
        escaped(&summary(&Tally::of(cells)))
    );
    text += "<table><tr><th>item</th><th>cell</th><th>unit</th><th>published</th><th>here</th><th>range</th>\
             <th>agrees if</th><th>verdict</th></tr>\n";
    for cell in cells {
        row(&mut text, cell);
    }
    text += "</table>\n";
    list(&mut text, "Run besides", notes);
    list(&mut text, "Commands", commands);
    text + "</body></html>\n"
}

fn row(text: &mut String, cell: &Cell) {
    let class = match cell.standing() {
        Standing::Input => "input",
        Standing::Agrees => "agrees",
        Standing::Differs => "differs",
        Standing::NotRun => "notrun",
        Standing::Part => "part",
    };
    let here = cell.here.map_or_else(String::new, figure);
    let range =
        cell.range.map_or_else(String::new, |[low, high]| format!("{} to {}", figure(low), figure(high)));
    let note = if cell.note.is_empty() {
        String::new()
    } else {
        format!("<br><small>{}</small>", escaped(&cell.note))
    };
    let _ = writeln!(
        text,
        "<tr class=\"{class}\"><td>{}</td><td>{}{note}</td><td>{}</td><td class=\"n\">{}</td><td \
         class=\"n\">{here} </td><td class=\"n\">{range}</td><td>{}</td><td class=\"v\">{}</td></tr>",
        escaped(cell.item),
        escaped(&cell.cell),
        escaped(cell.unit),
        figure(cell.published),
        escaped(&cell.rule),
        escaped(&verdict(cell))
    );
}

fn list(text: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "<h2>{title}</h2><ul>");
    for line in lines {
        let _ = write!(text, "<li>{}</li>", escaped(line));
    }
    *text += "</ul>\n";
}

/// The verdict in words.
pub fn verdict(cell: &Cell) -> String {
    match (cell.standing(), cell.agrees) {
        (Standing::Input, _) => "input".into(),
        (Standing::NotRun, _) => "not run".into(),
        (Standing::Part, Some(true)) => "part: yes".into(),
        (Standing::Part, Some(false)) => "part: NO".into(),
        (Standing::Part, None) => "part: not run".into(),
        (_, Some(true)) => "yes".into(),
        (_, _) => "NO".into(),
    }
}

/// The counts in words.
pub fn summary(tally: &Tally) -> String {
    let Tally { input, agrees, differs, not_run, parts } = tally;
    let mut text = format!(
        "{input} inputs; of {} predicted figures that were run {agrees} agree and {differs} do not; \
         {not_run} were not run",
        agrees + differs
    );
    if *parts > 0 {
        let _ = write!(text, "; {parts} more are parts of these");
    }
    text
}

/// A figure with as many digits as it needs.
pub fn figure(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size if size >= 1000.0 => 0,
        size if size >= 10.0 => 2,
        size if size >= 0.1 => 3,
        _ => 5,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Claim, Findings};
    use crate::judge::judge;
    use crate::rule::Rule;

    #[test]
    fn the_page_has_every_cell_and_no_markup_of_others() {
        let claims = [Claim::new("T1", "a <b> & \"c\"", "us", 2.5, Rule::Percent(2.0))];
        let mut found = Findings::default();
        found.put("T1", "a <b> & \"c\"", 9.0);
        let cells = judge("rhinet2", &claims, &found);
        let page = page(Paper::Rhinet2, &cells, &["a note".into()], &[]);
        for part in
            ["a &lt;b&gt; &amp; &quot;c&quot;", "<td class=\"v\">NO</td>", "a note", "0 agree and 1 do not"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<b>"));
    }

    #[test]
    fn figures_have_the_digits_that_they_need() {
        let texts = [0.0, 0.0185, 0.348_6, 47.83, 1024.0, 65536.0].map(figure);
        assert_eq!(texts, ["0", "0.0185", "0.349", "47.83", "1024", "65536"]);
    }
}
