//! `tasuki run` and `tasuki env`.

use crate::{
    copy,
    debug::run_debugged,
    fleet, jobs,
    lab::exit_code,
    report::{self, Before},
    trace,
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};
use tasuki_args::{EnvArgs, Library, RunArgs, transport::choose};
use tasuki_cluster::Cluster;
use tasuki_copy::{Needed, Wanted};
use tasuki_cores::Cores;
use tasuki_debug::stand;
use tasuki_fleet::{Fleet, LabHosts, SshHosts};
use tasuki_hang::HangWatch;
use tasuki_job::{
    Finder, JobFacts, JobRequest, KeyAdvice, PlainRequest, Recording, RunError, check_one_network, facts,
    key_advice, own_environment, own_provider, run_name,
};
use tasuki_lab::Exit;
use tasuki_launch::{Detected, Flavour, Mpi, NcclPlugin, Origin, Setting, environment, torch_settings};
use tasuki_load::RUN_ID;
use tasuki_terminal::{Failure, print_json, print_json_line};

/// Runs an MPI program on a cluster.
pub fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    arguments.overwrite.check_file(arguments.trace.as_deref())?;
    arguments.overwrite.check_file(arguments.report.as_deref())?;
    let program = &arguments.program;
    arguments.check()?;
    if arguments.debug && arguments.stand.is_none() {
        return run_debugged(arguments);
    }
    if arguments.resident || arguments.checkpoint.is_some() {
        return jobs::run(arguments);
    }
    if arguments.launcher.is_some() {
        return run_plain(arguments);
    }
    let detected = Finder::local()?.detect(&program.program, program.mpi.as_deref())?;
    let transport = choose(program.transport, &detected.mpi)?;
    let is_recorded = arguments.trace.is_some() || arguments.report.is_some();
    let recording = is_recorded.then(|| Recording::new(&transport)).transpose()?;
    let recorded = recording.iter().flat_map(|recording| recording.exports(&detected.mpi));
    let name = run_name()?;
    let named = (!arguments.dry_run).then(|| format!("{RUN_ID}={name}"));
    let mut exports: Vec<_> = program.export.iter().cloned().chain(recorded).chain(named).collect();
    let front = front(arguments, &mut exports);
    let fleet = Fleet::find(program.lab.as_deref(), arguments.cluster.as_deref())?;
    let cores = arguments.cores.as_deref().map(|to| cores_before(&fleet, &name, to)).transpose()?;
    if matches!(fleet, Fleet::Local) {
        eprintln!("tasuki: all ranks run on this machine: no --cluster FILE, and no lab, was named");
    }
    let request = JobRequest {
        ranks: program.ranks,
        detected: &detected,
        front: &front,
        transport: &transport,
        placement: program.placement(),
        exports: &exports,
        folder: std::env::current_dir()?,
        is_everywhere: false,
    };
    let watch = match arguments.watch_hangs {
        Some(limit) => {
            let fleet = Fleet::find(program.lab.as_deref(), arguments.cluster.as_deref())?;
            Some(HangWatch::start(fleet, name, limit, || None))
        }
        None => None,
    };
    let before = arguments.report.as_ref().map(|_| Before::of(&fleet));
    let exit = match arguments.copy {
        true => run_copied(&request, &fleet, &arguments.files, cores.as_ref())?,
        false => {
            let job = request.prepare(&fleet)?;
            if arguments.dry_run {
                println!("{}", job.shown());
                return Ok(ExitCode::SUCCESS);
            }
            let exit = match (&recording, &watch, &cores) {
                (None, None, None) => job.run(&fleet)?,
                _ => job.run_and_return(&fleet)?,
            };
            collect(cores.as_ref(), &fleet, &request.folder, &detected, exit);
            exit
        }
    };
    drop(watch);
    if let Some(recording) = recording {
        keep(arguments, &fleet, &recording, before)?;
    }
    Ok(exit_code(exit))
}

