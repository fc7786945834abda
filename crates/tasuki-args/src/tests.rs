//! Of the command line as a whole.

use super::*;
use clap::{Arg, Command as Clap, CommandFactory, builder::OsStr};

/// Whether an argument accepts a value, by a command that has no other argument.
fn accepts(argument: &Arg, value: &OsStr) -> bool {
    let mut alone = Arg::new("alone").value_parser(argument.get_value_parser().clone()).long("alone");
    alone = alone.action(argument.get_action().clone()).allow_hyphen_values(true);
    if let Some(delimiter) = argument.get_value_delimiter() {
        alone = alone.value_delimiter(delimiter);
    }
    let argv = ["test".into(), "--alone".into(), value.to_os_string()];
    Clap::new("test").arg(alone).try_get_matches_from(argv).is_ok()
}

/// The defaults of a command, and of those below it, that `--help` shows and that are refused as
/// arguments; and the number of all defaults.
fn refused(command: &Clap, all: &mut usize) -> Vec<String> {
    let mut refused = Vec::new();
    for argument in command.get_arguments().filter(|argument| argument.get_action().takes_values()) {
        for value in argument.get_default_values() {
            *all += 1;
            if !accepts(argument, value) {
                refused.push(format!("{} {}: {value:?}", command.get_name(), argument.get_id()));
            }
        }
    }
    refused.extend(command.get_subcommands().flat_map(|below| self::refused(below, all)));
    refused
}

#[test]
fn every_default_that_help_shows_is_accepted_as_an_argument() {
    let mut all = 0;
    assert_eq!(refused(&Tasuki::command(), &mut all), [""; 0]);
    assert!(all > 50, "only {all} defaults were found");
}

#[test]
fn the_command_line_is_well_formed() {
    Tasuki::command().debug_assert();
}

