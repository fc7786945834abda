//! The catalogue of core files that systemd-coredump(8) keeps, by coredumpctl(1).

use crate::{dump::Dump, kernel::CATALOG, order::Search, search::Finds};
use std::{
    fs::File,
    process::Command,
    thread,
    time::{Duration, SystemTime},
};
use tasuki_process::{Output, run_limited};

/// How long a list may take.
const LIST: Duration = Duration::from_secs(20);
/// How long one core file may take, which is unpacked.
const DUMP: Duration = Duration::from_secs(90);
/// How many times is looked for what is not stored yet, if the job failed, and how long between two looks.
const LOOKS: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(500);

/// Adds the core files of a job that are in the catalogue.
pub(crate) fn look(search: &Search, finds: &mut Finds) {
    let looks = if search.failed { LOOKS } else { 1 };
    for turn in 0..looks {
        if turn > 0 {
            thread::sleep(BETWEEN);
        }
        let processes = match list(search.age + u64::from(turn)) {
            Ok(processes) => processes,
            Err(why) => return finds.notes.push(why),
        };
        if processes.is_empty() {
            continue;
        }
        for process in processes {
            if let Err(why) = take(&process, search, finds) {
                finds.notes.push(format!("{CATALOG}: the core file of process {process}: {why}"));
            }
        }
        return;
    }
}

/// The numbers of processes that have died since the job began.
fn list(age: u64) -> Result<Vec<String>, String> {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
    let since = format!("@{}", now.saturating_sub(age + 2));
    let mut command = Command::new(CATALOG);
    command.args(["list", "--no-legend", "--no-pager", "--quiet", "--since", &since]).env("LC_ALL", "C");
    let output = run_limited(&mut command, LIST).map_err(|error| format!("{CATALOG}: {error}"))?;
    // Exit code 1 says that there is none.
    match output.is_success() || (output.code == Some(1) && output.stdout.is_empty()) {
        true => Ok(processes(&output.stdout)),
        false => Err(format!("{CATALOG} list: {}", said(&output))),
    }
}

/// The processes of a list, whose lines begin with the time in four words and the process.
fn processes(list: &str) -> Vec<String> {
    let process = |line: &str| {
        let word = line.split_whitespace().nth(4)?;
        word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.to_owned())
    };
    list.lines().filter_map(process).collect()
}

/// Takes the core file of a process out of the catalogue, if it is of the job.
fn take(process: &str, search: &Search, finds: &mut Finds) -> Result<(), String> {
    let temporary = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let mut command = Command::new(CATALOG);
    command.args(["dump", process, "--no-pager", "--quiet", "-o"]).arg(temporary.path());
    let output = run_limited(&mut command, DUMP).map_err(|error| error.to_string())?;
    if !output.is_success() {
        return Err(said(&output));
    }
    // The name may be that of another file now.
    let file = File::open(temporary.path()).map_err(|error| error.to_string())?;
    match Dump::read(&file) {
        Ok(Some(dump)) => finds.take(dump, file, None, search),
        Ok(None) => return Err("it is none".into()),
        Err(error) => return Err(error.to_string()),
    }
    Ok(())
}

fn said(output: &Output) -> String {
    format!("{}: {}", output.reason(), output.stderr_tail(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as systemd 252 prints them.
    #[test]
    fn processes_are_read_from_lists() {
        let list = "Sat 2026-11-28 07:04:33 UTC 4711 1000 1000 SIGSEGV present  /home/a/a.out 1.2M\n\
                    Sat 2026-11-28 07:04:34 UTC   12 1000 1000 SIGABRT none     /home/a/b -\n";
        assert_eq!(processes(list), ["4711", "12"]);
        assert!(processes("No coredumps found.\n").is_empty());
    }
}
