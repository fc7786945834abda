//! The output of a program: the customary lines `Name = value`, and with `--profile` a table of the ranks'
//! times.

use super::{Class, Kernel};
use std::{collections::BTreeMap, str::FromStr};
use thiserror::Error;

/// The result of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The kernel.
    pub kernel: Kernel,
    /// The class of its problem.
    pub class: Class,
    /// The size as text: a number of keys, or `64x64x64`.
    pub size: String,
    /// Number of iterations; 0 for EP, which has none.
    pub iterations: u32,
    /// Time of the slowest rank in the timed section, seconds.
    pub seconds: f64,
    /// Processor time of all ranks in the timed section, user and system, seconds; it includes waiting by
    /// polling. `None` if the program does not say.
    pub cpu_s: Option<f64>,
    /// Number of ranks.
    pub ranks: u32,
    /// Million operations per second of all ranks together, as the NAS reports count operations.
    pub mops: f64,
    /// What an operation is.
    pub operation: String,
    /// Whether the result agrees with the published one (and so do the digests of all messages, if asked
    /// for).
    pub verified: bool,
    /// The version of the programs.
    pub version: String,
    /// `[rank]`: what its time was spent on; empty without `--profile`.
    pub breakdown: Vec<Breakdown>,
    /// For Linpack: million operations per second of all ranks together in products of matrices without
    /// messages, measured by the same run.
    pub dgemm_mops: Option<f64>,
    /// For Linpack: the other figures in the summary of the same run of hpcc, by name ([`super::challenge`]).
    pub challenge: BTreeMap<String, f64>,
}

/// What the time of one rank was spent on, and what it sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breakdown {
    /// Time outside of MPI, seconds.
    pub computation_s: f64,
    /// Time inside of MPI without waiting, seconds.
    pub communication_s: f64,
    /// Time of waiting for messages, and for the last rank at collective operations, seconds.
    pub waiting_s: f64,
    /// Number of messages sent; a collective operation counts as one, an all-to-all as one for each other
    /// rank.
    pub messages: u64,
    /// Payload of these messages, bytes.
    pub bytes: u64,
}

/// Why an output is not that of a finished run.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    /// A line is missing: the program ended early, or is another program.
    #[error("no line '{0}' in the program's output: did it end early?")]
    Missing(String),
    /// A line holds something else than it should.
    #[error("line '{name}' of the program's output: '{value}'")]
    Malformed {
        /// The text before the equals sign, or the name of the table.
        name: String,
        /// The text after the equals sign.
        value: String,
    },
}

/// Reads the output of a program. Other lines are remarks of the MPI.
pub fn parse(output: &str) -> Result<Outcome, ParseError> {
    let seconds: f64 = number(output, "Time in seconds")?;
    let cpu_s: f64 = number(output, "CPU seconds")?;
    let mops: f64 = number(output, "Mop/s total")?;
    for (name, value) in [("Time in seconds", seconds), ("CPU seconds", cpu_s), ("Mop/s total", mops)] {
        if !value.is_finite() || value < 0.0 {
            return Err(malformed(name, &value.to_string()));
        }
    }
    Ok(Outcome {
        kernel: kernel(output)?,
        class: number(output, "Class")?,
        size: value(output, "Size")?.into(),
        iterations: number(output, "Iterations")?,
        seconds,
        cpu_s: Some(cpu_s),
        ranks: number(output, "Total processes")?,
        mops,
        operation: value(output, "Operation type")?.into(),
        verified: verification(output)?,
        version: value(output, "Version")?.into(),
        breakdown: breakdown(output)?,
        dgemm_mops: None,
        challenge: BTreeMap::new(),
    })
}

fn malformed(name: &str, value: &str) -> ParseError {
    ParseError::Malformed { name: name.into(), value: value.into() }
}

fn value<'a>(output: &'a str, name: &str) -> Result<&'a str, ParseError> {
    let found = output.lines().find_map(|line| {
        let (before, after) = line.split_once('=')?;
        (before.trim() == name).then_some(after.trim())
    });
    found.ok_or_else(|| ParseError::Missing(name.into()))
}

pub(super) fn number<T: FromStr>(output: &str, name: &str) -> Result<T, ParseError> {
    let text = value(output, name)?;
    text.parse().map_err(|_| malformed(name, text))
}

fn kernel(output: &str) -> Result<Kernel, ParseError> {
    const END: &str = " Benchmark Completed.";
    let found = output.lines().find_map(|line| line.trim_end().strip_suffix(END));
    let name = found.ok_or_else(|| ParseError::Missing(END.trim().into()))?.trim();
    name.parse().map_err(|_| malformed(END.trim(), name))
}

