//! What is added to errors of the command line, and what is left out of them.

use super::{InternalCommand, Tasuki};
use clap::{
    Command, CommandFactory, Error, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::{ffi::OsString, iter};

/// Names that people know from elsewhere, and the commands that do the same here.
const KNOWN_FROM_ELSEWHERE: [(&str, &str); 8] = [
    ("mpirun", "run"),
    ("mpiexec", "run"),
    ("srun", "run"),
    ("sbatch", "submit"),
    ("ps", "jobs"),
    ("squeue", "jobs"),
    ("kill", "cancel"),
    ("scancel", "cancel"),
];

/// The error with the tips that suit these arguments of the process.
pub fn with_tips(mut error: Error, argv: impl Iterator<Item = OsString>) -> Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => suggest_commands(&mut error),
        ErrorKind::UnknownArgument => suggest_file(&mut error, argv),
        _ => {}
    }
    error
}

/// Suggests no command that only other commands use.
fn suggest_commands(error: &mut Error) {
    let wrong = text_of(error, ContextKind::InvalidSubcommand);
    let known = KNOWN_FROM_ELSEWHERE.iter().find(|(name, _)| *name == wrong);
    let suggested = match (known, error.remove(ContextKind::SuggestedSubcommand)) {
        (Some((_, own)), _) => vec![(*own).to_owned()],
        (None, Some(ContextValue::Strings(names))) => names,
        (None, Some(ContextValue::String(name))) => vec![name],
        (None, _) => Vec::new(),
    };
    let hidden = InternalCommand::augment_subcommands(Command::new("hidden"));
    let suggested: Vec<_> =
        suggested.into_iter().filter(|name| hidden.find_subcommand(name).is_none()).collect();
    if !suggested.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(suggested));
    }
}

/// Some commands take the cluster file with `--cluster`, others without.
fn suggest_file(error: &mut Error, argv: impl Iterator<Item = OsString>) {
    let mut command = Tasuki::command();
    for word in argv {
        let below = word.to_str().and_then(|word| command.find_subcommand(word)).cloned();
        match below {
            Some(below) => command = below,
            None => break,
        }
    }
    let wrong = text_of(error, ContextKind::InvalidArg);
    let Some(cluster) = command.get_arguments().find(|argument| *argument.get_id() == "cluster") else {
        return;
    };
    let tip = match cluster.is_positional() {
        true if wrong.starts_with("--cluster") => {
            "the cluster file is written without '--cluster'".to_owned()
        }
        false if wrong.ends_with(".toml") => format!("write '--cluster {wrong}'"),
        _ => return,
    };
    // Another option with a similar name is not what was meant.
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(iter::once(tip.into()).collect()));
}

fn text_of(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(argv: &[&str]) -> String {
        let error =
            Tasuki::command().try_get_matches_from([&["tasuki"], argv].concat()).expect_err("it is wrong");
        with_tips(error, argv.iter().map(OsString::from)).to_string()
    }

    #[test]
    fn a_cluster_file_in_the_form_of_other_commands_is_told_its_own() {
        for command in ["apply", "diff", "undo", "status", "check", "watch"] {
            for argv in [&[command, "--cluster", "a.toml"][..], &[command, "--cluster=a.toml"]] {
                assert!(
                    said(argv).contains("the cluster file is written without '--cluster'"),
                    "{}",
                    said(argv)
                );
            }
        }
        for command in ["top", "stats", "metrics", "dashboard"] {
            let said = said(&[command, "a.toml"]);
            assert!(said.contains("write '--cluster a.toml'"), "{said}");
        }
        let said = said(&["doctor", "a.toml"]);
        assert!(said.contains("--cluster a.toml"), "{said}");
    }

    #[test]
    fn no_command_is_suggested_that_nobody_types() {
        let said = said(&["mpi-prob"]);
        assert!(!said.contains("mpi-probe"), "{said}");
    }

    #[test]
    fn names_from_elsewhere_lead_to_commands() {
        for (name, own) in KNOWN_FROM_ELSEWHERE {
            assert!(said(&[name]).contains(&format!("'{own}'")), "{}", said(&[name]));
            assert!(Tasuki::command().find_subcommand(own).is_some(), "{own}");
        }
    }

    #[test]
    fn a_job_is_a_number() {
        for command in ["hang", "stacks", "debug"] {
            assert!(said(&[command, "good.toml"]).contains("is no job"), "{}", said(&[command, "good.toml"]));
            assert!(Tasuki::command().try_get_matches_from(["tasuki", command, "7_3"]).is_ok());
        }
    }
}
