//! The MPI program and the runner with a real MPI on this machine. Without an MPI they are skipped.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};
use tasuki_bench::{
    Launch, LaunchError, Network, Output, Plan, Report, Run, Stack, TestPlan, TestSet, parse_lines, program,
};
use tasuki_process::run_limited;

/// Limit of the time of a run: for hangs alone. Beside other programs two ranks that wait for each other get
/// a processor in turn, a slice of milliseconds for each message.
const LIMIT: Duration = Duration::from_secs(900);

/// The program, built once for all tests with the MPI of the system.
fn built() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(program::NAME);
    match program::build(Path::new("mpicc"), &target) {
        Ok(()) => Some(target),
        Err(program::BuildError::NoCompiler { .. }) => {
            eprintln!("skipped: no mpicc");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// An mpirun that allows Open MPI more ranks than cores, as root too. The options are environment variables,
/// which other MPIs ignore. Open MPI 4 gets a folder for its files: it has one for all jobs of a user, and a
/// job that ends takes it away while another begins.
fn mpirun(transport: &str, ranks: u32, folder: &Path) -> Command {
    let mut command = Command::new("mpirun");
    command
        .args(["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"])
        .args(["--mca", "pml", "ob1", "--mca", "btl", transport, "-np", &ranks.to_string()])
        .env("OMPI_MCA_orte_tmpdir_base", folder)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

fn run(ranks: u32, arguments: &[&str]) -> Option<Output> {
    let program = built()?;
    let folder = tempfile::tempdir().unwrap();
    let mut command = mpirun("vader,self", ranks, folder.path());
    match run_limited(command.arg(program).args(arguments), LIMIT) {
        Ok(output) => Some(output),
        Err(error) => panic!("mpirun: {error}"),
    }
}

const QUICK: [&str; 4] = ["--seconds", "0.02", "--samples", "4"];

/// Compiler wrappers: the system's, and those of the MPIs that `scripts/peers` has installed, if any.
fn compilers() -> Vec<PathBuf> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let installed = std::fs::read_dir(peers).into_iter().flatten().flatten();
    let wrappers = installed.map(|entry| entry.path().join("bin/mpicc")).filter(|wrapper| wrapper.is_file());
    std::iter::once(PathBuf::from("mpicc")).chain(wrappers).collect()
}

#[test]
fn every_compiler_takes_the_program_without_a_warning() {
    if built().is_none() {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/mpi");
    for compiler in compilers() {
        let script = format!("'{}' -std=c11 -Wall -Wextra -Werror -fsyntax-only *.c", compiler.display());
        let mut command = Command::new("sh");
        let Ok(output) = run_limited(command.args(["-c", &script]).current_dir(&source), LIMIT) else {
            panic!("not started")
        };
        assert!(output.is_success(), "{}: {}", compiler.display(), output.stderr);
    }
}

#[test]
fn the_program_is_built_once_and_refusals_are_told() {
    let Some(target) = built() else { return };
    let time = || std::fs::metadata(&target).and_then(|facts| facts.modified()).ok();
    let before = time();
    assert!(before.is_some() && build().is_some());
    assert_eq!(time(), before, "it was built again without need");
    let refused = program::build(Path::new("false"), &target.with_file_name("refused"));
    assert!(matches!(refused, Err(program::BuildError::Refused { .. })), "{refused:?}");
}

#[test]
fn every_test_verifies_what_it_moves() {
    let tests = [
        "pingpong:0,1,70000",
        "stream:1,70000",
        "barrier",
        "allreduce:8,40000",
        "alltoall:1,5000",
        "heat:64,264",
        "halo:0,5000",
    ];
    // Three ranks are no power of two, and may be more than this machine has cores.
    let Some(output) = run(3, &[&QUICK[..], &tests[..]].concat()) else { return };
    assert!(output.is_success(), "{}: {}", output.reason(), output.stderr);
    let lines = parse_lines(&output.stdout).unwrap_or_default();
    assert_eq!(lines.len(), 14);
    for line in &lines {
        assert_eq!((line.ranks, line.hosts), (3, 1), "{line:?}");
        assert_eq!(line.verified.is_some(), line.test != "barrier", "{line:?}");
        assert!((3..=4).contains(&line.samples.len()), "{line:?}");
        // The payload is that of one operation times a whole number of operations.
        let bytes = line.bytes as f64;
        let moved = match line.test.as_str() {
            "pingpong" => 2.0 * bytes,
            "stream" => bytes,
            "allreduce" => 3.0 * bytes,
            "alltoall" => 6.0 * bytes,
            // Three ranks in a row have two borders, which a row of points crosses in both directions.
            "heat" => 4.0 * bytes,
            // In a ring of three ranks each has two neighbours.
            "halo" => 6.0 * bytes,
            _ => 0.0,
        };
        let operations = if moved > 0.0 { line.moved_bytes / moved } else { 0.0 };
        assert_eq!(operations.fract(), 0.0, "{line:?}");
        assert_eq!(operations > 0.0, moved > 0.0, "{line:?}");
    }
}

#[test]
fn a_damaged_byte_is_found_in_every_test() {
    for test in ["pingpong:64", "stream:5000", "allreduce:64", "alltoall:100", "heat:64", "halo:64"] {
        let Some(output) = run(3, &[&QUICK[..], &["--corrupt-rank", "0", test]].concat()) else { return };
        assert_eq!(output.code, Some(3), "{test}: {}", output.stderr);
        assert!(output.stderr.contains("should be"), "{test}: {}", output.stderr);
        assert_eq!(parse_lines(&output.stdout).unwrap_or_default(), [], "{test}");
    }
}

#[test]
fn nonsense_on_the_command_line_is_refused() {
    let wrong = [
        &["--seconds", "0", "barrier"][..],
        &["--samples", "1001", "barrier"],
        &["--sample", "3", "barrier"],
        &["allreduce:12"],
        &["heat:8"],
        &["pingpong:1,,2"],
        &["pingpong:-1"],
        &["barriers"],
        &[],
    ];
    for arguments in wrong {
        // Without a launcher there is one rank, which starts much faster.
        let Some(program) = built() else { return };
        let Ok(output) = run_limited(Command::new(program).args(arguments), LIMIT) else {
            panic!("not started")
        };
        assert_eq!(output.code, Some(2), "{arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains("usage:"), "{arguments:?}: {}", output.stderr);
    }
}

/// A local mpirun; the name of a stack is that of its transport.
struct Local {
    program: PathBuf,
    /// Number of starts of each stack.
    started: BTreeMap<String, usize>,
    order: Vec<String>,
}

impl Launch for Local {
    fn launch(&mut self, run: &Run<'_>) -> Result<Output, LaunchError> {
        *self.started.entry(run.stack.name.clone()).or_default() += 1;
        self.order.push(run.stack.name.clone());
        match run.stack.name.as_str() {
            "nowhere" => Err("there is no such MPI".into()),
            "broken" => {
                // A launcher may end with another code than its ranks.
                let arguments = ["-c", "echo cannot reach n2 >&2; exit 7"];
                Ok(run_limited(Command::new("sh").args(arguments), run.limit)?)
            }
            "endless" => Ok(run_limited(Command::new("sleep").arg("1000"), Duration::from_millis(50))?),
            "idle" => Ok(run_limited(&mut Command::new("true"), run.limit)?),
            transport => {
                let folder = tempfile::tempdir()?;
                let mut command = mpirun(transport, run.ranks, folder.path());
                Ok(run_limited(command.arg(&self.program).args(run.arguments), run.limit)?)
            }
        }
    }
}

fn plan(stacks: &[&str], hosts: u32) -> Plan {
    let stack = |name: &&str| Stack { name: (*name).into(), lane: "local".into() };
    let test = |text: &str| match text.parse::<TestPlan>() {
        Ok(test) => test,
        Err(error) => panic!("{error}"),
    };
    Plan {
        networks: vec![Network { name: "one host".into(), hosts, line: None, offloads: "on".into() }],
        stacks: stacks.iter().map(stack).collect(),
        sets: vec![TestSet { ranks: 2, tests: vec![test("pingpong:8,4k"), test("barrier")] }],
        repetitions: 2,
        seconds_per_point: 0.02,
        samples_per_point: 4,
        calls: None,
        run_limit: LIMIT,
    }
}

fn run_plan(plan: &Plan) -> Option<(Report, Local)> {
    let mut local = Local { program: built()?, started: BTreeMap::new(), order: Vec::new() };
    match tasuki_bench::run(plan, &mut local, &mut |_| ControlFlow::Continue(())) {
        Ok(report) => Some((report, local)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn stacks_run_in_turn_and_failures_stay_alone() {
    let stacks = ["vader,self", "broken", "tcp,self", "nowhere", "endless", "idle"];
    let Some((report, local)) = run_plan(&plan(&stacks, 1)) else { return };
    let good: Vec<(&str, &str, u64, usize)> = report
        .records
        .iter()
        .map(|r| (r.stack.as_str(), r.test.as_str(), r.bytes, r.repetitions.len()))
        .collect();
    let of = |stack| [(stack, "pingpong", 8, 2), (stack, "pingpong", 4096, 2), (stack, "barrier", 0, 2)];
    assert_eq!(good, [of("vader,self"), of("tcp,self")].concat());
    // All run once in the first repetition; in the second, only those that had worked.
    assert_eq!(local.order, [&stacks[..], &["vader,self", "tcp,self"]].concat());
    let why: BTreeMap<&str, &str> =
        report.failures.iter().map(|f| (f.stack.as_str(), f.reason.as_str())).collect();
    assert_eq!(why["broken"], "exit code 7");
    assert_eq!(why["nowhere"], "there is no such MPI");
    assert_eq!(why["endless"], "time limit");
    assert_eq!(why["idle"], "no result for pingpong of 8 bytes");
    let tail = report.failures.iter().find(|f| f.stack == "broken").map(|f| f.stderr_tail.as_str());
    assert!(tail.is_some_and(|tail| tail.contains("cannot reach n2")), "{tail:?}");
    let table = report.table_against("tcp,self");
    assert!(table.contains("FAILED broken") && table.contains("vader,self"), "{table}");
    assert_eq!(report.compare("tcp,self").len(), 3);
}

#[test]
fn calls_that_are_timed_one_by_one_tell_of_the_worst() {
    let sets = vec![TestSet { ranks: 2, tests: vec!["pingpong:8".parse().expect("a test")] }];
    let calls = Plan { calls: Some(1000), sets, ..plan(&["vader,self"], 1) };
    let Some((report, _)) = run_plan(&calls) else { return };
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    for record in &report.records {
        assert_eq!(record.samples.len(), 2 * 1000, "two repetitions");
        let mut sorted = record.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let tail = record.p99_9.unwrap_or_default();
        assert!(sorted[1997] <= tail && tail <= sorted[1999], "{tail}");
    }
    assert!(report.table_against("vader,self").contains("p99.9"));
}

#[test]
fn ranks_on_the_wrong_number_of_hosts_are_a_failure() {
    let Some((report, _)) = run_plan(&plan(&["vader,self"], 2)) else { return };
    assert_eq!(report.records, []);
    assert_eq!(report.failures[0].reason, "the program ran as 2 ranks on 1 hosts, not 2 on 2");
}

#[test]
fn a_stopped_plan_keeps_what_it_has() {
    let Some(program) = built() else { return };
    let mut local = Local { program, started: BTreeMap::new(), order: Vec::new() };
    let mut steps = Vec::new();
    let report = tasuki_bench::run(&plan(&["vader,self"], 1), &mut local, &mut |progress| {
        steps.push((progress.done, progress.total, progress.step.to_owned()));
        if progress.done < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let Ok(report) = report else { panic!("{report:?}") };
    assert!(report.interrupted);
    assert_eq!((local.started["vader,self"], report.records.len()), (1, 3));
    assert_eq!(steps[1].2, "repetition 1 of 2, one host, vader,self: 2 ranks pingpong:8,4096 barrier");
    assert_eq!(
        steps.iter().map(|step| (step.0, step.1)).collect::<Vec<_>>(),
        [(0, 4), (1, 4), (2, 4), (3, 4)]
    );
}
