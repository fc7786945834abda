//! What a command says to people: tables, paragraphs, progress bars, verdicts, JSON and failures, on a
//! terminal of any width and where there is none, without a character that a terminal would obey.

#[macro_use]
mod output;

mod failure;
mod labels;
mod table;
mod terminal;
mod units;

pub use crate::{
    failure::{Failure, NOT_STARTED},
    labels::Labels,
    output::{end, in_a_line, put, put_error, put_text, visible, visible_json, written},
    table::{Rows, lines, table},
    terminal::{
        TEXT_COLUMNS, Verdict, counted, paragraph, percent_bar, print_json, print_json_line, print_verdict,
        progress_bar, width,
    },
    units::bytes,
};
