//! The whole library on one machine: Open MPI over shared memory against loopback TCP, as table, JSON and
//! plots.
//!
//! `cargo run --release -p tasuki-bench --example local -- FOLDER`

use std::{error::Error, ops::ControlFlow, path::PathBuf, process::Command, time::Duration};
use tasuki_bench::{Launch, LaunchError, Network, Output, Plan, Run, Stack, TestSet, program};
use tasuki_process::run_limited;

struct Local {
    program: PathBuf,
}

impl Launch for Local {
    fn launch(&mut self, run: &Run<'_>) -> Result<Output, LaunchError> {
        let transport = if run.stack.lane == "shm" { "vader,self" } else { "tcp,self" };
        let mut command = Command::new("mpirun");
        command
            .args(["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"])
            .args(["--mca", "pml", "ob1", "--mca", "btl", transport, "-np", &run.ranks.to_string()])
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .arg(&self.program)
            .args(run.arguments);
        Ok(run_limited(&mut command, run.limit)?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("which folder?")?);
    let program = folder.join(program::NAME);
    program::build("mpicc".as_ref(), &program)?;
    let stack = |lane: &str| Stack { name: format!("openmpi-{lane}"), lane: lane.into() };
    let network = |name: &str| Network { name: name.into(), hosts: 1, line: None, offloads: "on".into() };
    let pair = ["pingpong:8,64,512,4k,32k,256k", "stream:64,1k,16k,256k"];
    let all = ["barrier", "allreduce:8,1k,64k", "alltoall:8,1k,16k", "heat:512,4k"];
    let set = |ranks, tests: &[&str]| -> Result<TestSet, Box<dyn Error>> {
        Ok(TestSet { ranks, tests: tests.iter().map(|test| test.parse()).collect::<Result<_, _>>()? })
    };
    let plan = Plan {
        networks: vec![network("this machine")],
        stacks: vec![stack("shm"), stack("tcp")],
        sets: vec![set(2, &pair)?, set(4, &all)?],
        repetitions: 6,
        seconds_per_point: 0.1,
        samples_per_point: 50,
        calls: None,
        run_limit: Duration::from_secs(60),
    };
    let mut progress = |progress: tasuki_bench::Progress<'_>| {
        eprintln!("{} of {}: {}", progress.done + 1, progress.total, progress.step);
        ControlFlow::Continue(())
    };
    let report = tasuki_bench::run(&plan, &mut Local { program }, &mut progress)?;
    print!("{}", report.table_against("openmpi-tcp"));
    std::fs::write(folder.join("records.json"), report.json())?;
    for test in report.tests() {
        if let Some(plot) = report.svg(test)? {
            std::fs::write(folder.join(format!("{test}.svg")), plot)?;
        }
    }
    Ok(())
}
