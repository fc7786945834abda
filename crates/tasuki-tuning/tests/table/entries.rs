//! Every entry says everything that it should.

use std::collections::BTreeSet;

use tasuki_tuning::variables::{Reader, variables};
use tasuki_tuning::{Measure, Value, constants, groups};

use crate::workspace::files;

#[test]
fn names_are_unique() {
    let mut names = BTreeSet::new();
    for constant in constants() {
        assert!(names.insert(constant.full_name()), "{} is there twice", constant.full_name());
        let legal = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        assert!(constant.name.chars().all(legal), "{}", constant.full_name());
    }
    let groups: BTreeSet<_> = groups().map(|group| group.name).collect();
    assert_eq!(groups.len(), tasuki_tuning::groups().count());
    for variable in variables() {
        assert!(names.insert(variable.name.to_owned()), "{} is there twice", variable.name);
    }
}

/// Whether a text is one sentence or more.
fn is_sentence(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    begins && text.ends_with(['.', '!']) && !text.contains("  ")
}

#[test]
fn every_constant_has_unit_meaning_reason_and_command() {
    for constant in constants() {
        let name = constant.full_name();
        assert!(!constant.unit.is_empty(), "{name} has no unit");
        assert!(is_sentence(constant.meaning), "{name}: {}", constant.meaning);
        let why = constant.why;
        assert!(why.ends_with('.') && why.len() > 20 && !why.contains("  "), "{name}: {why}");
        assert!(!constant.gain.contains("  ") && !constant.gain.ends_with('.'), "{name}: {}", constant.gain);
        let command = constant.command().unwrap_or_else(|| name.clone());
        assert!(command.contains(&name) || command.contains(&constant.variable()), "{name}: {command}");
        if let Measure::Bound { then, .. } = constant.measure {
            assert!(then.len() > 20 && !then.ends_with('.') && !then.contains("  "), "{name}: {then}");
        }
    }
    groups().for_each(|group| assert!(is_sentence(group.about), "{}: {}", group.name, group.about));
}

#[test]
fn the_other_value_of_a_constant_is_another_one_that_a_build_can_be_told() {
    for constant in constants() {
        let other = constant.measure.other();
        let told = match constant.default {
            Value::Integer(_) => other.parse().map(Value::Integer).ok(),
            Value::Real(_) => other.parse().map(Value::Real).ok(),
        };
        let told = told.unwrap_or_else(|| panic!("{}: {other} is no value of it", constant.full_name()));
        assert_ne!(told, constant.default, "{}", constant.full_name());
    }
}

#[test]
fn this_build_has_the_defaults() {
    for constant in constants() {
        assert!(!constant.is_changed(), "{} was told another value", constant.full_name());
    }
}

#[test]
fn decisions_exist() {
    let decisions = files("docs/adr", &[".md"]);
    for constant in constants().filter(|constant| constant.adr > 0) {
        let begins = format!("docs/adr/{:04}-", constant.adr);
        let known = decisions.iter().any(|file| file.path.starts_with(&begins));
        assert!(known, "{}: decision {}", constant.full_name(), constant.adr);
    }
}

#[test]
fn gains_say_where_they_come_from() {
    for constant in constants().filter(|constant| !constant.gain.is_empty()) {
        let gain = constant.gain;
        let source =
            ["(docs/", "(decision ", "(noted when", ", decision "].iter().any(|at| gain.contains(at));
        assert!(source, "{}: {gain}", constant.full_name());
        let paths = gain.split(['(', ')', ',', ' ']).filter(|word| word.starts_with("docs/"));
        for path in paths {
            assert!(crate::workspace::root().join(path).is_file(), "{}: {path}", constant.full_name());
        }
    }
}

#[test]
fn every_variable_has_values_meaning_and_reader() {
    for variable in variables() {
        assert!(variable.name.starts_with("TASUKI_"), "{}", variable.name);
        assert!(variable.meaning.ends_with('.'), "{}: {}", variable.name, variable.meaning);
        assert!(!variable.values.to_string().is_empty() && !variable.readers.is_empty(), "{}", variable.name);
    }
    for reader in Reader::ALL {
        assert!(variables().any(|variable| variable.readers.contains(&reader)), "{reader}");
    }
}