/// Runs a program without an MPI.
fn run_plain(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let RunArgs { program, label, timeout, .. } = arguments;
    let request = PlainRequest {
        ranks: program.ranks,
        program: &program.program,
        transport: program.transport.map(Into::into),
        placement: program.placement(),
        exports: &program.export,
        port: arguments.port,
        folder: std::env::current_dir()?,
    };
    let fleet = Fleet::find(program.lab.as_deref(), arguments.cluster.as_deref())?;
    let options = tasuki_ranks::Options { label: *label, timeout: *timeout };
    Ok(ExitCode::from(tasuki_ranks::run(&request, &fleet, options)?))
}

/// Writes the trace and the report of a job that has ended, if they are wanted.
fn keep(
    arguments: &RunArgs,
    fleet: &Fleet,
    recording: &Recording,
    before: Option<Before>,
) -> Result<(), Failure> {
    let program = &arguments.program.program;
    let joined = trace::fetch(recording, fleet)?;
    if let (Some(before), Some(file)) = (before, &arguments.report) {
        report::write(&before.report(fleet, program, &joined), file)?;
    }
    match &arguments.trace {
        Some(file) => trace::write(&joined, program, file),
        None => Ok(()),
    }
}

/// The words before the program, and the variables that go with them.
fn front(arguments: &RunArgs, exports: &mut Vec<String>) -> Vec<OsString> {
    let cores = if arguments.cores.is_some() { tasuki_cores::front() } else { Vec::new() };
    let Some(name) = &arguments.stand else { return cores };
    // Ranks that a debugger has stopped do not answer the greetings of others, and have not failed.
    if !exports.iter().any(|export| export.starts_with("TASUKI_GREETING")) {
        exports.push("TASUKI_GREETING=0".into());
    }
    [cores, stand(name)].concat()
}

/// Says which core files kernels will lose, before the job `name` begins.
fn cores_before(fleet: &Fleet, name: &str, to: &Path) -> Result<Cores, Failure> {
    let (cores, warnings) = Cores::before(fleet, (RUN_ID, name), to)
        .map_err(|error| Failure::new(format!("--cores {}: {error}", to.display())))?;
    warnings.iter().for_each(|warning| eprintln!("tasuki: {warning}"));
    Ok(cores)
}

/// Brings the core files of a job here that has ended, and says whose they are.
fn collect(cores: Option<&Cores>, fleet: &Fleet, folder: &Path, program: &Detected, exit: Exit) {
    let Some(cores) = cores else { return };
    let program = program.argv.first().map_or(Path::new(""), Path::new);
    let found = cores.collect(fleet, folder, program, exit != Exit::Code(0));
    found.cores.iter().chain(&found.problems).for_each(|line| eprintln!("tasuki: {line}"));
}

/// Runs a job whose program and files are sent to the hosts, and removes them afterwards.
fn run_copied(
    request: &JobRequest<'_>,
    fleet: &Fleet,
    files: &[PathBuf],
    cores: Option<&Cores>,
) -> Result<Exit, Failure> {
    let program = request.detected;
    let mut env = own_environment();
    env.retain(|(name, _)| program.env.iter().all(|(other, _)| other != name));
    env.extend(program.env.iter().cloned());
    let needed = Needed::Mpi(&program.mpi.library);
    let copied = copy::send(fleet, Wanted { argv: &program.argv, env: &env, files, needed })?;
    let detected = copy::moved(request.detected, &copied);
    let folder = copied.folder.clone();
    let request = JobRequest { detected: &detected, folder, is_everywhere: true, ..request.clone() };
    let ended = request.prepare(fleet).and_then(|job| job.run_and_return(fleet));
    if let Ok(exit) = ended {
        collect(cores, fleet, &request.folder, program, exit);
    }
    copy::end(copied);
    Ok(ended?)
}

/// The internal command that every host runs: prints what a job must know of it as JSON.
pub fn local_facts(paths: &[PathBuf]) -> Result<ExitCode, Failure> {
    print_json_line(&JobFacts::local(paths))?;
    Ok(ExitCode::SUCCESS)
}

