//! The built commands run: every MPI of this machine takes each argument of its command line and each
//! setting, with two ranks on this host and loopback in place of the identity interface. (The tests of
//! `tasuki` run them on hosts of a lab.)

mod common;

use common::{compile, facts, installed, job};
use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};
use tasuki_launch::{Flavour, Job, JobHost, Mpi};

/// Much longer than any of them takes; it keeps a hang from stopping the tests.
const LIMIT: Duration = Duration::from_secs(120);

fn local(argv: &[&str]) -> Job {
    let mut facts = facts();
    facts.identity_interface = "lo".into();
    (facts.agent, facts.management, facts.hosts, facts.oversubscribed) = (None, None, 1, true);
    Job {
        argv: argv.iter().map(Into::into).collect(),
        hosts: vec![JobHost { name: "localhost".into(), slots: 2 }],
        facts,
        as_root: nix::unistd::Uid::effective().is_root(),
        folder: Some("/".into()),
        env: vec![("TASUKI_TEST".into(), "a b;c".into())],
        ..job(2)
    }
}

/// Runs the command. Returns its exit code and both outputs.
fn run(job: &Job, mpi: &Mpi) -> (Option<i32>, String) {
    let command = job.command(mpi).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("output");
    let file = || std::fs::OpenOptions::new().create(true).append(true).open(&output).unwrap();
    let mut child = Command::new(&command.argv[0])
        .args(&command.argv[1..])
        .envs(command.env)
        .stdin(std::process::Stdio::null())
        .stdout(file())
        .stderr(file())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > LIMIT => {
                child.kill().unwrap();
                panic!("{} hangs: {}", mpi.id(), std::fs::read_to_string(&output).unwrap_or_default());
            }
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    (status.code(), String::from_utf8_lossy(&std::fs::read(&output).unwrap()).into_owned())
}

fn for_each(name: &str, argv: &[&str], check: impl Fn(&Mpi, Option<i32>, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let all = installed();
    for mpi in &all {
        // Intel MPI has no compiler wrapper; it runs programs that an MPICH has compiled.
        let compiler = match mpi.flavour {
            Flavour::Intel => all.iter().rfind(|other| {
                other.flavour == Flavour::Mpich && other.prefix() != std::path::Path::new("/usr")
            }),
            _ => Some(mpi),
        };
        let Some(program) = compiler.and_then(|compiler| compile(compiler, name, folder.path())) else {
            eprintln!("skipped: nothing compiles for {}", mpi.id());
            continue;
        };
        let words = [&[program.to_str().unwrap()], argv].concat();
        let mut job = local(&words);
        if mpi.flavour == Flavour::Intel {
            job.env.push(("LD_LIBRARY_PATH".into(), mpi.library_folder().into()));
        }
        let (code, output) = run(&job, mpi);
        check(mpi, code, &output);
    }
    if all.is_empty() {
        eprintln!("skipped: no MPI is installed");
    }
}

#[test]
fn hello_on_every_installed_mpi() {
    for_each("hello", &[], |mpi, code, output| {
        assert_eq!(code, Some(0), "{}: {output}", mpi.id());
        assert!(output.contains("rank 1 of 2 on ") && output.contains("ring ok"), "{}: {output}", mpi.id());
    });
}

#[test]
fn alltoall_on_every_installed_mpi() {
    for_each("alltoall", &[], |mpi, code, output| {
        assert_eq!((code, output.contains("alltoall ok")), (Some(0), true), "{}: {output}", mpi.id());
    });
}

#[test]
fn abort_codes_come_back() {
    for_each("fault", &["abort", "7"], |mpi, code, output| {
        // Intel's launcher or its proxies sometimes die of SIGPIPE instead (docs/reference/exit-codes.md).
        let is_theirs = mpi.flavour == Flavour::Intel && matches!(code, None | Some(255 | 141));
        assert!(code == Some(7) || is_theirs, "{}: {code:?}: {output}", mpi.id())
    });
}
