//! `tasuki run --copy`: program and files on all hosts for one job.

use std::{
    io::{stdin, stdout},
    process::ExitCode,
    time::Instant,
};
use tasuki_copy::{Copied, Copier, Left, Wanted};
use tasuki_fleet::Fleet;
use tasuki_launch::Detected;
use tasuki_process::ignore_broken_pipes;
use tasuki_terminal::{Failure, percent_bar};

/// Most names of files that a line has.
const NAMED: usize = 3;

/// Runs the agent of this host, which takes orders on standard input and answers on standard output.
pub fn agent() -> Result<ExitCode, Failure> {
    // A host that takes no more says why by itself, and must not end this process.
    ignore_broken_pipes()?;
    tasuki_copy::agent::run(stdin().lock(), stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// Sends a job's program and files to all hosts of a fleet.
pub fn send(fleet: &Fleet, wanted: Wanted<'_>) -> Result<Copied, Failure> {
    // A host that takes no more says why by itself, and must not end this process.
    ignore_broken_pipes()?;
    let begin = Instant::now();
    let bar = percent_bar(1).with_prefix("copy");
    bar.set_message("asking hosts what they lack");
    let mut progress = |done: u64, all: u64| {
        bar.set_length(all.max(1));
        bar.set_position(done);
        bar.set_message(format!("{:.0} of {:.0} MB", done as f64 / 1e6, all as f64 / 1e6));
    };
    let copied = Copier::new(fleet)?.send(wanted, &mut progress);
    bar.finish_and_clear();
    let copied = copied?;
    let (files, megabytes) = (copied.files, copied.bytes as f64 / 1e6);
    eprintln!(
        "tasuki: sent {files} file{}, {megabytes:.1} MB, to {} hosts in {:.1} s",
        if files == 1 { "" } else { "s" },
        fleet.len(),
        begin.elapsed().as_secs_f64()
    );
    Ok(copied)
}

/// The program where it is on hosts. Libraries that they lacked are found before any others.
pub fn moved(detected: &Detected, copied: &Copied) -> Detected {
    let mut moved = Detected { argv: copied.argv.clone(), ..detected.clone() };
    copied.add_to(&mut moved.env);
    moved
}

/// Removes what was sent, and says what the program has left in its working folder.
pub fn end(copied: Copied) {
    let (left, failed) = copied.end();
    for Left { host, folder, files } in left {
        let names = files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = if files.len() > NAMED { ", ..." } else { "" };
        eprintln!("tasuki: {host} keeps what the program has written: {folder} ({names}{more})");
    }
    for line in failed {
        eprintln!("tasuki: the job's folder may still be there: {line}; the next --copy removes it");
    }
}
