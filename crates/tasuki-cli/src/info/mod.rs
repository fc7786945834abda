//! `tasuki info`: the table of tuning, and the environment variables.

mod json;
mod text;

use std::process::ExitCode;
use tasuki_args::InfoArgs;
use tasuki_terminal::{Failure, visible_json};
use tasuki_tuning::variables::{JOB_KEY, Variable, variables};
use tasuki_tuning::{Constant, constants, groups, near};

/// What is to be printed.
struct Chosen {
    constants: Vec<&'static Constant>,
    variables: Vec<&'static Variable>,
}

/// Runs the command.
pub fn run(arguments: &InfoArgs) -> Result<ExitCode, Failure> {
    let chosen = choose(arguments)?;
    if arguments.json {
        let json = serde_json::to_string_pretty(&json::records(&chosen))?;
        println!("{}", visible_json(&json));
    } else {
        print!("{}", text::table(&chosen));
    }
    Ok(ExitCode::SUCCESS)
}

fn choose(arguments: &InfoArgs) -> Result<Chosen, Failure> {
    let all = Chosen {
        constants: if arguments.variables { Vec::new() } else { constants().collect() },
        variables: if arguments.constants { Vec::new() } else { variables().collect() },
    };
    if arguments.names.is_empty() {
        return Ok(all);
    }
    for name in &arguments.names {
        let known = all.constants.iter().any(|constant| is_meant(constant, name))
            || all.variables.iter().any(|variable| variable.name == *name);
        if !known {
            return Err(unknown(name, &all));
        }
    }
    let wanted = |check: &dyn Fn(&str) -> bool| arguments.names.iter().any(|name| check(name));
    Ok(Chosen {
        constants: all.constants.into_iter().filter(|one| wanted(&|name| is_meant(one, name))).collect(),
        variables: all.variables.into_iter().filter(|one| wanted(&|name| one.name == name)).collect(),
    })
}

/// What a variable is set to in the environment of this command.
fn value_here(variable: &Variable) -> Option<String> {
    let value = std::env::var_os(variable.name)?;
    // A secret is not printed.
    let hidden = variable.name == JOB_KEY.name;
    Some(if hidden { "(set)".to_owned() } else { value.to_string_lossy().into_owned() })
}

/// Whether a name is that of the constant or of its group.
fn is_meant(constant: &Constant, name: &str) -> bool {
    constant.group == name || constant.full_name() == name
}

fn unknown(name: &str, all: &Chosen) -> Failure {
    let mut names: Vec<String> = all.constants.iter().map(|constant| constant.full_name()).collect();
    if !all.constants.is_empty() {
        names.extend(groups().map(|group| group.name.to_owned()));
    }
    names.extend(all.variables.iter().map(|variable| variable.name.to_owned()));
    let near = near(name, names.iter().map(String::as_str));
    let hint = match near.is_empty() {
        true => "tasuki info lists all names".to_owned(),
        false => format!("near to it: {}", near.join(", ")),
    };
    Failure::new(format!("{name}: no such constant, group or variable; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use tasuki_args::{Command, Tasuki};

    fn info(words: &[&str]) -> Result<Chosen, Failure> {
        let words = ["tasuki", "info"].iter().chain(words);
        let Command::Info(arguments) = Tasuki::parse_from(words).command else { panic!("another command") };
        choose(&arguments)
    }

    #[test]
    fn names_choose_constants_groups_and_variables() {
        let count = |words: &[&str]| {
            let chosen = info(words).unwrap_or_else(|failure| panic!("{}", failure.message));
            (chosen.constants.len(), chosen.variables.len())
        };
        let all = (constants().count(), variables().count());
        assert_eq!(count(&[]), all);
        assert_eq!(count(&["--constants"]), (all.0, 0));
        assert_eq!(count(&["--variables"]), (0, all.1));
        assert_eq!(count(&["coalesce.FIRST"]), (1, 0));
        assert_eq!(count(&["coalesce.FIRST", "TASUKI_RATE"]), (1, 1));
        assert!(count(&["coalesce"]).0 > 5);
    }

    #[test]
    fn an_unknown_name_is_refused_with_names_that_are_near() {
        let message = |words: &[&str]| info(words).err().expect("it is refused").message;
        assert!(message(&["coalesce.FRIST"]).contains("near to it: coalesce.FIRST"));
        assert!(message(&["tasuki_rat"]).contains("TASUKI_RATE"));
        assert!(message(&["--variables", "coalesce.FIRST"]).contains("no such"));
        assert!(message(&["of quite another kind"]).contains("tasuki info lists all names"));
    }

    /// Splits a command as a shell does, as far as the table's commands need it.
    fn words(command: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for letter in command.chars() {
            match letter {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                letter => words.last_mut().expect("one is there").push(letter),
            }
        }
        words
    }

    #[test]
    fn benchmarks_of_the_table_have_options_that_the_command_knows() {
        for constant in constants() {
            let tasuki_tuning::Measure::Bench { args, .. } = constant.measure else { continue };
            let shown = words(&constant.command().expect("a benchmark has a command"));
            assert_eq!(shown[..2], ["make", "measure"], "{}", constant.full_name());
            assert!(shown.contains(&format!("ARGS={args}")), "{}", constant.full_name());
            let bench = ["tasuki", "bench", "mpi", "--transport", "tasuki", "--other-provider", "FOLDER"];
            let parsed = Tasuki::try_parse_from(bench.into_iter().chain(args.split_whitespace()));
            let command = parsed.unwrap_or_else(|error| panic!("{}: {error}", constant.full_name())).command;
            let Command::Bench(tasuki_args::BenchCommand::Mpi(mpi)) = command else {
                panic!("another command")
            };
            assert!(mpi.source.shape.len() == 1 && mpi.mpis.mpi.len() == 1, "{}", constant.full_name());
            for test in mpi.pair.iter().chain(&mpi.all) {
                // It knows the names of the bench's program.
                let plan = test.parse::<tasuki_bench::TestPlan>();
                assert!(plan.is_ok(), "{}: {test}: {plan:?}", constant.full_name());
            }
        }
    }
}
