//! What commands print on a terminal of 80 columns: no line is wider, no word is broken, and verdicts have
//! colours unless NO_COLOR is set. script(1) is the terminal.

use crate::support::{TestLab, ok, tasuki};
use nix::unistd::Uid;
use std::{collections::BTreeSet, process::Command};

/// What a command prints on a terminal of so many columns. What it says on standard error, as progress, is
/// left out.
fn on_terminal(columns: usize, argv: &[&str], environment: &[(&str, &str)]) -> String {
    let line = format!("stty cols {columns} rows 50; exec \"$TASUKI\" {} 2>/dev/null", argv.join(" "));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("TASUKI", env!("CARGO_BIN_EXE_tasuki"));
    // Variables by which a machine that builds, or a user, asks for colours whatever the terminal is.
    for name in ["NO_COLOR", "CI", "CLICOLOR", "CLICOLOR_FORCE"] {
        script.env_remove(name);
    }
    script.env("TERM", "xterm").envs(environment.iter().copied());
    let output = script.output().expect("script runs");
    String::from_utf8(output.stdout).expect("UTF-8").replace("\r\n", "\n")
}

/// A text without the colours of a terminal (ECMA-48, "SGR").
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or(part, |(_, rest)| rest))
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

fn fits(columns: usize, what: &[&str], shown: &str, elsewhere: &str) {
    let shown = plain(shown);
    assert!(!shown.trim().is_empty(), "{what:?} prints nothing");
    let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > columns).collect();
    assert!(wide.is_empty(), "{what:?} has lines of more than {columns} columns: {wide:#?}");
    // A backslash continues an example that is longer than the terminal is wide.
    let broken: Vec<&str> =
        words(&shown).difference(&words(elsewhere)).copied().filter(|w| *w != "\\").collect();
    assert!(broken.is_empty(), "{what:?} has broken words: {broken:?}");
}

/// The commands below one, as its help lists them.
fn subcommands(argv: &[String]) -> Vec<String> {
    let help = ok(tasuki().args(argv).arg("-h"));
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| !line.is_empty()).filter(|line| line.starts_with("  "));
    let names =
        names.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Every command and subcommand.
fn commands() -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    let mut at = 0;
    while at < all.len() {
        let below = subcommands(&all[at]).into_iter().map(|name| [&all[at][..], &[name]].concat());
        let below: Vec<_> = below.collect();
        all.extend(below);
        at += 1;
    }
    all
}

#[test]
fn help_fits_the_terminal_and_breaks_no_word() {
    let all = commands();
    assert!(all.len() > 40, "only {} commands were found", all.len());
    for argv in all {
        let argv: Vec<&str> = argv.iter().map(String::as_str).chain(["--help"]).collect();
        let elsewhere = ok(tasuki().args(&argv));
        for columns in [80, 110] {
            fits(columns, &argv, &on_terminal(columns, &argv, &[]), &elsewhere);
        }
    }
}

#[test]
fn tables_of_plans_fit_the_terminal() {
    let plans: [&[&str]; 3] = [
        &["plan", "--hosts", "8", "--nics", "3"],
        &["plan", "--hosts", "6", "--nics", "2", "--switch", "8", "--price-cable", "5"],
        &["cluster", "show", "--shape", "full:4"],
    ];
    for argv in plans {
        let elsewhere = ok(tasuki().args(argv));
        fits(80, argv, &on_terminal(80, argv, &[]), &elsewhere);
    }
}

#[test]
fn verdicts_have_colours_where_a_terminal_has_them() {
    let doctor = ["doctor", "--cluster", "/no/such/file"];
    assert!(!on_terminal(80, &doctor, &[]).contains('\u{1b}'), "errors are not verdicts");
    // A lab of its own: without a name, the doctor of root looks at a lab of another test that is up.
    let lab = Uid::effective().is_root().then(|| TestLab::up("verdicts", &["--shape", "full:2"]));
    let named = lab.iter().flat_map(|lab| ["--lab", &lab.name]);
    let own: Vec<&str> = ["doctor"].into_iter().chain(named).collect();
    let shown = on_terminal(80, &own, &[]);
    assert!(shown.contains("\u{1b}[1m\u{1b}[32mok"), "{shown:?}");
    assert!(!on_terminal(80, &own, &[("NO_COLOR", "1")]).contains('\u{1b}'));
    assert!(!on_terminal(80, &own, &[("TERM", "dumb")]).contains('\u{1b}'));
    let piped = tasuki().args(&own).output().expect("runs").stdout;
    assert!(!piped.contains(&0x1b), "{}", String::from_utf8_lossy(&piped));
}