fn verification(output: &str) -> Result<bool, ParseError> {
    match value(output, "Verification")? {
        "SUCCESSFUL" => Ok(true),
        "UNSUCCESSFUL" => Ok(false),
        other => Err(malformed("Verification", other)),
    }
}

/// The rows of the table without the last one, which is their mean.
fn breakdown(output: &str) -> Result<Vec<Breakdown>, ParseError> {
    const HEAD: [&str; 4] = ["Rank", "Computation", "Communication", "Waiting"];
    let mut lines = output.lines().skip_while(|line| !line.split_whitespace().take(4).eq(HEAD));
    if lines.next().is_none() {
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    for line in lines {
        let columns: Vec<&str> = line.split_whitespace().collect();
        if columns.first() == Some(&"mean") {
            return Ok(rows);
        }
        if columns.first() != Some(&rows.len().to_string().as_str()) {
            continue;
        }
        rows.push(row(&columns).ok_or_else(|| malformed(HEAD[0], line.trim()))?);
    }
    Err(ParseError::Missing("mean".into()))
}

fn row(columns: &[&str]) -> Option<Breakdown> {
    let [_, computation, communication, waiting, messages, bytes] = columns else { return None };
    Some(Breakdown {
        computation_s: computation.parse().ok()?,
        communication_s: communication.parse().ok()?,
        waiting_s: waiting.parse().ok()?,
        messages: messages.parse().ok()?,
        bytes: bytes.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The customary form, with a remark of an MPI in between.
    const OUTPUT: &str = "

 CG Benchmark Completed.
 Class           =                        S
a remark = of the MPI
 Size            =                     1400
 Iterations      =                       15
 Time in seconds =                 0.056500
 CPU seconds     =                 0.101000
 Total processes =                        2
 Mop/s total     =                  1179.53
 Mop/s/process   =                   589.77
 Operation type  =           floating point
 Verification    =               SUCCESSFUL
 Version         =                 tasuki 1

 Rank      Computation  Communication      Waiting   Messages       Bytes sent
 0            0.004468       0.011885     0.039475       1590          2190480
another remark
 1            0.004420       0.010060     0.041347       1980          3282480
 mean         0.004473       0.008595     0.042759       1785          2736480
";

    #[test]
    fn reads_the_customary_lines_and_the_table() {
        let outcome = parse(OUTPUT).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((outcome.kernel, outcome.class), (Kernel::Cg, Class::S));
        assert_eq!((outcome.size.as_str(), outcome.iterations, outcome.ranks), ("1400", 15, 2));
        assert_eq!((outcome.seconds, outcome.cpu_s, outcome.mops), (0.0565, Some(0.101), 1179.53));
        assert!(outcome.verified);
        assert_eq!((outcome.operation.as_str(), outcome.version.as_str()), ("floating point", "tasuki 1"));
        let [first, second] = outcome.breakdown[..] else { panic!("{:?}", outcome.breakdown) };
        assert_eq!(
            (first.computation_s, first.communication_s, first.waiting_s),
            (0.004468, 0.011885, 0.039475)
        );
        assert_eq!((second.messages, second.bytes), (1980, 3282480));
    }

    #[test]
    fn a_failed_verification_is_not_an_error_but_a_missing_line_is() {
        let failed = OUTPUT.replace(" SUCCESSFUL", "UNSUCCESSFUL");
        assert_eq!(parse(&failed).map(|outcome| outcome.verified), Ok(false));
        let without_table = OUTPUT.split("\n Rank").next().unwrap_or_default();
        assert_eq!(parse(without_table).map(|outcome| outcome.breakdown), Ok(Vec::new()));
        for name in ["Class", "Size", "Iterations", "Time in seconds", "Verification", "Version", "mean"] {
            let gone = OUTPUT.replace(name, "Gone");
            assert_eq!(parse(&gone), Err(ParseError::Missing(name.into())));
        }
        assert!(matches!(parse(""), Err(ParseError::Missing(_))));
        let nonsense = [("SUCCESSFUL", "PERHAPS"), ("0.056500", "NaN"), ("    15", "many"), (" CG ", " XY ")];
        for (old, new) in nonsense {
            let result = parse(&OUTPUT.replace(old, new));
            assert!(matches!(result, Err(ParseError::Malformed { .. })), "{new}: {result:?}");
        }
    }
}
