//! `tasuki run --trace`: what becomes of the records of a job.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    process::ExitCode,
};
use tasuki_fleet::Fleet;
use tasuki_job::{Recording, give_parts};
use tasuki_plan::digits;
use tasuki_process::quote;
use tasuki_terminal::Failure;
use tasuki_trace::{Joined, LeftOut, join};

/// The internal command that every host runs after a job: gives its records and removes them.
pub fn parts(folder: &Path) -> Result<ExitCode, Failure> {
    give_parts(folder, &mut io::stdout().lock())
        .map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
    Ok(ExitCode::SUCCESS)
}

/// Fetches the records of a job.
pub fn fetch(recording: &Recording, fleet: &Fleet) -> Result<Joined, Failure> {
    let parts = recording.fetch(fleet)?;
    join(&parts).map_err(|error| Failure::new(format!("no trace: {error}")))
}

/// A program and its arguments as a user types them.
pub fn typed(program: &[OsString]) -> String {
    program.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// Writes a trace, and says on standard error what is in it.
pub fn write(joined: &Joined, program: &[OsString], file: &Path) -> Result<(), Failure> {
    let written = File::create(file).and_then(|file| {
        let mut out = BufWriter::new(file);
        joined.write(&typed(program), &mut out)?;
        out.flush()
    });
    written.map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
    say(joined, file);
    Ok(())
}

fn say(joined: &Joined, file: &Path) {
    let name = quote(file.as_os_str());
    eprintln!(
        "tasuki: {name}: {} messages of {} ranks, {} MB; replay them on any network: tasuki topo simulate \
         torus:2x2 --ethernet --trace {name}",
        joined.messages(),
        joined.ranks.len(),
        digits(joined.bytes() as f64 / 1e6)
    );
    let LeftOut { sends, receives, one_sided, unfinished } = joined.left_out;
    if sends + receives > 0 {
        eprintln!("tasuki: left out, as their other end is not known: {sends} sends and {receives} receives");
    }
    if one_sided > 0 {
        eprintln!("tasuki: not in the trace: {one_sided} one-sided operations");
    }
    if unfinished > 0 {
        eprintln!(
            "tasuki: {unfinished} ranks did not call MPI_Finalize: the end of their messages is missing"
        );
    }
}
