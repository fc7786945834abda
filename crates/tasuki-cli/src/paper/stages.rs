//! The measurements of a paper: each is a `tasuki bench` command of its own, whose results can be kept.

use crate::bench::interruption;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::Ordering,
    time::Instant,
};
use tasuki_args::PaperArgs;
use tasuki_host::{FOR_ALL, replace_file};
use tasuki_paper::{ClusterFile, Findings, Paper, Stage};
use tasuki_terminal::{Failure, counted};

/// What is kept of a measurement.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The command that was run.
    command: String,
    /// How long it took, seconds.
    seconds: f64,
    /// What it printed.
    result: Value,
}

/// Runs what is not kept already, and reads all.
pub fn measure(paper: Paper, arguments: &PaperArgs) -> Result<Findings, Failure> {
    let mut found = Findings::default();
    let stages = paper.stages(arguments.quick);
    let kept: Vec<Option<Kept>> = stages.iter().map(|stage| kept(paper, stage, arguments)).collect();
    let missing = kept.iter().filter(|kept| kept.is_none()).count();
    if missing > 0 && !nix::unistd::geteuid().is_root() {
        eprintln!("tasuki: {} in labs left out, which need root", counted(missing, "measurement", "s"));
    }
    let mut left: u64 =
        stages.iter().zip(&kept).filter(|(_, kept)| kept.is_none()).map(|(stage, _)| stage.seconds).sum();
    let interrupted = interruption()?;
    for (stage, kept) in stages.iter().zip(kept) {
        let kept = match kept {
            Some(kept) => kept,
            None if !nix::unistd::geteuid().is_root() => continue,
            None => {
                eprintln!("tasuki: {}; about {} left", stage.command(), duration(left));
                let kept = run(paper, stage, arguments)?;
                left = left.saturating_sub(stage.seconds);
                kept
            }
        };
        found.extend(paper.read(stage.name, &kept.result));
        if interrupted.load(Ordering::Relaxed) {
            return Err(Failure::new(match &arguments.results {
                Some(folder) => format!("interrupted; the same command goes on with {}", folder.display()),
                None => "interrupted; with --results FOLDER it could go on".into(),
            }));
        }
    }
    Ok(found)
}

/// A time in words.
fn duration(seconds: u64) -> String {
    match seconds {
        ..90 => format!("{seconds} s"),
        90..5400 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

/// The file in which a measurement is kept.
fn file(paper: Paper, stage: &Stage, arguments: &PaperArgs) -> Option<PathBuf> {
    let kind = if arguments.quick { "-quick" } else { "" };
    Some(arguments.results.as_ref()?.join(format!("{paper}-{}{kind}.json", stage.name)))
}

/// What is kept of this measurement, if it was made by the same command.
fn kept(paper: Paper, stage: &Stage, arguments: &PaperArgs) -> Option<Kept> {
    let text = fs::read_to_string(file(paper, stage, arguments)?).ok()?;
    serde_json::from_str(&text).ok().filter(|kept: &Kept| kept.command == stage.command())
}

fn run(paper: Paper, stage: &Stage, arguments: &PaperArgs) -> Result<Kept, Failure> {
    let folder = tempfile::tempdir()?;
    let cluster = stage.cluster.map(|wanted| write_cluster(&wanted, folder.path())).transpose()?;
    let begin = Instant::now();
    let mut command = Command::new(std::env::current_exe()?);
    for argument in &stage.arguments {
        match (argument.as_str(), &cluster) {
            ("{cluster}", Some(file)) => command.arg(file),
            _ => command.arg(argument),
        };
    }
    // It has this terminal and hears Ctrl-C itself, so that it ends its labs.
    let output = command.arg("--json").stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let result = serde_json::from_slice(&output.stdout).map_err(|_| {
        Failure::new(format!(
            "{} gave no result ({}); what it said stands above",
            stage.command(),
            output.status
        ))
    })?;
    let kept = Kept { command: stage.command(), seconds: begin.elapsed().as_secs_f64(), result };
    let whole = output.status.success() && kept.result["interrupted"] != true;
    if let Some(file) = file(paper, stage, arguments).filter(|_| whole) {
        keep(&file, &kept)?;
    }
    Ok(kept)
}

/// Writes a result, so that what is kept is always whole.
fn keep(file: &Path, kept: &Kept) -> Result<(), Failure> {
    let fail = |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", file.display()));
    replace_file(file, serde_json::to_string_pretty(kept)?.as_bytes(), FOR_ALL).map_err(fail)
}

/// Writes a cluster file that a measurement needs.
fn write_cluster(wanted: &ClusterFile, folder: &Path) -> Result<PathBuf, Failure> {
    let file = folder.join("cluster.toml");
    let output = Command::new(std::env::current_exe()?)
        .args(["cluster", "new", wanted.shape])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(Failure::new(format!("no cluster file of {} could be made", wanted.shape)));
    }
    fs::write(&file, [&output.stdout, wanted.more.as_bytes()].concat())?;
    Ok(file)
}