/// The machines of a cluster file, or the hosts of a lab.
fn fleet_of(cluster: Option<&Path>, lab: Option<&str>) -> Result<Fleet, Failure> {
    Ok(match cluster {
        Some(file) => Fleet::Ssh(Box::new(SshHosts::new(Cluster::load(file)?))),
        None if lab.is_none() => fleet::only_lab()?,
        None => Fleet::Lab(Box::new(LabHosts::running(lab)?)),
    })
}

/// Options for the mpirun of an Open MPI, which passes on nothing but OMPI_* by itself; `None` if there is
/// nothing else to pass on. (`mca_base_env_list` would do it from the environment, but then 4.1 refuses every
/// `-x`.)
fn passed_by_hand(mpi: &Mpi, settings: &[Setting], key: Option<&str>) -> Option<String> {
    if !matches!(mpi.flavour, Flavour::OpenMpi4 | Flavour::OpenMpi5) {
        return None;
    }
    let variables = settings.iter().filter(|setting| setting.is_variable()).map(|setting| setting.name);
    let options: Vec<_> = variables.chain(key).map(|name| format!("-x {name}")).collect();
    (!options.is_empty()).then(|| options.join(" "))
}

/// Prints variables, as JSON or for a shell.
fn print_settings(settings: &[Setting], key: Option<KeyAdvice>, json: bool) -> Result<(), Failure> {
    if json {
        let mut all: Vec<_> = settings
            .iter()
            .map(|s| serde_json::json!({ "name": s.variable(), "value": s.value, "why": s.why }))
            .collect();
        // No key is shown: whoever reads this draws one.
        all.extend(key.map(|key| {
            serde_json::json!({ "name": key.variable, "value": null, "shell": key.shell, "why": key.why })
        }));
        return print_json(&all);
    }
    for setting in settings {
        println!("# {}\nexport {}={}", setting.why, setting.variable(), setting.shell_value());
    }
    if let Some(key) = key {
        println!("# {}\nexport {}={}", key.why, key.variable, key.shell);
    }
    Ok(())
}

/// Prints the variables that a plain mpirun or srun needs, or another library.
pub fn env(arguments: &EnvArgs) -> Result<ExitCode, Failure> {
    match &arguments.mpi {
        Some(mpi) => env_of_mpi(arguments, mpi),
        None => env_of_library(arguments.library, arguments.json),
    }
}

fn env_of_library(library: Option<Library>, json: bool) -> Result<ExitCode, Failure> {
    let provider = own_provider()?;
    let remedy = Origin::of(&std::env::current_exe()?).restore();
    let (title, settings) = match library {
        Some(Library::Torch) => ("PyTorch's backend tasuki", torch_settings(&provider)),
        _ => ("NCCL and RCCL, over tasuki", NcclPlugin::of(&provider).map(|plugin| plugin.settings())),
    };
    let settings =
        settings.map_err(|file| Failure::new(format!("there is no {}: {remedy}", file.display())))?;
    if !json {
        println!("# {title}");
    }
    print_settings(&settings, None, json)?;
    Ok(ExitCode::SUCCESS)
}

fn env_of_mpi(arguments: &EnvArgs, mpi: &str) -> Result<ExitCode, Failure> {
    let mpi = Finder::local()?.one(mpi)?;
    let fleet = fleet_of(arguments.cluster.as_deref(), arguments.lab.as_deref())?;
    if let Fleet::Ssh(hosts) = &fleet {
        check_one_network(&hosts.cluster)?;
    }
    // The number of ranks is not known yet: a job of one rank fits in any case.
    let facts = facts(&fleet, 1)?;
    let transport = choose(arguments.transport, &mpi)?;
    let settings = environment(&mpi, &transport, &facts);
    let key = key_advice(fleet.cluster().ok_or(RunError::NoCluster)?, &transport)?;
    if !arguments.json {
        println!("# {} at {}, over {}", mpi.id(), mpi.prefix().display(), transport.name());
    }
    print_settings(&settings, key, arguments.json)?;
    let by_hand = passed_by_hand(&mpi, &settings, key.map(|key| key.variable));
    if let Some(options) = by_hand.filter(|_| !arguments.json) {
        println!("# Open MPI passes these on to other hosts only if it is told: mpirun {options} ...");
    }
    Ok(ExitCode::SUCCESS)
}
