//! A job's output, as it comes.

use super::odd;
use std::{
    collections::BTreeMap,
    io::{self, Write},
    process::ExitCode,
};
use tasuki_control::{JobId, JobView, Record, Reply, Request, State, Stream};
use tasuki_runtime::{Client, Steady};
use tasuki_terminal::Failure;

/// Prints a job's output until the job is over, whatever daemons begin anew meanwhile. Returns its exit code.
pub fn follow(client: Client, job: JobId, label: bool) -> Result<ExitCode, Failure> {
    let mut client = Steady::new(tasuki_args::VERSION, Some(client), |error| {
        eprintln!("tasuki: {error}; job {job} may go on: its output follows when the daemons are back");
    });
    let (mut from, mut printer) = (0, Printer { label, open: BTreeMap::new() });
    loop {
        match client.ask(&Request::Follow { job, from })? {
            Reply::Output { records, next } => {
                from = next;
                // The reader of this output may have gone; the exit code still tells how the job ended.
                let _ = records.iter().try_for_each(|record| printer.print(record));
            }
            Reply::Over(view) => return Ok(over(&view)),
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

/// Prints records as the ranks wrote them, or with the rank before every line.
struct Printer {
    label: bool,
    /// Whether the last line of a rank's stream is not at its end yet.
    open: BTreeMap<(u32, bool), bool>,
}

impl Printer {
    fn print(&mut self, record: &Record) -> io::Result<()> {
        let is_error = record.stream == Stream::Error;
        let bytes = if self.label { self.labelled(record, is_error) } else { record.bytes.to_vec() };
        if is_error {
            return io::stderr().write_all(&bytes);
        }
        let mut out = io::stdout().lock();
        out.write_all(&bytes)?;
        out.flush()
    }

    fn labelled(&mut self, record: &Record, is_error: bool) -> Vec<u8> {
        let is_open = self.open.entry((record.rank, is_error)).or_default();
        let mut bytes = Vec::with_capacity(record.bytes.len() + 16);
        for line in record.bytes.split_inclusive(|byte| *byte == b'\n') {
            if !*is_open {
                bytes.extend(format!("[{}] ", record.rank).into_bytes());
            }
            bytes.extend(line);
            *is_open = !line.ends_with(b"\n");
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_control::Bytes;

    #[test]
    fn every_line_gets_one_label_however_it_is_cut() {
        let mut printer = Printer { label: true, open: BTreeMap::new() };
        let mut said = Vec::new();
        for (rank, text) in [(3, "one\ntw"), (4, "x\n"), (3, "o\n"), (3, "three\n")] {
            let bytes = Bytes::from(text.as_bytes());
            said.extend(printer.labelled(&Record { rank, stream: Stream::Out, bytes }, false));
        }
        assert_eq!(String::from_utf8(said).unwrap(), "[3] one\n[3] tw[4] x\no\n[3] three\n");
    }
}
