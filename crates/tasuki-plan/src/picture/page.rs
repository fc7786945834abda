//! A page that is one file, without scripts, styles or fonts from elsewhere.

use html_escape::encode_quoted_attribute as escape;
use std::fmt::Write;

/// The content of a page.
pub struct Page {
    /// The heading, and the title of the window.
    pub title: String,
    /// Text below the title.
    pub summary: String,
    /// A picture made by [`super::draw`]; may be empty.
    pub picture: String,
    /// The sections below the picture.
    pub sections: Vec<Section>,
}

/// A heading and a table.
pub struct Section {
    /// Heading above the table.
    pub heading: String,
    /// Text below the heading; may be empty.
    pub note: String,
    /// Names of the columns; if empty, the table has no head.
    pub columns: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.5 system-ui,sans-serif;margin:0 \
auto;max-width:76rem;padding:1.5rem;background:#fff;color:#111827}\
h1{font-size:1.5rem;margin:0 0 .3rem}h2{font-size:1.1rem;margin:2rem 0 .3rem}\
p{margin:.2rem 0 .8rem;max-width:60rem}\
figure{margin:1rem 0;border:1px solid #d1d5db;border-radius:8px;overflow:auto;text-align:center}\
figure svg{max-width:100%;min-width:calc(var(--wide)*.6);height:auto}\
figcaption{font-size:.85rem;color:#6b7280;padding:.3rem}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{text-align:left;padding:.22rem .9rem .22rem 0;border-bottom:1px solid #e5e7eb;vertical-align:top}\
th{font-weight:600;border-bottom-color:#9ca3af}\
@media(prefers-color-scheme:dark){body{background:#111827;color:#f3f4f6}figure{border-color:#374151}\
th,td{border-bottom-color:#374151}figcaption{color:#9ca3af}}\
@media print{body{max-width:none}figure svg{min-width:0}section{break-inside:avoid-page}}";

/// Pointing at a part of the picture, or tapping it, shows its cables and the parts that they lead to.
const SCRIPT: &str = "\
const svg=document.querySelector('figure svg');\
if(svg){const parts=[...svg.querySelectorAll('.part')],cables=[...svg.querySelectorAll('.cable')];\
const show=node=>{const near=new Set([node]);\
cables.forEach(c=>{const \
on=node!==null&&(c.dataset.a===node||c.dataset.b===node);c.classList.toggle('lit',on);\
if(on){near.add(c.dataset.a);near.add(c.dataset.b)}});\
parts.forEach(p=>p.classList.toggle('dim',node!==null&&!near.has(p.dataset.node)))};\
parts.forEach(p=>{p.addEventListener('mouseenter',()=>show(p.dataset.node));\
p.addEventListener('mouseleave',()=>show(null));p.addEventListener('click',()=>show(p.dataset.node))})}";

impl Page {
    /// The page as HTML.
    pub fn html(&self) -> String {
        let mut text = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p>{1}</p>\n",
            escape(&self.title),
            escape(&self.summary)
        );
        if !self.picture.is_empty() {
            let _ = writeln!(
                text,
                "<figure>\n{}<figcaption>Square: host. Round: switch. Thick: faster cables. Point at a part \
                 to see its cables; at a cable, to see its ends.</figcaption>\n</figure>",
                self.picture
            );
        }
        for section in &self.sections {
            section.write(&mut text);
        }
        let _ = writeln!(text, "<script>{SCRIPT}</script>\n</body>\n</html>");
        text
    }
}

impl Section {
    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "<section>\n<h2>{}</h2>", escape(&self.heading));
        if !self.note.is_empty() {
            let _ = writeln!(text, "<p>{}</p>", escape(&self.note));
        }
        let row = |tag: &str, cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| format!("<{tag}>{}</{tag}>", escape(c))).collect();
            format!("<tr>{}</tr>\n", cells.concat())
        };
        let _ = writeln!(text, "<div class=\"wide\"><table>");
        if !self.columns.is_empty() {
            let _ = writeln!(text, "<thead>{}</thead>", row("th", &self.columns).trim_end());
        }
        self.rows.iter().for_each(|cells| text.push_str(&row("td", cells)));
        text.push_str("</table></div>\n</section>\n");
    }
}
