//! The table as text, at most 80 columns wide.

use super::Chosen;
use std::fmt::Write;
use tasuki_tuning::variables::{Reader, Variable};
use tasuki_tuning::{Constant, Measure, groups, readable};

const WIDTH: usize = 80;

/// Constants by group, then variables by reader.
pub fn table(chosen: &Chosen) -> String {
    let mut out = String::new();
    for group in groups() {
        let of_group = chosen.constants.iter().filter(|constant| constant.group == group.name);
        let rows: Vec<String> = of_group.map(|constant| row_of(constant)).collect();
        section(&mut out, group.name, group.about, &rows);
    }
    for reader in Reader::ALL {
        let read = chosen.variables.iter().filter(|variable| variable.readers.first() == Some(&reader));
        let rows: Vec<String> = read.map(|variable| row_of_variable(variable)).collect();
        section(&mut out, "variables", &format!("Environment variables of {reader}."), &rows);
    }
    out
}

fn section(out: &mut String, title: &str, about: &str, rows: &[String]) {
    if rows.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&wrapped(about, &format!("{title}\n  "), "  ", ""));
    rows.iter().for_each(|row| out.push_str(row));
}

fn row_of(constant: &Constant) -> String {
    let mut row = format!("\n  {:<34} {}", constant.full_name(), constant.readable());
    if constant.is_changed() {
        let _ = write!(row, ", here {}", readable(constant.value, constant.unit));
    }
    row.push('\n');
    paragraph(&mut row, constant.meaning);
    paragraph(&mut row, &format!("Why: {}", constant.why));
    if constant.gain.is_empty() {
        paragraph(&mut row, "Gain: nobody has measured it.");
    } else {
        paragraph(&mut row, &format!("Gain: {}.", constant.gain));
    }
    if constant.adr > 0 {
        paragraph(&mut row, &format!("Decision {} in docs/adr.", constant.adr));
    }
    if let Measure::Bound { other, then } = constant.measure {
        paragraph(&mut row, &format!("No test or benchmark shows the effect of {other}. With it {then}."));
    }
    if let Some(command) = constant.command() {
        row.push_str(&wrapped(&command, "    $ ", "      ", " \\"));
    }
    row
}

fn row_of_variable(variable: &Variable) -> String {
    let mut row = format!("\n  {:<26} {}", variable.name, variable.values);
    if row.len() > WIDTH {
        row = wrapped(&variable.values.to_string(), &format!("\n  {:<26} ", variable.name), "      ", "");
        row.pop();
    }
    row.push('\n');
    if !variable.default.is_empty() {
        paragraph(&mut row, &format!("Default: {}.", variable.default));
    }
    if let Some(value) = super::value_here(variable) {
        paragraph(&mut row, &format!("Set here: {value}"));
    }
    paragraph(&mut row, variable.meaning);
    row
}

fn paragraph(out: &mut String, text: &str) {
    out.push_str(&wrapped(text, "    ", "      ", ""));
}

/// The text in lines of at most [`WIDTH`] columns. The first begins with `first`, the others with `next`, and
/// all but the last end with `end`.
fn wrapped(text: &str, first: &str, next: &str, end: &str) -> String {
    let (mut out, mut line) = (String::new(), first.to_owned());
    let mut is_begun = false;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let columns =
            line.lines().last().unwrap_or_default().chars().count() + 1 + word.chars().count() + end.len();
        if is_begun && columns > WIDTH {
            out.push_str(&line);
            out.push_str(end);
            out.push('\n');
            (line, is_begun) = (next.to_owned(), false);
        }
        if is_begun {
            line.push(' ');
        }
        line.push_str(word);
        is_begun = true;
    }
    out.push_str(&line);
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_tuning::constants;
    use tasuki_tuning::variables::variables;

    #[test]
    fn the_table_fits_into_80_columns_and_leaves_nothing_out() {
        let text = table(&Chosen { constants: constants().collect(), variables: variables().collect() });
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
            assert_eq!(line.trim_end(), line);
        }
        for constant in constants() {
            assert!(text.contains(&format!("\n  {} ", constant.full_name())), "{}", constant.full_name());
        }
        for variable in variables() {
            assert_eq!(text.matches(&format!("\n  {} ", variable.name)).count(), 1, "{}", variable.name);
        }
    }

    #[test]
    fn a_command_that_is_wrapped_can_be_pasted() {
        let command =
            constants().filter_map(Constant::command).max_by_key(String::len).expect("there are some");
        let shown = wrapped(&command, "    $ ", "      ", " \\");
        assert!(shown.lines().count() > 1);
        let joined = shown.trim_start_matches("    $ ").replace("\\\n", " ");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&joined), words(&command));
    }
}
