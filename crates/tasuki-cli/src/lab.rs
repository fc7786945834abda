//! `tasuki lab`: clusters on this machine.

use crate::daemon;
use nix::sys::resource::{Resource, getrlimit};
use signal_hook::{consts, iterator::Signals};
use std::{ffi::OsString, path::Path, process::ExitCode, time::Instant};
use tasuki_args::{FaultArgs, LabCommand, LabUp, shape};
use tasuki_cluster::{Rate, generate};
use tasuki_fleet::{Fleet, LabHosts};
use tasuki_lab::{
    DirectionStatus, ExecRequest, Exit, Fault, FaultKind, Job, Lab, LabError, LabOptions, LabStatus,
    StartingLab, need_root,
};
use tasuki_terminal::{Failure, NOT_STARTED, counted, print_json, progress_bar, table};

/// Runs a lab command.
pub fn run(command: LabCommand) -> Result<ExitCode, Failure> {
    match command {
        LabCommand::Up(arguments) => up(&arguments),
        LabCommand::Down { names, all } => down(names, all),
        LabCommand::List { json } => list(json),
        LabCommand::Status { name, json } => status(name.as_deref(), json),
        LabCommand::Exec { lab, job, host, command } => {
            let job = if job { Job::Root } else { Job::Inherit };
            let request = ExecRequest::new(&host, command, job)?;
            let exit = Lab::choose(lab.as_deref()).and_then(|lab| lab.run_interactively(request));
            Ok(exit_code(exit.map_err(not_started)?))
        }
        LabCommand::Cut { which, keep_carrier } => fault(which, FaultKind::Cut { keep_carrier }),
        LabCommand::Heal(which) => fault(which, FaultKind::Heal),
        LabCommand::Loss { which, likelihood } => fault(which, FaultKind::Loss(likelihood)),
        LabCommand::Duplicate { which, likelihood } => fault(which, FaultKind::Duplicate(likelihood)),
        LabCommand::Corrupt { which, likelihood } => fault(which, FaultKind::Corrupt(likelihood)),
        LabCommand::Rate { which, rate } => fault(which, FaultKind::Rate(rate.bits_per_second)),
    }
}

/// `tasuki-agent`, which MPI launchers call in place of ssh.
pub fn agent(argv: Vec<OsString>) -> Result<ExitCode, Failure> {
    Ok(exit_code(tasuki_lab::agent_main(argv).map_err(not_started)?))
}

/// The exit code that a shell would report.
pub fn exit_code(exit: Exit) -> ExitCode {
    ExitCode::from(u8::try_from(exit.code()).unwrap_or(u8::MAX))
}

fn not_started(error: LabError) -> Failure {
    Failure::from(error).with_code(NOT_STARTED)
}

/// Number of files that a lab has to be allowed to open, at least. It has a few for itself, some for each
/// host and for each command that runs in it; one that may open fewer ends while it is built, or stops
/// answering.
const FILES_MIN: u64 = 64;

/// Refuses to build a lab of so many hosts that could open too few files: each host takes one, and each
/// process of a job, of which there may well be one on every host.
fn check_files(allowed: u64, hosts: usize) -> Result<(), Failure> {
    let needed = FILES_MIN.max(48 + 2 * hosts as u64);
    if allowed >= needed {
        return Ok(());
    }
    Err(Failure::new(format!(
        "only {allowed} files may be open here (ulimit -n), too few for a lab of {}, which needs {needed}: \
         ulimit -n {}",
        counted(hosts, "host", "s"),
        needed.next_multiple_of(1024)
    )))
}

/// Builds a lab and shows a progress bar. The lab ends with this process until it is committed.
pub fn build(cluster: &tasuki_cluster::Cluster, options: &LabOptions) -> Result<StartingLab, Failure> {
    need_root()?;
    check_files(getrlimit(Resource::RLIMIT_NOFILE)?.0, cluster.hosts.len())?;
    let bar = progress_bar(0).with_prefix("lab");
    let result = tasuki_lab::up(cluster, options, Path::new("/proc/self/exe"), &mut |done, total, what| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_owned());
    });
    bar.finish_and_clear();
    Ok(result?)
}

