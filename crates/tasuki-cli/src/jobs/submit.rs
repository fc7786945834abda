//! `tasuki submit`, and `tasuki run --resident`.

use super::{connect, follow::follow, lab::in_lab, odd};
use crate::{
    args::{ProgramArgs, SharingArgs, SubmitArgs},
    failure::Failure,
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    io::{self, Read},
    process::ExitCode,
    thread,
};
use tasuki_control::{Bytes, INPUT_MAX, JobId, Reply, Request, Work};
use tasuki_job::{Prepared, Resident, WorkRequest};
use tasuki_runtime::Client;

/// Submits a job and prints its number.
pub fn submit(arguments: &SubmitArgs) -> Result<ExitCode, Failure> {
    let program = &arguments.program;
    if let Some(code) = in_lab(program.lab.as_deref(), &program.program)? {
        return Ok(code);
    }
    let mut client = connect()?;
    let work = work(&mut client, program, &arguments.sharing, false)?;
    println!("{}", number(&mut client, work)?);
    Ok(ExitCode::SUCCESS)
}

/// Runs a job as if its ranks were this process's children: with its input, signals and exit code.
pub fn run(program: &ProgramArgs, sharing: &SharingArgs, label: bool) -> Result<ExitCode, Failure> {
    if let Some(code) = in_lab(program.lab.as_deref(), &program.program)? {
        return Ok(code);
    }
    // Signals are caught from before the start, so that none is lost.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let mut client = connect()?;
    let work = work(&mut client, program, sharing, true)?;
    let job = number(&mut client, work)?;
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
    follow(&mut connect()?, job, label)
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

fn number(client: &mut Client, work: Work) -> Result<JobId, Failure> {
    match client.ask(&Request::Submit(Box::new(work)))? {
        Reply::Submitted(job) => Ok(job),
        other => Err(odd(&other)),
    }
}

fn work(
    client: &mut Client,
    program: &ProgramArgs,
    sharing: &SharingArgs,
    attended: bool,
) -> Result<Work, Failure> {
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
        sharing: sharing.sharing(),
    };
    let Prepared { work, notes } = request.prepare(&resident)?;
    notes.iter().for_each(|note| eprintln!("tasuki: {note}"));
    Ok(work)
}
