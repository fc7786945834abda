//! `tasuki bench cross --kernel ...`: parallel programs on the cross-connection paper's (a) to (d), verified, beside one host alone and controls
//! in which the sums of the rates are equal.

use super::cross_networks::{Networks, Setting, titles};
use crate::{
    args::BenchCross,
    bench::{
        kernels::{Kernels, check_classes, plots, programs},
        results::give,
    },
    failure::Failure,
};
use serde::Serialize;
use std::{process::ExitCode, time::Duration};
use tasuki_bench::{
    Machine,
    nas::{
        NasRecord,
        challenge::{self, ChallengeRecord},
        cross,
    },
};

#[derive(Serialize)]
struct Report {
    machine: Machine,
    networks: Vec<Setting>,
    /// As those of `bench nas`.
    records: Vec<NasRecord>,
    /// What hpcc measures beside Linpack.
    hpcc: Vec<ChallengeRecord>,
    interrupted: bool,
}

/// Runs the command.
pub fn run(arguments: &BenchCross) -> Result<ExitCode, Failure> {
    check(arguments)?;
    let programs = programs(&arguments.kernel, &arguments.mpi, &arguments.transport)?;
    let mut networks = Networks::up(arguments)?;
    let kernels = Kernels {
        networks: &networks.labs,
        programs: &programs,
        classes: &arguments.class,
        ranks: &[],
        repetitions: arguments.repetitions,
        limit: Duration::from_secs(arguments.limit),
    };
    let measured = kernels.run()?;
    let notes = NOTES.to_owned() + &networks.count()?;
    let text = titles(&networks.settings, arguments)
        + &cross::table(&measured, &notes)
        + &challenge::table(&measured);
    let report = Report {
        machine: Machine::here(),
        networks: networks.settings.clone(),
        records: measured.records(),
        hpcc: challenge::records(&measured),
        interrupted: measured.interrupted,
    };
    let json = serde_json::to_string_pretty(&report)?;
    give(&arguments.results, "cross-kernels", &text, &json, || plots("cross", &measured))?;
    Ok(if measured.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says at once what would fail later.
fn check(arguments: &BenchCross) -> Result<(), Failure> {
    if ![2, 4, 8].contains(&arguments.hosts) {
        return Err(Failure::new(format!("--hosts {}: 2, 4 or 8", arguments.hosts)));
    }
    check_classes(&arguments.kernel, &arguments.class)
}

/// Below the table.
const NOTES: &str = "All ranks share this machine's processors. (b) against its control, (d) against its own: with an equal sum of rates the gain is gone \
    where it is the gain of more links.\n";

#[cfg(test)]
mod tests {
    use super::super::cross_networks::tests::parse;

    #[test]
    fn options_of_programs_want_programs() {
        let line = parse("--kernel is,lu --class S,W --hosts 2 --transport tcp,tasuki").expect("parses");
        assert_eq!((line.kernel.len(), line.class.len(), line.hosts), (2, 2, 2));
        assert_eq!((line.mpi, line.delay), (vec!["openmpi-4.1".to_owned()], 125));
        for (words, said) in [
            ("--class S", "--kernel"),
            ("--hosts 2", "--kernel"),
            ("--kernel is --bytes 64", "cannot be used with"),
            ("--kernel bt", "there is no NAS kernel 'bt'"),
        ] {
            assert!(parse(words).is_err_and(|error| error.contains(said)), "{words}");
        }
    }
}