fn up(arguments: &LabUp) -> Result<ExitCode, Failure> {
    let mut generated = generate::Options::default();
    generated.mtu = arguments.mtu.unwrap_or(generated.mtu);
    let cluster = shape::cluster(arguments.cluster.as_deref(), arguments.shape.as_ref(), &generated)?;
    let mut options = LabOptions::named(arguments.name.clone().unwrap_or_else(|| cluster.name.clone()));
    options.rate = arguments.rate;
    options.offloads = arguments.offloads;
    options.unshaped = arguments.unshaped;
    options.seed = arguments.seed;
    options.bare = arguments.bare;

    // Signals are caught from before the start, for the case that one is to end the lab.
    let mut signals =
        arguments.foreground.then(|| Signals::new([consts::SIGINT, consts::SIGTERM])).transpose()?;
    let begun = Instant::now();
    let starting = build(&cluster, &options)?;
    let name = &options.name;
    if arguments.runtime {
        let hosts = LabHosts::running(Some(name))?;
        daemon::start_all(&Fleet::Lab(Box::new(hosts)))?;
    }
    eprintln!(
        "lab {name} is up: {}, {}, {}, {:.1} s",
        counted(cluster.hosts.len(), "host", "s"),
        counted(cluster.cables.len(), "cable", "s"),
        counted(cluster.switches.len(), "switch", "es"),
        begun.elapsed().as_secs_f64()
    );
    if let Some(signals) = &mut signals {
        eprintln!("Ctrl-C ends it");
        signals.forever().next();
        drop(starting);
        return Ok(ExitCode::SUCCESS);
    }
    let first = cluster.hosts.first().map_or("n1", |host| &host.name);
    if options.bare {
        eprintln!(
            "its hosts have no addresses yet: tasuki apply --lab {name}; end it: tasuki lab down {name}"
        );
    } else {
        eprintln!("try: tasuki lab exec --lab {name} {first} -- ip route; end it: tasuki lab down {name}");
    }
    // This comes last: if this process is killed before, the lab ends too.
    starting.commit()?;
    Ok(ExitCode::SUCCESS)
}

fn down(names: Vec<String>, all: bool) -> Result<ExitCode, Failure> {
    let names = match (names.is_empty(), all) {
        (_, true) => Lab::list()?,
        (false, _) => names,
        (true, _) => the_one("down", Lab::find())?.name().map(str::to_owned).into_iter().collect(),
    };
    for name in names {
        Lab::named(&name)?.down()?;
        eprintln!("lab {name} is down");
    }
    Ok(ExitCode::SUCCESS)
}

/// The lab that is meant, for commands to which a lab is named without an option.
fn the_one(command: &str, found: Result<Lab, LabError>) -> Result<Lab, Failure> {
    found.map_err(|error| match error {
        LabError::Ambiguous(names) => Failure::new(format!(
            "several labs are up ({}); name one: tasuki lab {command} {}",
            names.join(", "),
            names.first().map_or("NAME", String::as_str)
        )),
        error => error.into(),
    })
}

fn list(json: bool) -> Result<ExitCode, Failure> {
    let names = Lab::list()?;
    if json {
        print_json(&names)?;
    } else {
        names.iter().for_each(|name| println!("{name}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn fault(which: FaultArgs, kind: FaultKind) -> Result<ExitCode, Failure> {
    Lab::choose(which.lab.as_deref())?.fault(&Fault { cables: which.cables, from: which.from, kind })?;
    Ok(ExitCode::SUCCESS)
}

fn status(name: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let status = the_one("status", Lab::choose(name))?.status()?;
    if json {
        print_json(&status)?;
    } else {
        print_status(&status);
    }
    Ok(ExitCode::SUCCESS)
}

fn print_status(status: &LabStatus) {
    let options = &status.options;
    let source = status.source.as_ref().map_or("(generated)".into(), |path| path.display().to_string());
    println!(
        "lab {}: {source}, process {}, offloads {}, {}{}",
        options.name,
        status.pid,
        if options.offloads { "on" } else { "off" },
        if options.unshaped { "unshaped" } else { "shaped" },
        if options.bare { ", built bare" } else { "" }
    );
    let mut hosts = table(["host", "identity", "management", "processes"]);
    for host in &status.hosts {
        hosts.add_row([&host.name, &host.identity, &host.management, &host.processes.to_string()]);
    }
    println!("\n{hosts}\n");
    let mut cables = table(["cable", "rate", "carrier", "sent by", "frames", "bytes", "dropped", "faults"]);
    for cable in &status.cables {
        let rate = cable.rate.map_or("-".into(), |bits_per_second| Rate { bits_per_second }.to_string());
        for (side, direction) in cable.directions.iter().enumerate() {
            let first = side == 0;
            let once = |text: String| if first { text } else { String::new() };
            cables.add_row([
                once(cable.ends.join(" - ")),
                once(rate.clone()),
                once(if cable.carrier { "on" } else { "OFF" }.into()),
                cable.ends[side].clone(),
                direction.frames.to_string(),
                direction.bytes.to_string(),
                direction.dropped.to_string(),
                faults(direction),
            ]);
        }
    }
    println!("{cables}");
}

/// The faults that act on a direction of a cable, for people.
fn faults(direction: &DirectionStatus) -> String {
    let mut acting = Vec::new();
    if direction.cut {
        acting.push("cut".to_owned());
    }
    let kinds =
        [("loss", direction.loss), ("duplicate", direction.duplicate), ("corrupt", direction.corrupt)];
    for (kind, likelihood) in kinds {
        if likelihood > 0.0 {
            acting.push(format!("{kind} {}%", likelihood * 100.0));
        }
    }
    acting.join(", ")
}
