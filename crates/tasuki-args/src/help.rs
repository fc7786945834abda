//! The texts below the options of `--help`, set for the width of the terminal.
//!
//! They are written for pages of 110 columns. Left as they are, a narrower terminal would show each of their
//! lines as a long and a short one, and break examples in the middle of their comments.

use clap::Command;
use tasuki_terminal::lines;

/// The command and all below it, with texts for a terminal of so many columns.
pub fn fitted(command: Command, columns: usize) -> Command {
    let text = command.get_after_help().map(|text| flowed(&text.to_string(), columns));
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(|below| fitted(below, columns))
}

/// The text with its paragraphs, lists and examples in lines of at most so many columns.
fn flowed(text: &str, columns: usize) -> String {
    let mut out = Vec::new();
    for line in logical_lines(text) {
        match line.split_once(" # ").filter(|_| length(&line) > columns && is_example(&line)) {
            Some((command, comment)) => {
                let indent = indent(&line);
                out.extend(hung(&format!("{:indent$}# {}", "", comment.trim()), indent + 2, columns));
                out.push(example(command.trim_end(), columns));
            }
            None if is_example(&line) => out.push(example(&line, columns)),
            None => out.extend(hung(&line, second_column(&line), columns)),
        }
    }
    out.join("\n")
}

/// The paragraphs, points of lists and examples of a text: lines that only continue the line before, at the
/// left edge or with a larger indent, are joined to it.
fn logical_lines(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in text.lines() {
        let continues = |before: &&mut String| {
            let is_text = !before.trim().is_empty() && !line.trim().is_empty() && !before.ends_with(':');
            let (own, of_before) = (indent(line), indent(before));
            is_text && !is_example(line) && ((own == 0 && of_before == 0) || own > of_before)
        };
        match all.last_mut().filter(continues) {
            Some(before) => {
                // An example that is longer than a page goes on behind a backslash.
                before.truncate(before.trim_end_matches([' ', '\\']).len());
                before.push(' ');
                before.push_str(line.trim());
            }
            None => all.push(line.trim_end().to_owned()),
        }
    }
    all
}

/// Whether a line is a command to be typed.
fn is_example(line: &str) -> bool {
    let command = line.trim_start();
    indent(line) > 0 && ["tasuki ", "sudo ", "eval "].iter().any(|word| command.starts_with(word))
}

/// A command in lines that a shell takes for one.
fn example(command: &str, columns: usize) -> String {
    // The blank and the backslash at the end of a line need two columns.
    let width = if length(command) > columns { columns - 2 } else { columns };
    // Within quotes a backslash is no end of a line, and a line's end is a blank to jq.
    let end = if command.contains('\'') { "\n" } else { " \\\n" };
    hung(command, indent(command) + 2, width).join(end)
}

/// A line in lines of at most so many columns, of which all but the first are indented by `hang`.
fn hung(line: &str, hang: usize, columns: usize) -> Vec<String> {
    if length(line) <= columns {
        return vec![line.to_owned()];
    }
    // The left column of a list stays as it is; its blanks must not be taken for ends of words.
    let at = line.char_indices().nth(hang).map_or(0, |(at, _)| at);
    let is_list = hang > indent(line) && line[..at].ends_with(' ') && !is_example(line);
    let (head, rest) = if is_list { line.split_at(at) } else { ("", line.trim_start()) };
    let first = if is_list { head.to_owned() } else { " ".repeat(indent(line)) };
    let parts = lines(rest, columns.saturating_sub(hang));
    let put = |(number, part): (usize, &String)| match number {
        0 => format!("{first}{part}"),
        _ => format!("{:hang$}{part}", ""),
    };
    parts.iter().enumerate().map(put).collect()
}

/// The column at which the text of a list's point begins, behind two or more blanks or a dash; the indent of
/// a line that is no point of a list.
fn second_column(line: &str) -> usize {
    let own = indent(line);
    let text = &line[own..];
    if own == 0 {
        return 0;
    }
    if text.starts_with("- ") {
        return own + 2;
    }
    let Some(gap) = text.find("  ") else { return own };
    own + length(&text[..gap]) + indent(&text[gap..])
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Words at the left edge are a
paragraph of several lines.

Stages:
  1  every cable, and who is at its
     other end
  22 all pairs

Examples:
  tasuki plan --hosts 8     # a comment that is long
  sudo tasuki check --stages 3 --time 24h --json";

    #[test]
    fn paragraphs_lists_and_examples_are_set_anew() {
        let narrow = "Words at the left edge are a
paragraph of several lines.

Stages:
  1  every cable, and who is
     at its other end
  22 all pairs

Examples:
  # a comment that is long
  tasuki plan --hosts 8
  sudo tasuki check \\
    --stages 3 --time 24h \\
    --json";
        assert_eq!(flowed(TEXT, 28), narrow);
    }

    #[test]
    fn on_a_wide_terminal_only_paragraphs_are_joined() {
        let wide = flowed(TEXT, 110);
        assert!(wide.starts_with("Words at the left edge are a paragraph of several lines.\n\nStages:\n"));
        assert!(wide.ends_with(
            "  tasuki plan --hosts 8     # a comment that is long\n  sudo tasuki check \
                                --stages 3 --time 24h --json"
        ));
    }
}
