//! Stage 4: parallel programs that check their own results.

use super::Subject;
use crate::{args::CheckArgs, failure::Failure, places::host_name, places::this_program};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tasuki_bench::{
    hpcc::{self, HpccError, Input},
    nas::Kernel,
};
use tasuki_check::{Finding, Kind, Part, Report};
use tasuki_launch::find_program;
use tasuki_process::run_limited;

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(3600);
/// Memory of HPCC's matrix in a lab, all hosts together: they share one machine.
const LAB_MEMORY: u64 = 2 << 20;
/// NAS kernels, those that talk most first.
const KERNELS: [Kernel; 6] = [Kernel::Is, Kernel::Cg, Kernel::Ft, Kernel::Mg, Kernel::Lu, Kernel::Ep];

/// A program, as words for this program.
struct Program {
    name: String,
    words: Vec<String>,
    /// HPCC's problem; the other programs say with their exit code whether their results are right.
    input: Option<Input>,
}

/// What came of a program.
struct Outcome {
    verdict: String,
    finding: Option<Finding>,
}

/// Runs all programs that there are. What is told of them goes into the report; `begun` is called with the number and name of each.
pub fn run(
    arguments: &CheckArgs,
    subject: &Subject,
    report: &mut Report,
    mut begun: impl FnMut(usize, &str),
) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (number, program) in programs(arguments, subject)?.iter().enumerate() {
        begun(number, &program.name);
        let begin = Instant::now();
        let outcome = program.run()?;
        let seconds = format!("{:.1}", begin.elapsed().as_secs_f64());
        rows.push(vec![program.name.clone(), seconds, outcome.verdict]);
        report.findings.extend(outcome.finding);
    }
    let names = ["program", "seconds", "verdict"].map(str::to_owned).to_vec();
    report.tables.push(("Burn-in".into(), names, rows));
    report.sort();
    Ok(())
}

fn programs(arguments: &CheckArgs, subject: &Subject) -> Result<Vec<Program>, Failure> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let hosts = &subject.cluster.hosts;
    let place = match (&subject.lab, &arguments.cluster) {
        (Some(lab), _) => vec!["--lab".to_owned(), lab.lab.clone()],
        (None, Some(file)) => vec!["--cluster".to_owned(), std::path::absolute(file)?.display().to_string()],
        _ => Vec::new(),
    };
    let mut programs = Vec::new();
    for (kernel, file) in kernels(arguments)? {
        // They divide their grids by two again and again.
        let ranks = 1 << (hosts.len() as u32).min(Kernel::MOST_RANKS).ilog2();
        let class = if subject.lab.is_some() { "S" } else { "A" };
        let how = words(&format!("-n {ranks} --transport tcp"));
        let program = vec![file.display().to_string(), "--class".into(), class.into()];
        let words = [words("run"), place.clone(), how, program].concat();
        programs.push(Program { name: format!("NAS {kernel}"), words, input: None });
    }
    if subject.lab.is_some() && arguments.nas.is_none() {
        for kernel in ["is", "cg", "ep"] {
            let options =
                words(&format!("--kernel {kernel} --class S --repetitions 1 --transport tcp --json"));
            let words = [words("bench nas"), place.clone(), options].concat();
            programs.push(Program { name: format!("NAS {}", kernel.to_uppercase()), words, input: None });
        }
    }
    if find_program("hpcc".as_ref(), &std::env::vars_os().collect()).is_none() {
        eprintln!("tasuki: HPCC is left out: it is not installed here (Debian's package is hpcc)");
    } else if subject.lab.is_none() && hosts.first().is_none_or(|first| first.name != host_name()) {
        // Rank 0 reads the problem and writes the results.
        let first = hosts.first().map_or("", |host| host.name.as_str());
        eprintln!(
            "tasuki: HPCC is left out: run the check on {first}, the file's first host, where its results are"
        );
    } else {
        let memory = match subject.lab {
            Some(_) => LAB_MEMORY,
            None => (hosts.len() as u64 * arguments.memory_mb as u64) << 20,
        };
        let input = problem(hosts.len() as u32, memory)?;
        let ranks = words(&format!("-n {} --transport tcp hpcc", input.ranks()));
        let words = [words("run"), place, ranks].concat();
        programs.push(Program { name: "HPCC".into(), words, input: Some(input) });
    }
    Ok(programs)
}

/// The NAS kernels in the folder that was named.
pub fn kernels(arguments: &CheckArgs) -> Result<Vec<(Kernel, PathBuf)>, Failure> {
    let Some(folder) = &arguments.nas else { return Ok(Vec::new()) };
    let folder = std::path::absolute(folder)?;
    let file = |kernel: Kernel| (kernel, folder.join(kernel.program()));
    let found: Vec<_> = KERNELS.into_iter().map(file).filter(|(_, file)| file.is_file()).collect();
    if found.is_empty() {
        return Err(Failure::new(format!(
            "{} has none of the NAS kernels is, cg, ft, mg, lu, ep; build them on every host: bench/nas/build.sh mpicc {0}",
            folder.display()
        )));
    }
    Ok(found)
}

/// A problem of about that size, or the smallest for so many ranks.
fn problem(ranks: u32, memory: u64) -> Result<Input, Failure> {
    let input = match Input::new(ranks, memory) {
        Err(HpccError::Memory { least, .. }) => Input::new(ranks, least),
        other => other,
    };
    input.map_err(|error| Failure::new(error.to_string()))
}

impl Program {
    fn run(&self) -> Result<Outcome, Failure> {
        let folder = tempfile::tempdir()?;
        if let Some(input) = &self.input {
            hpcc::prepare(folder.path(), input).map_err(|error| Failure::new(error.to_string()))?;
        }
        let mut command = this_program(&self.words);
        command.current_dir(folder.path());
        let output = run_limited(&mut command, LIMIT)?;
        if !output.is_success() {
            return Ok(self.failed(&output.reason(), &output.stderr_tail(3)));
        }
        Ok(match &self.input {
            Some(input) => self.verify(folder.path(), input),
            None => Outcome { verdict: "its results are right".into(), finding: None },
        })
    }

    /// HPCC ends well whatever its tests found: what it wrote tells.
    fn verify(&self, folder: &Path, input: &Input) -> Outcome {
        let outcome = match hpcc::collect(folder, input) {
            Ok(outcome) => outcome,
            Err(error) => return self.failed("it wrote no results", &error.to_string()),
        };
        if outcome.verified() {
            let verdict = format!("its results are right ({} verifications)", outcome.checks.len());
            return Outcome { verdict, finding: None };
        }
        let failed: Vec<_> =
            outcome.failed().map(|check| format!("{}: {}", check.name, check.detail)).collect();
        self.failed(&format!("{} of its verifications do not hold", failed.len()), &failed.join("; "))
    }

    fn failed(&self, why: &str, said: &str) -> Outcome {
        let says = format!("{} failed: {why}", self.name);
        let advice = format!(
            "run it alone: tasuki {}; if stages 1 to 3 find nothing, suspect memory and cooling",
            self.words.join(" ")
        );
        let part = Part::Way("all hosts".into());
        let finding = Finding::new(4, Kind::BurnIn, part, says, advice).seen(said);
        Outcome { verdict: why.into(), finding: Some(finding) }
    }
}
