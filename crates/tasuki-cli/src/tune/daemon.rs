//! `tasuki tune run`: the delay's length follows the load.

use super::{
    BRIEF,
    line::Line,
    named, rails,
    sampler::{Counts, Sampler},
};
use crate::{args::TuneRun, failure::Failure};
use std::{
    fs::File,
    io::Write,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tasuki_apply::{tune_folder, tune_plan_folder};
use tasuki_cluster::RailTable;
use tasuki_fleet::host_name;
use tasuki_host::{Delay, DelayControl, Means, daemon};
use tasuki_tune::{Bundle, BundleSample, BundleStep, Controller, Decision, Lengths, Reason, Sample};
use tasuki_watch::{Instance, TunePlan, TunedNic, TunerNote};

/// How often the note of a running daemon is written anew, at most.
const NOTE: Duration = Duration::from_secs(1);

struct Daemon {
    control: DelayControl,
    controller: Controller,
    sampler: Sampler,
    instance: Instance<TunerNote>,
    note: TunerNote,
    noted: Instant,
    log: Option<(PathBuf, File)>,
    bundle: Option<(Bundle, Vec<String>)>,
    us: u32,
}

/// Microseconds of a bound.
fn bound(delay: Delay, name: &str) -> Result<u32, Failure> {
    match delay {
        Delay::Off => Ok(0),
        Delay::Fixed(us) => Ok(us),
        Delay::Adaptive => Err(Failure::new(format!("--{name} is a time, or off"))),
    }
}

/// Runs until SIGTERM or SIGINT; then the NICs are as they were.
pub fn run(arguments: &TuneRun) -> Result<ExitCode, Failure> {
    if arguments.background {
        daemon::leave_terminal();
    }
    let (plan, is_planned) = plan(arguments)?;
    let lengths = Lengths::new(plan.least_us, 10, plan.most_us)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let mut daemon = Daemon::begin(arguments, &plan.nics, lengths, is_planned.then_some(&plan))?;
    let how: Vec<_> = daemon.control.means().iter().map(|(nic, means)| format!("{nic} by {means}")).collect();
    eprintln!("{}: tuning {}; Ctrl-C ends it", daemon.note.host, how.join(", "));
    if !daemon.sampler.counts_interrupts() {
        eprintln!("{}: these NICs have no interrupts of their own; packets stand for them", daemon.note.host);
    }
    if arguments.background {
        daemon::report_ready();
    }
    let result = daemon.follow(&stop, Duration::from_millis(arguments.period));
    let Daemon { control, instance, .. } = daemon;
    let ended = control.end(&record_folder(arguments));
    drop(instance);
    result.and(ended.map_err(Failure::from)).map(|()| ExitCode::SUCCESS)
}

/// Where it is written down how NICs were.
fn record_folder(arguments: &TuneRun) -> PathBuf {
    let state = arguments.state.state_dir.as_deref();
    if arguments.planned { tune_plan_folder(state) } else { tune_folder(state) }
}

/// What is to be done, and whether that is the cluster file's plan.
fn plan(arguments: &TuneRun) -> Result<(TunePlan, bool), Failure> {
    if arguments.planned {
        let plan = TunePlan::load()?.ok_or_else(|| {
            Failure::new("no cluster file that was applied here has a delay that is \"dynamic\"")
        })?;
        return Ok((plan, true));
    }
    let nics = named(&arguments.nics)?;
    let (least_us, most_us) = (bound(arguments.least, "least")?, bound(arguments.most, "most")?);
    Ok((TunePlan { nics, least_us, most_us }, false))
}

/// The NICs' rates in bit/s, by the table of rails.
fn rates(nics: &[String]) -> Option<Vec<f64>> {
    let rails = rails();
    let rate = |nic: &String| {
        let rail = rails.iter().find(|rail| rail.nic == *nic)?;
        Some(rail.rate_mbits as f64 * 1e6)
    };
    nics.iter().map(rate).collect()
}

fn bundle(arguments: &TuneRun, nics: &[String]) -> Result<Option<(Bundle, Vec<String>)>, Failure> {
    if !arguments.bundle {
        return Ok(None);
    }
    if tasuki_watch::note().is_none() {
        return Err(Failure::new(
            "--bundle needs `tasuki watch`, which `tasuki apply` starts: it tells the striping program",
        ));
    }
    let rates = rates(nics).ok_or_else(|| {
        Failure::new(format!(
            "--bundle needs the NICs' rates, and not all of them are in {}",
            RailTable::PATH
        ))
    })?;
    Ok(Some((Bundle::new(rates), nics.to_vec())))
}

impl Daemon {
    fn begin(
        arguments: &TuneRun,
        nics: &[String],
        lengths: Lengths,
        plan: Option<&TunePlan>,
    ) -> Result<Self, Failure> {
        if !nix::unistd::Uid::effective().is_root() {
            return Err(Failure::new("setting interrupt delays needs root; run it with sudo"));
        }
        let bundle = bundle(arguments, nics)?;
        let log = match &arguments.log {
            Some(path) => {
                let file = File::options().create(true).append(true).open(path);
                let fail = |error| Failure::new(format!("cannot write {}: {error}", path.display()));
                Some((path.clone(), file.map_err(fail)?))
            }
            None => None,
        };
        let mut note =
            TunerNote { pid: std::process::id().cast_signed(), host: host_name(), ..TunerNote::default() };
        note.plan = plan.cloned();
        // First, so that two never hold the same NICs.
        let mut instance = Instance::begin(&note)?;
        let state = record_folder(arguments);
        let means = arguments.by.map(Means::from);
        let mut control = DelayControl::begin(&note.host, &state, nics, means)?;
        let tuned = |(interface, means): (String, Means)| TunedNic { interface, means: means.to_string() };
        note.nics = control.means().into_iter().map(tuned).collect();
        instance.say(&note)?;
        let controller = Controller::new(lengths);
        let us = controller.best_us();
        if let Err(error) = control.set_us(us) {
            control.end(&state)?;
            return Err(error.into());
        }
        note.best_us = us;
        let sampler = Sampler::new(nics);
        Ok(Self { control, controller, sampler, instance, note, noted: Instant::now(), log, bundle, us })
    }

    fn follow(&mut self, stop: &AtomicBool, period: Duration) -> Result<(), Failure> {
        let mut before = self.sampler.look(self.control.counts());
        while !stop.load(Ordering::Relaxed) {
            // A signal ends the sleep early at worst by one period.
            thread::sleep(if self.controller.is_brief() { period.min(BRIEF) } else { period });
            let now = self.sampler.look(self.control.counts());
            let sample = now.since(&before);
            let step = self.step_bundle(&sample, &now, &before);
            let decision = self.controller.step(&sample);
            self.tell(&sample, &decision, step)?;
            if decision.us != self.us {
                self.control.set_us(decision.us)?;
                self.us = decision.us;
                before = self.sampler.look(self.control.counts());
            } else {
                self.control.keep_us(self.us)?;
                before = now;
            }
        }
        Ok(())
    }

    fn step_bundle(&mut self, sample: &Sample, now: &Counts, before: &Counts) -> Option<BundleStep> {
        let (bundle, names) = self.bundle.as_mut()?;
        let sum = |of: &dyn Fn(&tasuki_host::NicCounts) -> u64| {
            let sum = |counts: &Counts| counts.nics.iter().map(of).sum::<u64>();
            sum(now).saturating_sub(sum(before)) as f64 * 8.0 / sample.seconds
        };
        let bits = sum(&|nic| nic.received).max(sum(&|nic| nic.sent));
        let step = bundle.step(&BundleSample { busy: sample.busy, user: sample.user, bits });
        self.note.resting = names[bundle.used()..].to_vec();
        (step != BundleStep::Stay).then_some(step)
    }

    /// Says what was decided, to whoever reads: the log every period, standard error what changed, the note at times.
    fn tell(
        &mut self,
        sample: &Sample,
        decision: &Decision,
        bundle: Option<BundleStep>,
    ) -> Result<(), Failure> {
        let best_us = self.controller.best_us();
        if let Some((path, file)) = &mut self.log {
            let mut line = Line::new(self.us, sample, decision, best_us);
            (line.bundle, line.resting) = (bundle, &self.note.resting);
            let text = serde_json::to_string(&line)? + "\n";
            let fail = |error| Failure::new(format!("cannot write {}: {error}", path.display()));
            file.write_all(text.as_bytes()).map_err(fail)?;
        }
        let has_moved = best_us != self.note.best_us;
        if has_moved {
            let seen = format!(
                "{:.0} packets/s, {:.0} interrupts/s, {:.0} % busy",
                sample.packet_rate(),
                sample.interrupt_rate(),
                sample.busy * 100.0
            );
            eprintln!(
                "{}: delay {best_us} us instead of {}: {}; {seen}",
                self.note.host,
                self.note.best_us,
                why(&decision.reason)
            );
            self.note.changes += 1;
        }
        if let Some(step) = bundle {
            eprintln!("{}: bundle: {step:?}, out of it: [{}]", self.note.host, self.note.resting.join(", "));
        }
        if has_moved || bundle.is_some() || self.noted.elapsed() >= NOTE {
            self.note.best_us = best_us;
            self.note.packets = sample.packet_rate();
            self.note.interrupts = sample.interrupt_rate();
            self.note.busy = sample.busy;
            self.instance.say(&self.note)?;
            self.noted = Instant::now();
        }
        Ok(())
    }
}

fn why(reason: &Reason) -> String {
    match reason {
        Reason::Better(part) => format!("{:.0} % better", part * 100.0),
        Reason::Same => "no difference, so the shorter".into(),
        Reason::Changed => "the load has changed".into(),
        Reason::Remembered => "a load that was seen before".into(),
        Reason::Quiet => "hardly any packets".into(),
        other => format!("{other:?}").to_lowercase(),
    }
}
