//! A job's output, as it comes.

use super::odd;
use std::process::ExitCode;
use tasuki_control::{JobId, JobView, Reply, Request, State};
use tasuki_job::Printer;
use tasuki_runtime::{Client, Steady};
use tasuki_terminal::Failure;

/// Prints a job's output until the job is over, whatever daemons begin anew meanwhile. Returns its exit code.
pub fn follow(client: Client, job: JobId, mut printer: Printer) -> Result<ExitCode, Failure> {
    let mut client = Steady::new(tasuki_args::VERSION, Some(client), |error| {
        eprintln!("tasuki: {error}; job {job} may go on: its output follows when the daemons are back");
    });
    let mut from = 0;
    loop {
        match client.ask(&Request::Follow { job, from })? {
            Reply::Output { records, next } => {
                from = next;
                // The reader of this output may have gone; the exit code still tells how the job ended.
                let _ = records.iter().try_for_each(|record| printer.print(record));
            }
            Reply::Over(view) => {
                if let Ok(Some(note)) = printer.finish() {
                    eprintln!("tasuki: {note}");
                }
                return Ok(over(&view));
            }
            other => return Err(odd(&other)),
        }
    }
}

/// Says why a job did not end well, if it did not.
fn over(view: &JobView) -> ExitCode {
    let reason = view.reason.as_deref().unwrap_or_default();
    match view.state {
        State::Done => {}
        state => eprintln!("tasuki: job {} {}: {reason}", view.label(), state.name()),
    }
    let code = view.exit.unwrap_or(1);
    // A code of more than eight bits must not look like success.
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
