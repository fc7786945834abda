//! `tasuki submit`, `tasuki run --resident` and `tasuki omp`.

use super::{connect, follow::follow, lab::in_lab, number, odd};
use crate::copy;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{fs::File, io, os::fd::AsFd, process::ExitCode, thread};
use tasuki_args::{Checkpoints, JobName, OmpArgs, ProgramArgs, RunArgs, SubmitArgs, seconds};
use tasuki_control::{JobId, Reply, Request, Terms, Work};
use tasuki_copy::{Needed, Wanted};
use tasuki_fleet::Fleet;
use tasuki_hang::HangWatch;
use tasuki_job::{Prepared, Printer, Resident, WorkRequest, ask_for_tags, own_environment, own_provider};
use tasuki_launch::{OpenMp, Placement, find_program};
use tasuki_runtime::{Attendant, Client, Steady};
use tasuki_terminal::Failure;

/// Submits a job and prints its number.
pub fn submit(arguments: &SubmitArgs) -> Result<ExitCode, Failure> {
    let program = &arguments.program;
    if let Some(code) = in_lab(program.lab.as_deref(), &program.program)? {
        return Ok(code);
    }
    let mut client = connect()?;
    let terms = terms(&mut client, arguments)?;
    let work = work(&mut client, &request(program, false)?)?;
    println!("{}", submitted(&mut client, work, terms)?);
    Ok(ExitCode::SUCCESS)
}

/// Runs a job as if its ranks were this process's children: with its input, signals and exit code.
pub fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let program = &arguments.program;
    if let Some(code) = in_lab(program.lab.as_deref(), &program.program)? {
        return Ok(code);
    }
    let (timeout, sharing) = (arguments.timeout.map(seconds), arguments.sharing.sharing());
    let (copied, checkpoints) = (arguments.checkpoint_copy, Checkpoints::terms(arguments.checkpoint));
    let terms = Terms { timeout, sharing, copied, ..checkpoints };
    attend(&request(program, true)?, terms, arguments.label, |job| {
        let watch = arguments.watch_hangs.map(|limit| {
            // In a host of a lab the lab is found without its name.
            let fleet = Fleet::find(None, arguments.cluster.as_deref())?;
            Ok::<_, Failure>(HangWatch::start(fleet, job.to_string(), limit, move || runs(job)))
        });
        watch.transpose()
    })
}

/// Whether a job's ranks run now, by what its queue says; `None`: the queue says nothing.
fn runs(job: JobId) -> Option<bool> {
    let jobs = Client::connect(tasuki_args::VERSION).and_then(|mut client| client.jobs(false));
    jobs.ok().map(|(jobs, _)| jobs.iter().any(|view| view.id == job && view.moves()))
}

/// Runs an OpenMP program on several hosts, as [`run`] runs a job.
pub fn omp(arguments: &OmpArgs) -> Result<ExitCode, Failure> {
    if let Some(code) = in_lab(arguments.lab.as_deref(), &arguments.program)? {
        return Ok(code);
    }
    let unfit = |error: &dyn std::error::Error| Failure::new(error.to_string());
    let library = OpenMp::of(&own_provider()?).map_err(|error| unfit(&error))?;
    let Some((name, rest)) = arguments.program.split_first() else {
        return Err(Failure::new("a program is needed"));
    };
    let program = find_program(name, &own_environment())
        .ok_or_else(|| Failure::new(format!("there is no program {}", name.display())))?;
    library.check(&program, &own_environment(), arguments.unchecked).map_err(|error| unfit(&error))?;
    let mut exports =
        [library.exports(arguments.threads, arguments.profile.as_deref()), arguments.export.clone()].concat();
    let (mut argv, mut folder) = (vec![program.clone().into_os_string()], std::env::current_dir()?);
    argv.extend_from_slice(rest);
    let copied = arguments.copy.then(|| {
        let fleet = Fleet::find(None, arguments.cluster.as_deref())?;
        let (env, needed) = (own_environment(), Needed::OpenMp(library.path()));
        let wanted = Wanted { argv: &argv, env: &env, files: &arguments.files, needed };
        copy::send(&fleet, wanted).map(|copied| (fleet, copied))
    });
    let copied = copied.transpose()?;
    if let Some((_, copied)) = &copied {
        (argv, folder) = (copied.argv.clone(), copied.folder.clone());
        exports.extend(copied.export(std::env::var_os("LD_LIBRARY_PATH").as_deref()));
    }
    let request = WorkRequest {
        ranks: arguments.processes,
        program: &library.command(&argv),
        mpi: None,
        transport: None,
        placement: Placement::ByNode,
        exports: &exports,
        folder,
        attended: true,
        copies: true,
    };
    let (timeout, sharing) = (arguments.timeout.map(seconds), arguments.sharing.sharing());
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned());
    let terms = Terms { name, timeout, sharing, ..Terms::default() };
    let ended = attend(&request, terms, arguments.label, |_| Ok(()));
    copied.into_iter().for_each(|(_fleet, copied)| copy::end(copied));
    ended
}

