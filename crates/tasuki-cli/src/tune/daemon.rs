//! `tasuki tune run`: the daemon whose interrupt delay follows the load.

use super::named;
use std::{
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};
use tasuki_apply::{tune_folder, tune_plan_folder};
use tasuki_args::TuneRun;
use tasuki_fleet::host_name;
use tasuki_host::{Delay, Means, daemon};
use tasuki_terminal::Failure;
use tasuki_tune::Lengths;
use tasuki_tuned::{Tuner, TunerOptions};
use tasuki_watch::TunePlan;

/// The shortest delay above none that the daemon tries, microseconds.
const STEP_US: u32 = 10;

/// A bound of the delay in microseconds.
fn bound(delay: Delay, name: &str) -> Result<u32, Failure> {
    match delay {
        Delay::Off => Ok(0),
        Delay::Fixed(us) => Ok(us),
        Delay::Adaptive => Err(Failure::new(format!("--{name} is a time, or off"))),
    }
}

/// Runs until SIGTERM or SIGINT, and then restores the NICs.
pub fn run(arguments: &TuneRun) -> Result<ExitCode, Failure> {
    if arguments.background {
        daemon::leave_terminal();
    }
    let plan = plan(arguments)?;
    let lengths = Lengths::new(plan.least_us, STEP_US, plan.most_us)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let state = arguments.state.state_dir.as_deref();
    let host = host_name();
    let mut tuner = Tuner::begin(TunerOptions {
        host: host.clone(),
        nics: plan.nics.clone(),
        lengths,
        means: arguments.by.map(Means::from),
        log: arguments.log.clone(),
        record: if arguments.planned { tune_plan_folder(state) } else { tune_folder(state) },
        plan: arguments.planned.then_some(plan),
        bundle: arguments.bundle,
    })?;
    let how: Vec<_> = tuner.means().iter().map(|(nic, means)| format!("{nic} by {means}")).collect();
    eprintln!("{host}: tuning {}; Ctrl-C ends it", how.join(", "));
    if !tuner.counts_interrupts() {
        eprintln!("{host}: these NICs have no interrupts of their own; packets stand for them");
    }
    if arguments.background {
        daemon::report_ready();
    }
    let result =
        tuner.follow(&stop, Duration::from_millis(arguments.period), &mut |said| eprintln!("{said}"));
    let ended = tuner.end();
    result.and(ended)?;
    Ok(ExitCode::SUCCESS)
}

/// The plan of the cluster file, or one made of the options.
fn plan(arguments: &TuneRun) -> Result<TunePlan, Failure> {
    if arguments.planned {
        return TunePlan::load()?.ok_or_else(|| {
            Failure::new("no cluster file that was applied here has a delay that is \"dynamic\"")
        });
    }
    let nics = named(&arguments.nics)?;
    let (least_us, most_us) = (bound(arguments.least, "least")?, bound(arguments.most, "most")?);
    Ok(TunePlan { nics, least_us, most_us })
}
