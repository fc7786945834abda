//! What a profile says of a program whose sharing is known from its source.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Program, library, text};

/// Enough for pages that are asked for early to be watched again.
const ROUNDS: u64 = 200;

/// The line of the source that has this mark.
fn line(mark: &str) -> String {
    let source = include_str!("../programs/shares.c");
    let found = source.lines().position(|line| line.contains(&format!("mark: {mark} ")));
    format!("shares.c:{}", found.expect("a mark") + 1)
}

/// Runs the program so, and returns what rank 0 says on standard error, and the profile's file.
fn profiled(program: &Program, processes: u32, threads: u32, at: u8, kind: &str) -> (String, String) {
    let file = program.folder().join(format!("profile.{kind}"));
    let asked = [("TASUKI_OMP_PROFILE", file.as_os_str())];
    let rounds = ROUNDS.to_string();
    let all =
        (0..processes).map(|rank| program.process_with(rank, processes, threads, at, &[&rounds], &asked));
    let outputs: Vec<_> =
        all.collect::<Vec<_>>().into_iter().map(|one| one.wait_with_output().expect("ends")).collect();
    for output in &outputs {
        assert!(output.status.success(), "{}", text(output));
    }
    assert_eq!(outputs[0].stdout, program.alone(processes * threads, &[&rounds]).as_bytes());
    assert!(outputs[1..].iter().all(|output| output.stderr.is_empty()), "{}", text(&outputs[1]));
    (String::from_utf8_lossy(&outputs[0].stderr).into_owned(), fs::read_to_string(file).expect("a profile"))
}

/// The rows of a list whose member has this text.
fn rows<'a>(profile: &'a Value, list: &str, member: &str, has: &str) -> Vec<&'a Value> {
    let all = profile[list].as_array().expect("a list");
    all.iter().filter(|row| row[member].as_str().is_some_and(|text| text == has)).collect()
}

fn sharing<'a>(profile: &'a Value, array: &str) -> &'a Value {
    let found = rows(profile, "arrays", "name", array);
    assert_eq!(found.len(), 1, "{array}: {profile:#}");
    &found[0]["pages"][0]
}

#[test]
fn lines_and_variables_are_told_with_the_reason_for_which_pages_move() {
    let program = Program::build_with("shares.c", &["-g"]);
    for (at, (processes, threads)) in [(2, 1), (3, 1), (2, 2)].into_iter().enumerate() {
        let (said, json) = profiled(&program, processes, threads, 30 + at as u8, "json");
        let profile: Value = serde_json::from_str(&json).expect("JSON");
        // Each process has the page in each round, and gives it up to the next one.
        let moves = (ROUNDS - 1) * u64::from(processes);
        for (array, why) in [
            ("beside", "false-sharing"),
            ("same", "same-words"),
            ("passed", "exchanged"),
            (&*format!("memory of {}", line("filled")), "once"),
        ] {
            let pages = sharing(&profile, array);
            assert_eq!(pages["why"], why, "{array}: {profile:#}");
            let number = |member: &str| pages[member].as_u64().expect("a number");
            assert!(why == "once" || number("faults") + number("early") >= moves, "{array}: {profile:#}");
            assert!(why == "once" || number("faults") > 10, "{array}: {profile:#}");
        }
        for mark in ["beside", "same", "passed"] {
            let told = rows(&profile, "lines", "place", &line(mark));
            assert!(told.iter().any(|line| line["array"] == mark && line["writes"] == true), "{profile:#}");
        }
        let region = rows(&profile, "regions", "place", &line("region"));
        assert_eq!((region.len(), &region[0]["times"]), (1, &1.into()), "{profile:#}");
        assert_eq!(region[0]["computing"].as_array().map(Vec::len), Some(processes as usize));
        assert_eq!((&profile["processes"], &profile["threads"]), (&processes.into(), &threads.into()));
        assert!(said.contains("false sharing") && said.contains(&line("beside")), "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
        assert!(!said.contains("-g"), "{said}");
    }
}

/// Without lines functions are told, and that lines could be had; the page has all that the text has.
#[test]
fn programs_without_lines_are_told_by_functions() {
    let program = Program::build("shares.c");
    let (said, page) = profiled(&program, 2, 1, 33, "html");
    assert!(said.contains("main (parallel 0)") && said.contains("built with -g"), "{said}");
    assert!(page.starts_with("<!doctype html>") && page.contains("main (parallel 0)"), "{page}");
    assert!(!page.contains("http"), "a page needs no other one");
}

/// A file that cannot be written is told, and the program ends as it would.
#[test]
fn a_profile_that_cannot_be_kept_is_told() {
    let program = Program::build("shares.c");
    let mut command = Command::new(program.path());
    command.env("LD_PRELOAD", library()).env("TASUKI_OMP", "1").env("TASUKI_OMP_PROFILE", "/nowhere/a.json");
    let output = command.arg("1").stdin(Stdio::null()).output().expect("runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("cannot write /nowhere/a.json: No such file"), "{told}");
    assert!(Path::new("/nowhere").metadata().is_err());
    // Nobody can be told anything, and the program ends as it would all the same.
    let full = fs::File::options().write(true).open("/dev/full").expect("it can be written to");
    let output = command.stderr(full).output().expect("runs");
    assert!(output.status.success() && !output.stdout.is_empty(), "{}", text(&output));
}