/// Runs a job to its end; what `begun` returns lasts as long.
fn attend<T>(
    request: &WorkRequest<'_>,
    mut terms: Terms,
    label: bool,
    begun: impl FnOnce(JobId) -> Result<T, Failure>,
) -> Result<ExitCode, Failure> {
    // Signals are caught from before the start, so that none is lost.
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let (mut client, follower) = (connect()?, connect()?); // Before there is a job to be lost.
    let mut work = work(&mut client, request)?;
    terms.labelled = label && ask_for_tags(&mut work);
    let printer = Printer::new(label, work.mpi.as_deref(), terms.labelled);
    let job = submitted(&mut client, work, terms)?;
    let _lasting = begun(job)?;
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    thread::spawn(move || {
        let mut attendant = Attendant::new(tasuki_args::VERSION, client, job);
        // Why it ends is what the output's end tells: the job is over or was given up.
        let _ = attendant.attend(input);
        // The daemon ends the job when this connection ends, so it lasts as long as this process.
        loop {
            thread::park();
        }
    });
    thread::spawn(move || cancel(signals, job));
    follow(follower, job, printer)
}

/// Ends the job when a signal comes, and this process when another one does.
fn cancel(mut signals: Signals, job: JobId) {
    for (earlier, _) in signals.forever().enumerate() {
        if earlier > 0 {
            std::process::exit(130);
        }
        thread::spawn(move || {
            let mut client = Steady::new(tasuki_args::VERSION, None, |error| {
                eprintln!("tasuki: {error}; job {job} is cancelled when the daemons are back");
            });
            // It is over already, or cannot be reached: then nothing is left to do here.
            if client.ask(&Request::Cancel { job }).is_err() {
                std::process::exit(130);
            }
        });
    }
}

/// What the queue is told of a user's wishes.
fn terms(client: &mut Client, arguments: &SubmitArgs) -> Result<Terms, Failure> {
    let SubmitArgs { terms: arguments, sharing, .. } = arguments;
    let mut numbers = |names: &[JobName]| {
        names
            .iter()
            .map(|name| number(client, *name)?.map_err(Failure::new))
            .collect::<Result<Vec<JobId>, Failure>>()
    };
    Ok(Terms {
        name: arguments.name.clone(),
        priority: arguments.priority,
        timeout: arguments.timeout.map(seconds),
        begin: arguments.begin,
        after: numbers(&arguments.after)?,
        after_any: numbers(&arguments.after_any)?,
        array: arguments.array,
        sharing: sharing.sharing(),
        notify: arguments.notify.clone(),
        copied: arguments.checkpoint_copy,
        ..Checkpoints::terms(arguments.checkpoint)
    })
}

fn submitted(client: &mut Client, work: Work, terms: Terms) -> Result<JobId, Failure> {
    match client.ask(&Request::Submit { work: Box::new(work), terms: Box::new(terms) })? {
        Reply::Submitted(job) => Ok(job),
        other => Err(odd(&other)),
    }
}

fn request(program: &ProgramArgs, attended: bool) -> Result<WorkRequest<'_>, Failure> {
    Ok(WorkRequest {
        ranks: program.ranks,
        program: &program.program,
        mpi: program.mpi.as_deref(),
        transport: program.transport.map(Into::into),
        placement: program.placement(),
        exports: &program.export,
        folder: std::env::current_dir()?,
        attended,
        copies: false,
    })
}

fn work(client: &mut Client, request: &WorkRequest<'_>) -> Result<Work, Failure> {
    let resident = match client.ask(&Request::Hosts)? {
        Reply::Hosts { lab, authenticate, hosts, .. } => Resident { lab, authenticate, hosts },
        other => return Err(odd(&other)),
    };
    let Prepared { work, notes } = request.prepare(&resident)?;
    notes.iter().for_each(|note| eprintln!("tasuki: {note}"));
    Ok(work)
}
