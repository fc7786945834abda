//! `tasuki submit`, and `tasuki run --resident`.

use super::{connect, follow::follow, lab::in_lab, number, odd};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    io::{self, Read},
    process::ExitCode,
    thread,
    time::Duration,
};
use tasuki_args::{JobName, ProgramArgs, RunArgs, SubmitArgs};
use tasuki_control::{Bytes, INPUT_MAX, JobId, Reply, Request, Terms, Work};
use tasuki_fleet::Fleet;
use tasuki_hang::HangWatch;
use tasuki_job::{Prepared, Resident, WorkRequest};
use tasuki_runtime::Client;
use tasuki_terminal::Failure;

/// Submits a job and prints its number.
pub fn submit(arguments: &SubmitArgs) -> Result<ExitCode, Failure> {
    let program = &arguments.program;
    if let Some(code) = in_lab(program.lab.as_deref(), &program.program)? {
        return Ok(code);
    }
    let mut client = connect()?;
    let terms = terms(&mut client, arguments)?;
    let work = work(&mut client, program, false)?;
    println!("{}", submitted(&mut client, work, terms)?);
    Ok(ExitCode::SUCCESS)
}

/// Runs a job as if its ranks were this process's children: with its input, signals and exit code.
pub fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let program = &arguments.program;
    if let Some(code) = in_lab(program.lab.as_deref(), &program.program)? {
        return Ok(code);
    }
    // Signals are caught from before the start, so that none is lost.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let mut client = connect()?;
    let work = work(&mut client, program, true)?;
    let (timeout, sharing) = (arguments.timeout.map(seconds), arguments.sharing.sharing());
    let job = submitted(&mut client, work, Terms { timeout, sharing, ..Terms::default() })?;
    let watch = arguments.watch_hangs.map(|limit| {
        // In a host of a lab the lab is found without its name.
        let fleet = Fleet::find(None, arguments.cluster.as_deref())?;
        Ok::<_, Failure>(HangWatch::start(fleet, job.to_string(), limit))
    });
    let _watch = watch.transpose()?;
    // The daemon ends the job when this connection ends, so it lasts as long as this process.
    thread::spawn(move || feed(client, job));
    let mut canceller = connect()?;
    thread::spawn(move || {
        for _ in signals.forever() {
            // It is over, or a second signal came while it is being ended: then nothing is left to do here.
            if canceller.ask(&Request::Cancel { job }).is_err() {
                std::process::exit(130);
            }
        }
    });
    follow(&mut connect()?, job, arguments.label)
}

/// Passes standard input on to rank 0.
fn feed(mut client: Client, job: JobId) {
    let mut bytes = vec![0; INPUT_MAX];
    loop {
        // What cannot be read is at its end.
        let length = io::stdin().read(&mut bytes).unwrap_or(0);
        let piece = Bytes::from(&bytes[..length]);
        if client.ask(&Request::Input { job, bytes: piece }).is_err() || length == 0 {
            break;
        }
    }
    // The connection must outlive the input.
    loop {
        thread::park();
    }
}

/// Whole seconds, of which a part counts as one.
fn seconds(duration: Duration) -> u64 {
    duration.as_secs_f64().ceil() as u64
}

/// What the queue is told of a user's wishes.
fn terms(client: &mut Client, arguments: &SubmitArgs) -> Result<Terms, Failure> {
    let SubmitArgs { terms: arguments, sharing, .. } = arguments;
    let mut numbers = |names: &[JobName]| {
        names.iter().map(|name| number(client, *name)).collect::<Result<Vec<JobId>, Failure>>()
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
    })
}

fn submitted(client: &mut Client, work: Work, terms: Terms) -> Result<JobId, Failure> {
    match client.ask(&Request::Submit { work: Box::new(work), terms: Box::new(terms) })? {
        Reply::Submitted(job) => Ok(job),
        other => Err(odd(&other)),
    }
}

fn work(client: &mut Client, program: &ProgramArgs, attended: bool) -> Result<Work, Failure> {
    let resident = match client.ask(&Request::Hosts)? {
        Reply::Hosts { lab, authenticate, hosts, .. } => Resident { lab, authenticate, hosts },
        other => return Err(odd(&other)),
    };
    let request = WorkRequest {
        ranks: program.ranks,
        program: &program.program,
        mpi: program.mpi.as_deref(),
        transport: program.transport.map(Into::into),
        placement: program.placement(),
        exports: &program.export,
        folder: std::env::current_dir()?,
        attended,
    };
    let Prepared { work, notes } = request.prepare(&resident)?;
    notes.iter().for_each(|note| eprintln!("tasuki: {note}"));
    Ok(work)
}
