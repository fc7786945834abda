//! `tasuki tune`: sets the receive-interrupt delay by hand or by load.

mod daemon;
mod simulate;

use crate::apply::{Form, reports};
use serde::Serialize;
use std::{fs, path::Path, process::ExitCode};
use tasuki_apply::{restore_tuning, state_folder, tune_folder};
use tasuki_args::{By, TuneChange, TuneCommand, TuneJson, TuneSet, TuneShow};
use tasuki_fleet::host_name;
use tasuki_host::{Delay, DelayLook, Means, Mode, Report, Setup, Wish};
use tasuki_terminal::{Failure, print_json, progress_bar, table};
use tasuki_tuned::{cabled_nics, present_nics, reload_check, reload_now_or_later};
use tasuki_watch::{TunerNote, said};

/// Runs the command.
pub fn run(command: TuneCommand) -> Result<ExitCode, Failure> {
    match command {
        TuneCommand::Show(arguments) => show(&arguments),
        TuneCommand::Set(arguments) => set(&arguments),
        TuneCommand::Run(arguments) => daemon::run(&arguments),
        TuneCommand::Status(arguments) => status(&arguments),
        TuneCommand::Undo(arguments) => undo(&arguments),
        TuneCommand::Simulate(arguments) => simulate::run(&arguments),
    }
}

/// The NICs that were named, or if none were, those of the rails.
fn named(nics: &[String]) -> Result<Vec<String>, Failure> {
    if !nics.is_empty() {
        return Ok(nics.to_vec());
    }
    let cabled = cabled_nics();
    if cabled.is_empty() {
        return Err(Failure::new(format!(
            "name NICs: nothing was set up here by `tasuki apply` that would say which; there are {}",
            present_nics().join(", ")
        )));
    }
    Ok(cabled)
}

fn open(state_dir: Option<&Path>, mode: Mode) -> Result<Setup, Failure> {
    // `true` allows changes of the NIC that the user is logged in by, as a delay cuts no connection off.
    Ok(Setup::open(&host_name(), &tune_folder(state_dir), mode, true)?)
}

fn show(arguments: &TuneShow) -> Result<ExitCode, Failure> {
    let mut setup = open(None, Mode::Show)?;
    let mut nics = if arguments.nics.is_empty() { cabled_nics() } else { arguments.nics.clone() };
    if nics.is_empty() {
        nics = present_nics();
    }
    let delays = nics.iter().map(|nic| setup.delay_of(nic)).collect::<Result<Vec<_>, _>>()?;
    if arguments.json {
        print_json(&delays)?;
    } else {
        print(&delays);
    }
    Ok(ExitCode::SUCCESS)
}

fn print(delays: &[DelayLook]) {
    let mut rows = table(["NIC", "driver", "means", "delay", "settings"]);
    for nic in delays {
        for (number, means) in nic.means.iter().filter(|means| means.means != Means::Module).enumerate() {
            let first = |text: &str| if number == 0 { text.to_owned() } else { String::new() };
            let used = if nic.best().is_some_and(|best| best.means == means.means) { "*" } else { "" };
            let delay = match means.obstacle {
                Some(_) => "-".into(),
                None => means.delay.map_or("-".into(), |delay| delay.to_string()),
            };
            let setting = means.obstacle.as_ref().unwrap_or(&means.setting);
            rows.add_row([
                first(&nic.interface),
                first(&nic.driver),
                format!("{}{used}", means.means),
                delay,
                setting.clone(),
            ]);
        }
    }
    println!("{rows}");
    println!("* is what `tasuki tune` uses, unless --by says otherwise");
}

/// An error if the daemon runs, because it would change the delays again.
fn refuse_beside_daemon() -> Result<(), Failure> {
    match said::<TunerNote>() {
        Some(note) => Err(Failure::new(format!(
            "`tasuki tune run` (process {}) sets the delay of this host's NICs; end it first: tasuki tune \
             undo",
            note.pid
        ))),
        None => Ok(()),
    }
}

