//! The names of hosts in `/etc/hosts`: a block of lines between two marks.

use std::{fmt::Write, net::Ipv4Addr};

/// The file of names (hosts(5)).
pub const HOSTS_FILE: &str = "/etc/hosts";

/// The line before the names.
pub(crate) const BEGIN: &str = "# tasuki: begin (names of the cluster; `tasuki undo` takes them away)";
/// The line after them.
pub(crate) const END: &str = "# tasuki: end";

/// The text with a block of these names at its end, which replaces an earlier block. A text that gives every
/// name its address already is left as it is.
pub fn with_names(text: &str, names: &[(Ipv4Addr, String)]) -> String {
    let mut rest = without_names(text);
    if names.is_empty() || names.iter().all(|(address, name)| has(&rest, *address, name)) {
        return rest;
    }
    if !rest.is_empty() && !rest.ends_with('\n') {
        rest.push('\n');
    }
    // Writing to a String cannot fail.
    let _ = writeln!(rest, "{BEGIN}");
    for (address, name) in names {
        let _ = writeln!(rest, "{:<15}  {name}", address.to_string());
    }
    let _ = writeln!(rest, "{END}");
    rest
}

/// The text without Tasuki's block. Of a block whose last line somebody has removed only the first line goes:
/// nothing tells its names from those that are not Tasuki's.
pub fn without_names(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text.split_inclusive('\n');
    let is = |line: &str, mark| line.trim_end_matches('\n') == mark;
    while let Some(line) = rest.next() {
        if !is(line, BEGIN) {
            kept.push_str(line);
            continue;
        }
        let mut below = rest.clone();
        if below.any(|line| is(line, END)) {
            rest = below;
        }
    }
    kept
}

fn has(text: &str, address: Ipv4Addr, name: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        words.next().and_then(|word| word.parse().ok()) == Some(address) && words.any(|word| word == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<(Ipv4Addr, String)> {
        vec![(Ipv4Addr::new(10, 77, 0, 1), "n1".into()), (Ipv4Addr::new(10, 77, 0, 12), "n12".into())]
    }

    #[test]
    fn a_block_comes_and_goes() {
        let before = "127.0.0.1 localhost\n::1 localhost\n";
        let with = with_names(before, &names());
        assert!(with.starts_with(before) && with.contains("\n10.77.0.1        n1\n"), "{with}");
        assert_eq!(with_names(&with, &names()), with, "once is enough");
        assert_eq!(without_names(&with), before);
        assert_eq!(with_names(&with, &names()[..1]).matches("n12").count(), 0, "another cluster's");
    }

    #[test]
    fn what_others_wrote_below_stays() {
        let with = with_names("127.0.0.1 localhost\n", &names()) + "192.0.2.1 printer";
        assert_eq!(without_names(&with), "127.0.0.1 localhost\n192.0.2.1 printer");
    }

    #[test]
    fn a_block_without_an_end_takes_no_other_lines_along() {
        let with = with_names("127.0.0.1 localhost\n", &names()) + "192.0.2.1 printer\n";
        let open = with.replace(&format!("{END}\n"), "");
        let left = without_names(&open);
        assert!(left.contains("192.0.2.1 printer\n") && !left.contains(BEGIN), "{left}");
        assert_eq!(without_names(&with_names(&left, &names())), left);
    }

    #[test]
    fn names_that_are_there_need_no_block() {
        let there = "10.77.0.1 n1 n1.cluster # first\n10.77.0.12\tn12";
        assert_eq!(with_names(there, &names()), there);
        let wrong = "10.77.0.1 n12\n#10.77.0.12 n12\n10.77.0.1 n1\n";
        assert_ne!(with_names(wrong, &names()), wrong);
    }
}
