//! `tasuki daemon`: the resident runtime's part on this host.

use std::{io::Read, path::PathBuf, process::ExitCode};
use tasuki_apply::{RUNTIME_FOLDER, cluster_checksum, state_folder};
use tasuki_args::{DaemonArgs, VERSION};
use tasuki_fleet::Fleet;
use tasuki_host::daemon;
use tasuki_process::{ignore_broken_pipes, raise_open_files};
use tasuki_runtime::{
    Bundle, RuntimeError, SOCKET, StartError, note, run as serve, start_again, start_local,
};
use tasuki_terminal::{Failure, counted, print_json};

/// Runs the command.
pub fn run(arguments: &DaemonArgs) -> Result<ExitCode, Failure> {
    if arguments.status {
        return status(arguments.json);
    }
    let folder = folder(arguments);
    if arguments.install {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        start_local(&Bundle::parse(&text)?, &folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.start {
        start_again(&folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.background {
        daemon::leave_terminal();
    }
    // A command or a shepherd that is gone ends no daemon.
    ignore_broken_pipes()?;
    let _ = raise_open_files(); // With fewer it works as well, for fewer commands.
    serve(&folder, VERSION, || match arguments.background {
        true => daemon::report_ready(),
        false => eprintln!("tasukid runs; Ctrl-C ends it, and jobs wait 10 minutes for the next one"),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Starts the daemons of all hosts of a fleet, with new keys, unless all run as they should.
pub fn start_all(fleet: &Fleet) -> Result<(), Failure> {
    let cluster = fleet.cluster().ok_or(StartError::NoCluster)?;
    let hosts = counted(fleet.len(), "host", "s");
    match tasuki_runtime::start_all(fleet, cluster_checksum(cluster), VERSION)? {
        true => eprintln!("tasukid runs on {hosts}; `tasuki hosts` shows them"),
        false => eprintln!("tasukid ran already on {hosts}, and goes on"),
    }
    Ok(())
}

fn folder(arguments: &DaemonArgs) -> PathBuf {
    arguments.state_dir.clone().unwrap_or_else(|| state_folder(None).join(RUNTIME_FOLDER))
}

fn status(json: bool) -> Result<ExitCode, Failure> {
    let note = note();
    if json {
        print_json(&note.iter().collect::<Vec<_>>())?;
    }
    let Some(note) = note else {
        eprintln!("tasuki: {}", RuntimeError::NoDaemon(SOCKET.into()));
        return Ok(ExitCode::FAILURE);
    };
    if json {
        return Ok(ExitCode::SUCCESS);
    }
    println!("tasukid runs as process {}, for host {}, version {}", note.pid, note.host, note.version);
    Ok(ExitCode::SUCCESS)
}
