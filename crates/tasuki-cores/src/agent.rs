//! What runs on every host before and after a job.

use crate::{
    kernel::Kernel,
    order::{Item, Order, Search},
    search::Finds,
};
use std::{
    fs,
    io::{self, Read, Write},
    process::ExitCode,
};

/// The hidden subcommand of `tasuki` that does what the order on its standard input says.
pub const AGENT_COMMAND: &str = "cores-agent";

/// Runs the agent.
pub fn main() -> ExitCode {
    match serve(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("core files: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(input: &mut dyn Read, output: &mut dyn Write) -> io::Result<()> {
    match serde_json::from_reader(input)? {
        Order::Look => serde_json::to_writer(&mut *output, &Kernel::here())?,
        Order::Give(search) => give(&search, &Kernel::here(), output)?,
        Order::Remove(files) => {
            for file in files {
                fs::remove_file(&file)
                    .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))?;
            }
        }
    }
    output.flush()
}

/// Sends what there is of a job: for each item the length of its description in 4 bytes, the description as
/// JSON, and the bytes of the core file; at the end a length of 0.
pub(crate) fn give(search: &Search, kernel: &Kernel, output: &mut dyn Write) -> io::Result<()> {
    let finds = Finds::of(search, kernel);
    for note in finds.notes {
        describe(&Item::Note(note), output)?;
    }
    for (found, file) in finds.cores {
        let bytes = found.bytes;
        describe(&Item::Core(found), output)?;
        let sent = io::copy(&mut file.take(bytes), output)?;
        if sent != bytes {
            return Err(io::Error::other("a core file has become shorter while it was sent"));
        }
    }
    output.write_all(&0u32.to_le_bytes())
}

fn describe(item: &Item, output: &mut dyn Write) -> io::Result<()> {
    let text = serde_json::to_vec(item)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    output.write_all(&length.to_le_bytes())?;
    output.write_all(&text)
}
