//! The table as JSON records.

use super::Chosen;
use serde::Serialize;
use tasuki_tuning::variables::Variable;
use tasuki_tuning::{Constant, Measure, Value};

/// One constant or one variable.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    Constant(ConstantRecord),
    Variable(VariableRecord),
}

/// A number of the table.
#[derive(Serialize)]
#[serde(untagged)]
enum Number {
    Integer(u64),
    Real(f64),
}

impl From<Value> for Number {
    fn from(value: Value) -> Number {
        match value {
            Value::Integer(value) => Number::Integer(value),
            Value::Real(value) => Number::Real(value),
        }
    }
}

#[derive(Serialize)]
pub struct ConstantRecord {
    name: String,
    group: &'static str,
    unit: &'static str,
    default: Number,
    /// The value of this build.
    value: Number,
    meaning: &'static str,
    why: &'static str,
    /// Null if nobody has measured it.
    gain: Option<&'static str>,
    /// The command that measures the gain; null if nothing does.
    command: Option<String>,
    /// The other value with which that command compares the default.
    other: &'static str,
    /// Arguments of `tasuki bench mpi`; null if the command runs something else.
    args: Option<&'static str>,
    /// `benchmark`, `test` (it fails with the other value), `figures` (a simulation prints others) or `bound`
    /// (no test and no benchmark shows a difference).
    measure: &'static str,
    /// What the command runs if it is no benchmark.
    runs: Option<&'static str>,
    /// What happens with the other value of a bound.
    then: Option<&'static str>,
    /// Variable by which a build gets another value.
    variable: String,
    /// Number of the decision; null if there is none.
    adr: Option<u16>,
}

#[derive(Serialize)]
pub struct VariableRecord {
    name: &'static str,
    default: &'static str,
    /// What it is set to here; null if it is not set.
    value: Option<String>,
    values: String,
    meaning: &'static str,
    readers: Vec<String>,
}

/// The records, constants first.
pub fn records(chosen: &Chosen) -> Vec<Record> {
    let constants = chosen.constants.iter().map(|constant| Record::Constant(of_constant(constant)));
    let variables = chosen.variables.iter().map(|variable| Record::Variable(of_variable(variable)));
    constants.chain(variables).collect()
}

fn of_constant(constant: &Constant) -> ConstantRecord {
    let (measure, args, runs, then) = match constant.measure {
        Measure::Bench { args, .. } => ("benchmark", Some(args), None, None),
        Measure::Test { command, .. } => ("test", None, Some(command), None),
        Measure::Figures { command, .. } => ("figures", None, Some(command), None),
        Measure::Bound { then, .. } => ("bound", None, None, Some(then)),
    };
    ConstantRecord {
        name: constant.full_name(),
        group: constant.group,
        unit: constant.unit,
        default: constant.default.into(),
        value: constant.value.into(),
        meaning: constant.meaning,
        why: constant.why,
        gain: Some(constant.gain).filter(|gain| !gain.is_empty()),
        command: constant.command(),
        other: constant.measure.other(),
        measure,
        args,
        runs,
        then,
        variable: constant.variable(),
        adr: Some(constant.adr).filter(|adr| *adr > 0),
    }
}

fn of_variable(variable: &Variable) -> VariableRecord {
    VariableRecord {
        name: variable.name,
        default: variable.default,
        value: super::value_here(variable),
        values: variable.values.to_string(),
        meaning: variable.meaning,
        readers: variable.readers.iter().map(ToString::to_string).collect(),
    }
}
