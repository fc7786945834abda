//! `tasuki run` and `tasuki env`.

use crate::{
    args::{EnvArgs, RunArgs},
    bench::LabNetwork,
    execute::{exit_code, in_host, request_here},
    failure::Failure,
    lab::find,
    mpi::{Finder, cluster_facts, job, lab_facts, paths},
    terminal::print_json,
    transport::choose,
    version,
};
use std::{
    ffi::OsString,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, ExitCode},
};
use tasuki_cluster::{AddressStyle, Cluster};
use tasuki_lab::Job as LabJob;
use tasuki_launch::{
    Detected, Facts, Flavour, LaunchCommand, Mpi, STOP_GRACE, Scope, Setting, Transport, environment,
};

/// Runs an MPI program on a cluster.
pub fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let detected = Finder::here()?.detect(&arguments.program, arguments.mpi.as_deref())?;
    let transport = choose(arguments.transport, &detected.mpi)?;
    match &arguments.cluster {
        Some(file) => {
            let cluster = Cluster::load(file)?;
            let facts = cluster_facts(&cluster, arguments.ranks)?;
            let command = command(arguments, &cluster, facts, &detected, &transport)?;
            if matches!(transport, Transport::Tasuki(_)) && !arguments.dry_run {
                version::same_everywhere(&cluster)?;
            }
            run_here(arguments, command)
        }
        None => {
            let network = LabNetwork::running(arguments.lab.as_deref())?;
            let facts = lab_facts(&network.cluster, arguments.ranks);
            let command = command(arguments, &network.cluster, facts, &detected, &transport)?;
            let mut share = paths(&detected.mpi, &detected, &transport);
            share.extend(std::env::var_os("TASUKI_RAILS").map(PathBuf::from));
            run_in_lab(arguments, &network, command, share)
        }
    }
}

/// The launcher's command line.
fn command(
    arguments: &RunArgs,
    cluster: &Cluster,
    facts: Facts,
    detected: &Detected,
    transport: &Transport,
) -> Result<LaunchCommand, Failure> {
    one_network(cluster)?;
    let mut job = job(cluster, facts, arguments.ranks, detected, transport, std::env::current_dir()?);
    job.placement = arguments.placement();
    job.env.extend(exports(&arguments.export)?);
    Ok(job.command(&detected.mpi)?)
}

/// Runs the launcher on this machine, in place of this process: signals, output and exit code need nobody in
/// between.
fn run_here(arguments: &RunArgs, command: LaunchCommand) -> Result<ExitCode, Failure> {
    if arguments.dry_run {
        println!("{}", command.to_shell());
        return Ok(ExitCode::SUCCESS);
    }
    let error = Command::new(&command.argv[0]).args(&command.argv[1..]).envs(command.env).exec();
    Err(Failure::new(format!("cannot run {}: {error}", command.argv[0].display())))
}

/// Runs the launcher on a lab's first host, and ends everything of the job with it.
fn run_in_lab(
    arguments: &RunArgs,
    network: &LabNetwork,
    command: LaunchCommand,
    share: Vec<PathBuf>,
) -> Result<ExitCode, Failure> {
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
    request.share = share;
    lab.share(&request)?;
    Ok(exit_code(in_host(&lab, request, Some(STOP_GRACE))?))
}

/// MPIs are told of one network that leads to all hosts, which a cluster with one subnet per cable has not.
fn one_network(cluster: &Cluster) -> Result<(), Failure> {
    if cluster.addressing.style == AddressStyle::Identity {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the cluster {} has one subnet per cable (`addresses = \"subnets\"`), and MPIs want one network that leads to all hosts: leave \
         `addresses` out of the file, or start the MPI by hand",
        cluster.name
    )))
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

/// What a shell sets a variable to. Folders come behind those that it lists already.
fn shell_value(setting: &Setting) -> String {
    match setting.scope {
        Scope::Folders => format!("\"${{{0}:+${0}:}}\"'{1}'", setting.variable(), setting.value),
        _ => format!("'{}'", setting.value),
    }
}

/// Words for the mpirun of an Open MPI, which passes on nothing but OMPI_* by itself; none if there is nothing else.
/// (`mca_base_env_list` would do it from the environment, but then 4.1 refuses every `-x`.)
fn passed_by_hand(mpi: &Mpi, settings: &[Setting]) -> Option<String> {
    let is_open = matches!(mpi.flavour, Flavour::OpenMpi4 | Flavour::OpenMpi5);
    let variables = settings.iter().filter(|setting| is_open && setting.is_variable());
    let words: Vec<_> = variables.map(|setting| format!("-x {}", setting.name)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Prints what plain mpirun or srun needs.
pub fn env(arguments: &EnvArgs) -> Result<ExitCode, Failure> {
    let mpi = Finder::here()?.one(&arguments.mpi)?;
    let facts: Facts = match &arguments.cluster {
        Some(file) => {
            let cluster = Cluster::load(file)?;
            one_network(&cluster)?;
            // Nothing is known of the job, so it is taken to fit.
            cluster_facts(&cluster, 1)?
        }
        None => lab_facts(&LabNetwork::running(arguments.lab.as_deref())?.cluster, 1),
    };
    let transport = choose(arguments.transport, &mpi)?;
    let settings = environment(&mpi, &transport, &facts);
    if arguments.json {
        let all: Vec<_> = settings
            .iter()
            .map(|s| serde_json::json!({ "name": s.variable(), "value": s.value, "why": s.why }))
            .collect();
        print_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("# {} at {}, over {}", mpi.id(), mpi.prefix().display(), transport.name());
    for setting in &settings {
        println!("# {}\nexport {}={}", setting.why, setting.variable(), shell_value(setting));
    }
    if let Some(words) = passed_by_hand(&mpi, &settings) {
        println!("# Open MPI passes these on to other hosts only if it is told: mpirun {words} ...");
    }
    Ok(ExitCode::SUCCESS)
}