/// What an argument requires. clap tells nobody but a debugger.
fn required(argument: &Arg) -> Vec<String> {
    let text = format!("{argument:?}");
    let (_, list) = text.split_once(" requires: [").expect("clap's form of it");
    let (list, _) = list.split_once(']').expect("a list");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Where an argument requires another, and a third that the other conflicts with does not conflict with the
/// first. clap drops a requirement that cannot be met because of what is there, so that the first argument
/// would be accepted without the other, and have no effect.
fn dropped(command: &Clap, all: &mut usize) -> Vec<String> {
    let conflict = |a: &Arg, b: &Arg| {
        let has =
            |a: &Arg, b: &Arg| command.get_arg_conflicts_with(a).iter().any(|arg| arg.get_id() == b.get_id());
        has(a, b) || has(b, a)
    };
    let mut dropped = Vec::new();
    for argument in command.get_arguments() {
        for name in required(argument) {
            *all += 1;
            let needed = command.get_arguments().find(|other| *other.get_id() == *name).expect("an argument");
            let others =
                command.get_arguments().filter(|other| conflict(needed, other) && !conflict(argument, other));
            let others = others.filter(|other| other.get_id() != argument.get_id());
            let name = command.get_name();
            dropped.extend(others.map(|other| format!("{name}: {}, {}", argument.get_id(), other.get_id())));
        }
    }
    dropped.extend(command.get_subcommands().flat_map(|below| self::dropped(below, all)));
    dropped
}

#[test]
fn no_argument_is_accepted_without_what_it_requires() {
    let mut command = Tasuki::command();
    command.build();
    let mut all = 0;
    assert_eq!(dropped(&command, &mut all), [""; 0]);
    assert!(all > 20, "only {all} requirements were found");
    for line in [
        "run -n 2 --copy --timeout 3s a.out",
        "run -n 2 --trace x --label a.out",
        "run -n 2 --cores --timeout 3s a.out",
        "run -n 2 --resident --stop-at main a.out",
        "run -n 2 --trace x --checkpoint 10m a.out",
        "run -n 2 --copy --checkpoint auto a.out",
        "run -n 2 --checkpoint a.out",
        "run -n 2 --dry-run --files x a.out",
        "run -n 2 --port 29500 a.out",
        "run -n 2 --launcher none --port 0 a.out",
        "run -n 2 --launcher none --resident a.out",
        "run -n 2 --launcher none --checkpoint auto a.out",
        "run -n 2 --launcher none --mpi mpich a.out",
        "run -n 2 --launcher none --trace x a.out",
        "daemon --start --json",
    ] {
        let argv = std::iter::once("tasuki").chain(line.split(' '));
        assert!(Tasuki::command().try_get_matches_from(argv).is_err(), "{line}");
    }
}

/// Nothing but the daemons and `--launcher none` labels lines and counts time: an MPI's own launcher does
/// not.
#[test]
fn options_of_ranks_need_something_that_starts_ranks() {
    let check = |line: &str| {
        let argv = std::iter::once("tasuki").chain(line.split(' '));
        let Command::Run(arguments) = Tasuki::try_parse_from(argv).expect(line).command else {
            panic!("{line}")
        };
        arguments.check().map_err(|failure| (failure.code, failure.message))
    };
    for line in [
        "run -n 2 --launcher none --label --timeout 3s --port 4000 a.out",
        "run -n 2 --resident --label x",
        "run -n 2 --checkpoint auto --label --timeout 3s --share x",
    ] {
        assert_eq!(check(line), Ok(()), "{line}");
    }
    for (line, words) in [
        ("run -n 2 --label a.out", "--launcher none"),
        ("run -n 2 --timeout 3s a.out", "--launcher none"),
        ("run -n 2 --launcher none --share a.out", "--resident"),
        ("run -n 2 --command bt a.out", "--debug"),
    ] {
        let (code, said) = check(line).expect_err(line);
        assert!(code == 2 && said.contains(words), "{line}: {said}");
    }
}

// The daemons alone can save a job: nobody has to name them as well.
#[test]
fn a_job_that_is_to_be_saved_is_one_of_the_daemons() {
    let run = |words: &str| {
        let argv = ["tasuki", "run", "-n", "2"].into_iter().chain(words.split(' '));
        match Tasuki::try_parse_from(argv).map(|tasuki| tasuki.command) {
            Ok(Command::Run(arguments)) => arguments.checkpoint,
            other => panic!("{words}: {other:?}"),
        }
    };
    assert!(run("--checkpoint auto a.out").is_some());
    assert!(run("--resident --label --timeout 3s --checkpoint 10m a.out").is_some());
    assert_eq!(run("a.out"), None);
}

/// How a job is started is worked out rank by rank: a mistyped number of them must not take all memory.
#[test]
fn a_mistyped_number_of_ranks_is_refused() {
    let run = |ranks: &str| Tasuki::try_parse_from(["tasuki", "run", "-n", ranks, "--dry-run", "a.out"]);
    assert!(run("65536").is_ok());
    assert!(["0", "65537", "4000000000"].iter().all(|ranks| run(ranks).is_err()));
}

/// `bench startup` refuses machines, whatever file names them.
#[test]
fn what_is_always_refused_is_not_offered() {
    let command = Tasuki::command();
    let startup = command.find_subcommand("bench").and_then(|bench| bench.find_subcommand("startup"));
    let cluster = startup.and_then(|startup| startup.get_arguments().find(|it| *it.get_id() == "cluster"));
    assert!(cluster.expect("an argument").is_hide_set());
}

// What these commands refuse without (docs/guide/checkpoint.md, docs/reference/commands.md) is to be known
// before a job has run for hours.
#[test]
fn help_says_what_a_command_needs() {
    let command = Tasuki::command();
    let help = |name: &str| {
        let found = command.find_subcommand(name).expect("a command");
        let below = found.get_after_help().map(ToString::to_string).unwrap_or_default();
        format!("{} {below}", found.get_about().expect("a line"))
    };
    for words in ["submitted with --checkpoint", "CRIU", "Open MPI", "--share", "/var/lib/tasuki"] {
        assert!(help("checkpoint").contains(words), "{words}");
    }
    for name in ["restart", "lab", "bench", "demo"] {
        assert!(help(name).contains("root"), "{name}");
    }
    let tune = command.find_subcommand("tune").expect("a command");
    for name in ["set", "run", "undo"] {
        let about = tune.find_subcommand(name).and_then(|it| it.get_about()).expect("a line").to_string();
        assert!(about.contains("root"), "{name}");
    }
}
