//! Stage 4: parallel programs that check their own results.

use crate::{CheckError, Finding, Kind, Part, Report};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tasuki_bench::{
    hpcc::{self, HpccError, Input},
    nas::Kernel,
};
use tasuki_cluster::Host;
use tasuki_fleet::{Fleet, host_name, this_program};
use tasuki_launch::find_program;
use tasuki_process::Limited;

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(3600);
/// Memory of HPCC's matrix in a lab, bytes, all hosts together: they share one machine.
const LAB_MEMORY: u64 = 2 << 20;
/// Lines of standard error that a finding quotes.
const TAIL_LINES: usize = 3;
/// NAS kernels, those that communicate most first.
const KERNELS: [Kernel; 6] = [Kernel::Is, Kernel::Cg, Kernel::Ft, Kernel::Mg, Kernel::Lu, Kernel::Ep];

/// A program, started by this very command.
struct Program {
    name: String,
    /// Arguments of `tasuki`.
    argv: Vec<String>,
    /// HPCC's problem; the other programs say with their exit code whether their results are right.
    input: Option<Input>,
}

/// What came of a program.
struct Outcome {
    verdict: String,
    finding: Option<Finding>,
}

/// The programs of stage 4.
pub struct BurnIn {
    programs: Vec<Program>,
    notes: Vec<String>,
}

/// What stage 4 runs, besides HPCC.
#[derive(Clone, Copy, Debug)]
pub struct BurnInOptions<'a> {
    /// The cluster's file, from which `tasuki run` starts programs outside of labs.
    pub cluster: Option<&'a Path>,
    /// Folder with NAS kernels, the same on every host; `None`: in a lab IS, CG and EP are built, elsewhere
    /// there are none.
    pub nas: Option<&'a Path>,
    /// Memory of HPCC's matrix outside of labs, megabytes per host.
    pub memory_mb: usize,
}

impl BurnIn {
    /// Chooses the programs that can be run on a fleet.
    ///
    /// # Errors
    /// If the folder of NAS kernels holds none, or HPCC has no problem of that size.
    pub fn new(fleet: &Fleet, options: BurnInOptions<'_>) -> Result<Self, CheckError> {
        let mut chosen = Self { programs: Vec::new(), notes: Vec::new() };
        let hosts = fleet.cluster().map_or(&[][..], |cluster| &cluster.hosts);
        let lab = match fleet {
            Fleet::Lab(lab) => Some(lab.lab.as_str()),
            _ => None,
        };
        let place = match (lab, options.cluster) {
            (Some(lab), _) => vec!["--lab".to_owned(), lab.to_owned()],
            (None, Some(file)) => {
                vec!["--cluster".to_owned(), std::path::absolute(file)?.display().to_string()]
            }
            _ => Vec::new(),
        };
        for (kernel, file) in options.nas.map(nas_kernels).transpose()?.unwrap_or_default() {
            // Kernels halve their grids again and again, so the number of ranks is a power of two.
            let ranks = 1 << (hosts.len() as u32).min(Kernel::MOST_RANKS).ilog2();
            let class = if lab.is_some() { "S" } else { "A" };
            let how = split(&format!("-n {ranks} --transport tcp"));
            let program = vec![file.display().to_string(), "--class".into(), class.into()];
            chosen.add(format!("NAS {kernel}"), [split("run"), place.clone(), how, program], None);
        }
        if lab.is_some() && options.nas.is_none() {
            for kernel in ["is", "cg", "ep"] {
                let how = format!("--kernel {kernel} --class S --repetitions 1 --transport tcp --json");
                let argv = [split("bench nas"), place.clone(), split(&how), Vec::new()];
                chosen.add(format!("NAS {}", kernel.to_uppercase()), argv, None);
            }
        }
        match hpcc_obstacle(hosts, lab.is_some()) {
            Some(note) => chosen.notes.push(note),
            None => {
                let memory = match lab {
                    Some(_) => LAB_MEMORY,
                    None => (hosts.len() as u64 * options.memory_mb as u64) << 20,
                };
                let input = hpcc_problem(hosts.len() as u32, memory)?;
                let how = split(&format!("-n {} --transport tcp hpcc", input.ranks()));
                chosen.add("HPCC".into(), [split("run"), place, how, Vec::new()], Some(input));
            }
        }
        Ok(chosen)
    }

    fn add(&mut self, name: String, argv: [Vec<String>; 4], input: Option<Input>) {
        self.programs.push(Program { name, argv: argv.concat(), input });
    }

    /// Which programs are left out, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Runs the programs and adds to the report what comes of them. `begun` is called with the number and
    /// name of each.
    ///
    /// # Errors
    /// If a program cannot be started.
    pub fn run(&self, report: &mut Report, mut begun: impl FnMut(usize, &str)) -> Result<(), CheckError> {
        let mut rows = Vec::new();
        for (number, program) in self.programs.iter().enumerate() {
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
}

fn split(arguments: &str) -> Vec<String> {
    arguments.split_whitespace().map(str::to_owned).collect()
}

/// Why HPCC cannot be run; `None`: it can.
fn hpcc_obstacle(hosts: &[Host], is_lab: bool) -> Option<String> {
    if find_program("hpcc".as_ref(), &std::env::vars_os().collect()).is_none() {
        return Some("HPCC is left out: it is not installed here (Debian's package is hpcc)".into());
    }
    let first = hosts.first()?;
    // Rank 0 reads the problem and writes the results, so it has to be on this machine.
    (!is_lab && first.name != host_name()).then(|| {
        format!(
            "HPCC is left out: run the check on {}, the file's first host, where its results are",
            first.name
        )
    })
}

/// The NAS kernels in a folder.
///
/// # Errors
/// If there is none.
pub fn nas_kernels(folder: &Path) -> Result<Vec<(Kernel, PathBuf)>, CheckError> {
    let folder = std::path::absolute(folder)?;
    let file = |kernel: Kernel| (kernel, folder.join(kernel.program()));
    let found: Vec<_> = KERNELS.into_iter().map(file).filter(|(_, file)| file.is_file()).collect();
    if found.is_empty() { Err(CheckError::NoKernels { folder }) } else { Ok(found) }
}

/// A problem of about that many bytes, or the smallest for so many ranks.
fn hpcc_problem(ranks: u32, memory: u64) -> Result<Input, HpccError> {
    match Input::new(ranks, memory) {
        Err(HpccError::Memory { least, .. }) => Input::new(ranks, least),
        other => other,
    }
}

impl Program {
    fn run(&self) -> Result<Outcome, CheckError> {
        let folder = tempfile::tempdir()?;
        if let Some(input) = &self.input {
            hpcc::prepare(folder.path(), input)?;
        }
        let mut command = this_program(&self.argv);
        command.current_dir(folder.path());
        let output = Limited::new(LIMIT).end_with_parent().run(&mut command)?;
        if !output.is_success() {
            return Ok(self.failed(&output.reason(), &output.stderr_tail(TAIL_LINES)));
        }
        Ok(match &self.input {
            Some(input) => self.verify(folder.path(), input),
            None => Outcome { verdict: "its results are right".into(), finding: None },
        })
    }

    /// HPCC ends with exit code 0 whatever its tests found; the verdict is in the file that it wrote.
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
            self.argv.join(" ")
        );
        let part = Part::Route("all hosts".into());
        let finding = Finding::new(4, Kind::BurnIn, part, says, advice).seen(said);
        Outcome { verdict: why.into(), finding: Some(finding) }
    }
}
