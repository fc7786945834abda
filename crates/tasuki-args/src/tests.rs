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
