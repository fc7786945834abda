//! `tasuki run` and `tasuki env`.

use crate::{
    args::{EnvArgs, RunArgs},
    bench::LabNetwork,
    execute::{exit_code, in_host, request_here},
    failure::Failure,
    lab::find,
    mpi::{Finder, cluster_facts, job, lab_facts, paths},
    terminal::print_json,
};
use std::{
    ffi::OsString,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};
use tasuki_cluster::Cluster;
use tasuki_lab::Job as LabJob;
use tasuki_launch::{Facts, STOP_GRACE, Transport, environment};

/// Runs an MPI program on a cluster.
pub fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let finder = Finder::here()?;
    let detected = finder.detect(&arguments.program, arguments.mpi.as_deref())?;
    let folder = std::env::current_dir()?;
    if let Some(file) = &arguments.cluster {
        let cluster = Cluster::load(file)?;
        let facts = cluster_facts(&cluster, arguments.ranks)?;
        let mut job = job(&cluster, facts, arguments.ranks, &detected, folder);
        job.placement = arguments.placement();
        job.env.extend(exports(&arguments.export)?);
        let command = job.command(&detected.mpi)?;
        if arguments.dry_run {
            println!("{}", command.to_shell());
            return Ok(ExitCode::SUCCESS);
        }
        // In place of this process: signals, output and exit code need nobody in between.
        let error = Command::new(&command.argv[0]).args(&command.argv[1..]).envs(command.env).exec();
        return Err(Failure::new(format!("cannot run {}: {error}", command.argv[0].display())));
    }
    let network = LabNetwork::running(arguments.lab.as_deref())?;
    let facts = lab_facts(&network, arguments.ranks);
    let mut job = job(&network.cluster, facts, arguments.ranks, &detected, folder);
    job.placement = arguments.placement();
    job.env.extend(exports(&arguments.export)?);
    let command = job.command(&detected.mpi)?;
    if arguments.dry_run {
        println!("{}", command.to_shell());
        return Ok(ExitCode::SUCCESS);
    }
    let lab = find(Some(&network.lab))?;
    let first = network.cluster.hosts.first().ok_or_else(|| Failure::new("the lab has no hosts"))?;
    let mut request = request_here(&first.name, command.argv, LabJob::Root)?;
    for (name, value) in command.env {
        request.env.retain(|(known, _)| *known != name);
        request.env.push((name, value));
    }
    request.share = paths(&detected.mpi, &detected);
    lab.share(&request)?;
    Ok(exit_code(in_host(&lab, request, Some(STOP_GRACE))?))
}

/// `NAME=VALUE`, or `NAME` with the value that it has here.
fn exports(words: &[String]) -> Result<Vec<(OsString, OsString)>, Failure> {
    let export = |word: &String| match word.split_once('=') {
        Some((name, value)) => Ok((name.into(), value.into())),
        None => match std::env::var_os(word) {
            Some(value) => Ok((word.into(), value)),
            None => {
                Err(Failure::new(format!("--export {word}: there is no such variable; write {word}=VALUE")))
            }
        },
    };
    words.iter().map(export).collect()
}

/// Prints what plain mpirun or srun needs.
pub fn env(arguments: &EnvArgs) -> Result<ExitCode, Failure> {
    let mpi = Finder::here()?.one(&arguments.mpi)?;
    let facts: Facts = match &arguments.cluster {
        Some(file) => {
            let cluster = Cluster::load(file)?;
            // Nothing is known of the job, so it is taken to fit.
            cluster_facts(&cluster, 1)?
        }
        None => lab_facts(&LabNetwork::running(arguments.lab.as_deref())?, 1),
    };
    let settings = environment(&mpi, Transport::Tcp, &facts);
    if arguments.json {
        let all: Vec<_> = settings
            .iter()
            .map(|s| serde_json::json!({ "name": s.variable(), "value": s.value, "why": s.why }))
            .collect();
        print_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("# {} at {}", mpi.id(), mpi.prefix().display());
    for setting in settings {
        println!("# {}\nexport {}='{}'", setting.why, setting.variable(), setting.value);
    }
    Ok(ExitCode::SUCCESS)
}
