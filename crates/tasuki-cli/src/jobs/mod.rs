//! `tasuki submit`, `omp`, `jobs`, `attach`, `cancel`, `hold`, `resume` and `hosts`: commands to the daemon
//! of this host, or of the first host of a lab.

mod follow;
mod history;
mod lab;
mod show;
mod submit;

pub use submit::{omp, run, submit};

use lab::in_lab;
use std::process::ExitCode;
use tasuki_args::{AttachArgs, ChangeArgs, HostsListArgs, JobName, JobsArgs};
use tasuki_control::{ChangeRecord, JobId, Reply, Request, Task};
use tasuki_job::Printer;
use tasuki_runtime::{Client, RuntimeError};
use tasuki_terminal::{Failure, print_json};

fn connect() -> Result<Client, Failure> {
    Ok(Client::connect(tasuki_args::VERSION)?)
}

/// The failure for an answer of another kind than the question was.
fn odd(reply: &Reply) -> Failure {
    RuntimeError::odd(reply).into()
}

/// The number of a job that a user names; only tasks of arrays have to be looked for. `Err` within: why there
/// is none.
fn number(client: &mut Client, name: JobName) -> Result<Result<JobId, String>, Failure> {
    let Some(index) = name.index else { return Ok(Ok(name.number)) };
    let (jobs, _) = client.jobs(true)?;
    let task = Some(Task { array: name.number, index });
    let found = jobs.iter().find(|job| job.task == task).map(|job| job.id);
    let none = || format!("there is no task {name} that has begun; `tasuki jobs --history` lists all");
    Ok(found.ok_or_else(none))
}

/// Lists jobs.
pub fn jobs(arguments: &JobsArgs) -> Result<ExitCode, Failure> {
    if let Some(code) = in_lab(arguments.lab.as_deref(), &[])? {
        return Ok(code);
    }
    if let Some(slice) = arguments.slice {
        return match connect()?.ask(&Request::Slice { ns: slice.as_nanos() as u64 })? {
            Reply::Done => Ok(ExitCode::SUCCESS),
            other => Err(odd(&other)),
        };
    }
    let (jobs, untold) = connect()?.jobs(arguments.history)?;
    match (jobs.is_empty(), arguments.history) {
        _ if arguments.json => show::json(&jobs)?,
        _ if arguments.csv => history::csv(&jobs)?,
        (true, true) => eprintln!("tasuki: no job was submitted yet"),
        (true, false) => eprintln!("tasuki: no jobs; `tasuki jobs --history` lists those that are over"),
        (false, true) => history::show(&jobs),
        (false, false) => show::jobs(&jobs),
    }
    show::untold(&untold);
    Ok(ExitCode::SUCCESS)
}

/// Lists hosts.
pub fn hosts(arguments: &HostsListArgs) -> Result<ExitCode, Failure> {
    if let Some(code) = in_lab(arguments.lab.as_deref(), &[])? {
        return Ok(code);
    }
    match connect()?.ask(&Request::Hosts)? {
        Reply::Hosts { head, hosts, limits, .. } => show::all_hosts(&head, &hosts, limits, arguments.json),
        other => Err(odd(&other)),
    }
}

/// Prints a job's output until it is over.
pub fn attach(arguments: &AttachArgs) -> Result<ExitCode, Failure> {
    if let Some(code) = in_lab(arguments.lab.as_deref(), &[])? {
        return Ok(code);
    }
    let mut client = connect()?;
    let job = number(&mut client, arguments.job)?.map_err(Failure::new)?;
    let view = client.jobs(true)?.0.into_iter().find(|view| view.id == job);
    let mpi = view.as_ref().and_then(|view| view.mpi.as_deref());
    let tagged = view.as_ref().is_some_and(|view| view.terms.labelled);
    follow::follow(client, job, Printer::new(arguments.label, mpi, tagged))
}

/// Asks the same for several jobs. All are tried; the failures are told together.
pub fn change(arguments: &ChangeArgs, request: impl Fn(JobId) -> Request) -> Result<ExitCode, Failure> {
    if let Some(code) = in_lab(arguments.lab.as_deref(), &[])? {
        return Ok(code);
    }
    let mut client = connect()?;
    let (mut changes, mut refused) = (Vec::new(), Vec::new());
    for name in &arguments.jobs {
        let change = match number(&mut client, *name)? {
            Ok(job) => client.change(job, name.to_string(), &request(job))?,
            Err(why) => {
                ChangeRecord::of(name.number, name.to_string(), Err(why)).map_err(|reply| odd(&reply))?
            }
        };
        match change.line() {
            Ok(line) => line.iter().filter(|_| !arguments.json).for_each(|line| println!("{line}")),
            Err(why) => refused.push(why.to_owned()),
        }
        changes.push(change);
    }
    match refused.is_empty() {
        _ if arguments.json => print_json(&changes)?,
        true => {}
        false => return Err(Failure::new(refused.join("\n"))),
    }
    Ok(if refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
