//! The profile as a web page in one file, which needs no other one.

use std::fmt::Write;

use html_escape::encode_quoted_attribute as text;
use tasuki_terminal::bytes;

use crate::arrays::Array;
use crate::profile::Profile;
use crate::text::{head, percent, seconds};

/// The style sheet of the page.
const STYLE: &str = include_str!("html.css");
/// Rows of each table.
const ROWS: usize = 100;
/// Arrays whose maps are drawn.
const MAPS: usize = 12;
/// The least share of all waiting for pages of which a map is drawn.
const MAP_SHARE: f64 = 0.01;
/// Width and height of a part of an array in its map, pixels.
const PART: (usize, usize) = (8, 16);

/// The page.
pub fn page(profile: &Profile) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>{0}</title><style>{STYLE}</style><h1>{0}: memory across hosts</h1><p>{1}</p>",
        text(&profile.program),
        text(&head(profile))
    );
    advice(&mut page, profile);
    maps(&mut page, &profile.arrays);
    regions(&mut page, profile);
    lines(&mut page, profile);
    arrays(&mut page, profile);
    page.push_str("</html>\n");
    page
}

/// The profile for other programs.
pub fn json(profile: &Profile) -> String {
    // Its parts are lists, numbers and texts, so that nothing can fail.
    serde_json::to_string_pretty(profile).unwrap_or_default()
}

/// A table with a heading, of rows of cells that are HTML already, the first `texts` of which are texts.
fn table(
    page: &mut String,
    title: &str,
    texts: usize,
    names: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) {
    let class = |column: usize| if column < texts { " class=text" } else { "" };
    let _ = write!(page, "<h2>{title}</h2><div class=wide><table><tr>");
    let header = names.iter().enumerate().map(|(column, name)| format!("<th{}>{name}", class(column)));
    header.for_each(|cell| page.push_str(&cell));
    for row in rows.take(ROWS) {
        page.push_str("<tr>");
        let cells = row.iter().enumerate().map(|(column, cell)| format!("<td{}>{cell}", class(column)));
        cells.for_each(|cell| page.push_str(&cell));
    }
    page.push_str("</table></div>");
}

fn advice(page: &mut String, profile: &Profile) {
    for advice in &profile.advice {
        let (about, said) = (text(&advice.about), text(&advice.text));
        let _ = write!(page, "<p class=advice><b>{about}</b> ({} s): {said}.</p>", seconds(advice.seconds));
    }
}

/// Where in its arrays each process waits: one row for each process, from the first byte to the last.
fn maps(page: &mut String, arrays: &[Array]) {
    let worth = arrays.iter().map(|array| array.seconds).sum::<f64>() * MAP_SHARE;
    let drawn = || arrays.iter().take(MAPS).filter(|array| array.seconds > worth);
    if drawn().next().is_none() {
        return;
    }
    page.push_str("<h2>Where processes wait for pages</h2>");
    for array in drawn() {
        let most = array.map.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
        let parts = array.map.first().map_or(0, Vec::len);
        let (width, height) = (parts * PART.0, array.map.len() * PART.1);
        let name = text(&array.name);
        let _ = write!(
            page,
            "<h3>{name} <small>{}, {} s; darkest: {} s in one part</small></h3><div class=wide>\
             <div class=map><div class=ranks>",
            bytes(array.bytes),
            seconds(array.seconds),
            seconds(most)
        );
        (0..array.map.len()).for_each(|rank| page.push_str(&format!("<span>{rank}</span>")));
        let _ = write!(page, "</div><svg role=img aria-label='{name}' width={width} height={height}>");
        let _ = write!(page, "<rect class=empty width={width} height={height}></rect>");
        for (rank, row) in array.map.iter().enumerate() {
            for (part, &waited) in row.iter().enumerate().filter(|(_, waited)| **waited > 0.0) {
                let (x, y) = (part * PART.0, rank * PART.1);
                let (w, h) = (PART.0, PART.1 - 1);
                let opacity = 0.15 + 0.85 * waited / most;
                let _ = write!(
                    page,
                    "<rect class=waits x={x} y={y} width={w} height={h} fill-opacity={opacity:.2}><title>\
                     rank {rank}, part {} of {parts}: {} s</title></rect>",
                    part + 1,
                    seconds(waited)
                );
            }
        }
        page.push_str("</svg></div></div>");
    }
    page.push_str(
        "<p class=note>A row for each process; from left to right the array's first byte to its last.</p>",
    );
}

fn regions(page: &mut String, profile: &Profile) {
    let rows = profile.regions.iter().map(|region| {
        let computing: Vec<String> = region.computing.iter().map(|&computed| seconds(computed)).collect();
        vec![
            text(region.place.as_deref().unwrap_or("between regions")).into_owned(),
            region.times.to_string(),
            seconds(region.seconds),
            percent(region.waits.pages),
            percent(region.waits.barriers),
            percent(region.waits.locks),
            computing.join(" &middot; "),
        ]
    });
    let names =
        ["region", "times", "s", "waits for pages", "at barriers", "for locks", "each process computes, s"];
    table(page, "Parallel regions", 1, &names, rows);
}

fn lines(page: &mut String, profile: &Profile) {
    let rows = profile.lines.iter().map(|line| {
        let does = if line.writes { "writes" } else { "reads" };
        let (place, array) = (text(&line.place).into_owned(), text(&line.array).into_owned());
        vec![place, array, does.to_owned(), line.faults.to_string(), seconds(line.seconds)]
    });
    table(page, "Lines that wait for pages", 3, &["line", "of", "does", "waits", "s"], rows);
}

fn arrays(page: &mut String, profile: &Profile) {
    let rows = profile.arrays.iter().flat_map(|array| {
        array.pages.iter().map(|pages| {
            vec![
                text(&array.name).into_owned(),
                pages.why.word().to_owned(),
                bytes(array.bytes),
                pages.pages.to_string(),
                pages.early.to_string(),
                pages.faults.to_string(),
                seconds(pages.seconds),
            ]
        })
    });
    let names = ["memory", "why pages move", "size", "pages", "came early", "waits", "s"];
    table(page, "Memory whose pages move", 2, &names, rows);
    page.push_str(
        "<p class=note>A wait is of one thread for one page of 4096 bytes. Words that are read are known by \
         the first one that was touched each time.</p>",
    );
}
