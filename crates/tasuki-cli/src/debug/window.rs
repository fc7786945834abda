//! gdb on a terminal, for one rank; and a window of tmux for each of several.

use std::{
    env,
    ffi::OsString,
    process::{Command, ExitCode, ExitStatus},
};
use tasuki_args::DebugArgs;
use tasuki_debug::{Member, Ranks};
use tasuki_fleet::{Fleet, Task};
use tasuki_process::{end_with_parent, quote};
use tasuki_stacks::{gdb::not_run, halted};
use tasuki_terminal::Failure;

/// The internal command that a host runs on its terminal: gdb, which has a process until it ends.
pub fn alone(pid: u32) -> Result<ExitCode, Failure> {
    if let Some(why) = halted::obstacle(pid) {
        return Err(Failure::new(format!("process {pid}: {why}")));
    }
    let mut gdb = Command::new("gdb");
    // Told to end, gdb lets its process go on.
    gdb.args(["--quiet", "-ex", "set confirm off", "-p", &pid.to_string()]);
    end_with_parent(&mut gdb);
    // What Ctrl-C is for is gdb.
    let _signals = signal_hook::flag::register(signal_hook::consts::SIGINT, Default::default())?;
    let status = gdb.status().map_err(|error| Failure::new(not_run(&error)))?;
    Ok(code(status))
}

/// Runs gdb for one process on this terminal, on the host where it runs.
pub fn one(fleet: &Fleet, member: &Member) -> Result<ExitCode, Failure> {
    let pid = member.debuggee.pid.to_string();
    // Over what reaches the host, SIGTERM comes to gdb, which ends in its own way.
    let task = Task::tasuki(["debug-alone", &pid]).lasting().on_terminal();
    let mut command = fleet.command(member.host, &task);
    end_with_parent(&mut command);
    let _signals = signal_hook::flag::register(signal_hook::consts::SIGINT, Default::default())?;
    let status = command.status().map_err(|error| {
        Failure::new(format!("{}: cannot run {:?}: {error}", member.host_name, command.get_program()))
    })?;
    Ok(code(status))
}

fn code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Opens a window of tmux for each rank.
pub fn tmux(arguments: &DebugArgs, ranks: &Ranks) -> Result<ExitCode, Failure> {
    let ranks = ranks.members.iter().filter_map(|member| member.debuggee.rank);
    let window = |rank| Ok((format!("rank {rank}"), line(arguments, rank)?));
    let windows = ranks.map(window).collect::<Result<Vec<_>, Failure>>()?;
    if windows.is_empty() {
        return Err(Failure::new("these processes have no ranks, by which windows are called"));
    }
    tasuki_debug::windows(&windows).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

/// The command of a window, for a shell; the window waits before it closes if there was an error.
fn line(arguments: &DebugArgs, rank: u32) -> Result<String, Failure> {
    let mut words: Vec<OsString> = vec![env::current_exe()?.into(), "debug".into()];
    words.extend(arguments.job.iter().map(OsString::from));
    words.extend(["--ranks".into(), rank.to_string().into()]);
    let named = [("--lab", &arguments.lab), ("--program", &arguments.program), ("--user", &arguments.user)];
    for (option, value) in named {
        words.extend(value.iter().flat_map(|value| [option.into(), value.into()]));
    }
    if let Some(cluster) = &arguments.cluster {
        words.extend(["--cluster".into(), std::path::absolute(cluster)?.into()]);
    }
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    Ok(format!("{} || {{ echo 'Enter closes this window'; read -r _; }}", words.join(" ")))
}
