//! Every kind of error. Each file in `tests/bad/*.toml` holds what is wrong and, in a comment at its end,
//! every error that must be reported, in order, with line, column, key, notes and help. No other error may be
//! reported.

use std::{fs, path::Path};
use tasuki_cluster::Cluster;

/// The errors that the file says are to be reported.
fn expected(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| *line != "# expected:").skip(1);
    lines.map(|line| line.trim_start_matches('#').trim().to_owned()).collect()
}

/// The errors that are reported, without the lines of source and the name of the file.
fn reported(text: &str, file: &str) -> Vec<String> {
    let errors = Cluster::parse(text, Some(Path::new(file))).expect_err(file).to_string();
    let lines = errors.lines().filter_map(|line| {
        let line = line.replace(&format!("{file}:"), "");
        let (before, after) = line.split_once(" = ").unwrap_or((&line, ""));
        match before.trim() {
            "" if !after.is_empty() => Some(after.to_owned()),
            _ if line.contains(" | ") || line.trim_end().ends_with('|') => None,
            _ if line.is_empty() || line.contains(" errors in ") => None,
            _ => Some(line.clone()),
        }
    });
    lines.collect()
}

#[test]
fn every_bad_file_is_reported_in_full() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 20, "the files are gone");
    let mut wrong = String::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let file = path.file_name().unwrap().to_string_lossy();
        let (expected, reported) = (expected(&text), reported(&text, &file));
        if expected != reported || expected.is_empty() {
            let shown: Vec<_> = reported.iter().map(|line| format!("# {line}")).collect();
            wrong += &format!("{file} reports\n{}\n\n", shown.join("\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_report_looks_as_a_compilers() {
    let text = "[[host]]\nname = \"n1\"\nnic = [{ name = \"eth1\", mut = 1500 }]\n";
    let errors = Cluster::parse(text, Some(Path::new("four.toml"))).unwrap_err();
    let expected = r#"four.toml:3:25: host.nic.mut: unknown key "mut"
  |
3 | nic = [{ name = "eth1", mut = 1500 }]
  |                         ^^^
  = help: did you mean "mtu"?"#;
    assert_eq!(errors.to_string(), expected);
}

#[test]
fn columns_count_characters_and_lines_may_end_in_crlf() {
    let text = "[[host]]\r\nname = \"n1\"\r\nrack = \"Schränke\\n\u{1f984}\" # \u{1b}[31m\r\n";
    let errors = Cluster::parse(text, None).unwrap_err();
    // A raw control character is not allowed in TOML, not even in a comment, and must not reach the terminal.
    let shown = errors.to_string();
    assert!(shown.starts_with("<cluster>:3:"), "{shown}");
    assert!(!shown.contains('\u{1b}') && !shown.contains('\r'), "{shown:?}");

    let text =
        "[[host]]\r\nname = \"n1\"\r\nnic = [{ name = \"ä€\u{1f984}\" }, { name = \"eth1\", x = 1 }]\r\n";
    let errors = Cluster::parse(text, None).unwrap_err();
    let places: Vec<_> = errors.errors.iter().map(|error| (error.place.line, error.place.column)).collect();
    assert_eq!(places, [(3, 17), (3, 43)]);
}

#[test]
fn a_long_line_is_shown_around_its_error() {
    let nics: Vec<_> = (1..100).map(|number| format!("{{ name = \"eth{number}\" }}")).collect();
    let text = format!("[[host]]\nname = \"n1\"\nnic = [{}, {{ name = \"lo\" }}]\n", nics.join(", "));
    let shown = Cluster::parse(&text, None).unwrap_err().to_string();
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() < 200), "{shown}");
    let mark = lines[3].find("^^^^").unwrap();
    assert_eq!(&lines[2][mark..mark + 4], "\"lo\"", "{shown}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Cluster::load("/no/such/cluster.toml").unwrap_err().to_string();
    assert!(error.starts_with("/no/such/cluster.toml: cannot read the file: No such file"), "{error}");
}

#[test]
fn a_file_that_is_not_utf8_is_reported_with_its_place() {
    // The name of a rack in Latin-1; the column counts characters.
    let mut bytes = "[[host]]\nname = \"n1\" # ä\nrack = \"".as_bytes().to_vec();
    bytes.extend(b"Schr\xe4nke\"\n");
    let errors = Cluster::parse_bytes(bytes.clone(), Some(Path::new("four.toml"))).unwrap_err();
    let expected = "four.toml:3:13: not UTF-8: the byte 0xe4
  |
3 | rack = \"Schr\u{fffd}nke\"
  |             ^
  = help: save the file as UTF-8, as by: iconv -f latin1 -t utf-8";
    assert_eq!(errors.to_string(), expected);
    let path = std::env::temp_dir().join(format!("tasuki-latin1-{}.toml", std::process::id()));
    fs::write(&path, bytes).unwrap();
    let said = Cluster::load(&path).unwrap_err().to_string();
    fs::remove_file(&path).unwrap();
    assert!(said.contains(".toml:3:13: not UTF-8"), "{said}");
}