fn set(arguments: &TuneSet) -> Result<ExitCode, Failure> {
    if arguments.reload && arguments.by != Some(By::Module) {
        return Err(Failure::new(
            "--reload is for --by module: nothing else needs the driver to be loaded again",
        ));
    }
    let nics = named(&arguments.nics)?;
    let mode = arguments.change.mode();
    if mode == Mode::Change {
        refuse_beside_daemon()?;
    }
    let means = arguments.by.map(Means::from);
    let wish = |interface: &String| Wish { interface: interface.clone(), delay: arguments.delay, means };
    let wishes: Vec<_> = nics.iter().map(wish).collect();
    let mut setup = open(arguments.change.state_dir(), mode)?;
    let drivers = match means {
        Some(Means::Module) => drivers(&mut setup, &nics)?,
        _ => Vec::new(),
    };
    if arguments.reload {
        reload_check(&setup, &drivers)?;
    }
    let mut report = set_all(&mut setup, &wishes)?;
    reload_now_or_later(&mut report, &drivers, arguments.reload, arguments.delay)?;
    finish(report, "changed", mode, arguments.change.json)
}

/// Makes a change with a progress bar, because some drivers take long.
fn set_all(setup: &mut Setup, wishes: &[Wish]) -> Result<Report, Failure> {
    let bar = progress_bar(wishes.len() as u64).with_prefix("delays");
    let report = setup.tune(wishes, &mut |done| {
        bar.set_position(done as u64);
        if done == wishes.len() {
            bar.set_message("until the drivers have taken them");
        }
    });
    bar.finish_and_clear();
    Ok(report?)
}

fn drivers(setup: &mut Setup, nics: &[String]) -> Result<Vec<String>, Failure> {
    let drivers = nics.iter().map(|nic| Ok::<_, Failure>(setup.delay_of(nic)?.driver));
    let mut drivers = drivers.collect::<Result<Vec<_>, _>>()?;
    drivers.sort();
    drivers.dedup();
    Ok(drivers)
}

fn finish(report: Report, verb: &str, mode: Mode, json: bool) -> Result<ExitCode, Failure> {
    let is_well = report.problems.is_empty();
    reports(&[report], verb, mode, if json { Form::Json } else { Form::Full })?;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn undo(arguments: &TuneChange) -> Result<ExitCode, Failure> {
    let mode = arguments.mode();
    let report = restore_tuning(arguments.state_dir(), mode)?;
    if report.done {
        // Removes the folder around that of the record, if it is empty.
        let _ = fs::remove_dir(state_folder(arguments.state_dir()));
    }
    finish(report, "restored", mode, arguments.json)
}

/// What `status --json` prints: an object in any case.
#[derive(Serialize)]
struct Status<'a> {
    running: bool,
    #[serde(flatten)]
    note: &'a Option<TunerNote>,
}

fn status(arguments: &TuneJson) -> Result<ExitCode, Failure> {
    let note = said::<TunerNote>();
    if arguments.json {
        print_json(&Status { running: note.is_some(), note: &note })?;
    } else {
        match &note {
            None => println!("no `tasuki tune run` runs on this host"),
            Some(note) => print_note(note),
        }
    }
    Ok(if note.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_note(note: &TunerNote) {
    let nics: Vec<_> = note.nics.iter().map(|nic| format!("{} by {}", nic.interface, nic.means)).collect();
    println!("{}: process {}, {}", note.host, note.pid, nics.join(", "));
    println!("delay {}, chosen anew {} times", Delay::from_us(note.best_us), note.changes);
    println!(
        "{:.0} packets/s, {:.0} interrupts/s, processors {:.0} % busy",
        note.packets,
        note.interrupts,
        note.busy * 100.0
    );
    if !note.resting.is_empty() {
        println!("out of the bundle: {}", note.resting.join(", "));
    }
}
