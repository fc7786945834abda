//! The daemon: looks, decides, sets, period by period.

use crate::{Counts, Line, Sampler, TunerError, host_rails};
use std::{
    fs::File,
    io::Write,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};
use tasuki_cluster::RailTable;
use tasuki_host::{DelayControl, Means, NicCounts};
use tasuki_tune::{Bundle, BundleSample, BundleStep, Controller, Decision, Lengths, Reason, Sample};
use tasuki_watch::{Instance, TunePlan, TunedNic, TunerNote};

/// How often the note of a running daemon is written anew, at most.
const NOTE_INTERVAL: Duration = Duration::from_secs(1);
/// Longest period while the controller tries every length: for a first look it is enough.
const BRIEF: Duration = Duration::from_millis(100);

/// What is to be tuned, and how.
#[derive(Clone, Debug)]
pub struct TunerOptions {
    /// Name of this host.
    pub host: String,
    /// NICs, all with the same delay.
    pub nics: Vec<String>,
    /// The delays to choose from.
    pub lengths: Lengths,
    /// By this means alone; `None`: by the best of each NIC.
    pub means: Option<Means>,
    /// A file to which every period is appended as a JSON object.
    pub log: Option<PathBuf>,
    /// Folder of the record of what the NICs had before.
    pub record: PathBuf,
    /// The cluster file's plan, if that is what is followed.
    pub plan: Option<TunePlan>,
    /// NICs may be taken out of the striped bundle.
    pub bundle: bool,
}

/// A running daemon. Dropping it leaves the NICs as they are; [`Tuner::end`] gives them back what they had.
pub struct Tuner {
    control: DelayControl,
    controller: Controller,
    sampler: Sampler,
    instance: Instance<TunerNote>,
    note: TunerNote,
    noted: Instant,
    log: Option<(PathBuf, File)>,
    /// The striped bundle and the names of its NICs, if NICs may be taken out of it.
    bundle: Option<(Bundle, Vec<String>)>,
    record: PathBuf,
    /// The delay in force, microseconds.
    us: u32,
}

/// Time until the controller's next decision, if it is to take one every `period`.
pub fn pause(controller: &Controller, period: Duration) -> Duration {
    if controller.is_brief() { period.min(BRIEF) } else { period }
}

/// The NICs' rates in bit/s, by the table of rails; `None` unless all of them are in it.
fn rates(nics: &[String]) -> Option<Vec<f64>> {
    let rails = host_rails();
    let rate = |nic: &String| {
        let rail = rails.iter().find(|rail| rail.nic == *nic)?;
        Some(rail.rate_mbits as f64 * 1e6)
    };
    nics.iter().map(rate).collect()
}

fn bundle_of(nics: &[String]) -> Result<(Bundle, Vec<String>), TunerError> {
    if tasuki_watch::note().is_none() {
        return Err(TunerError::NoWatch);
    }
    let rates = rates(nics).ok_or(TunerError::NoRates { table: RailTable::PATH })?;
    Ok((Bundle::new(rates), nics.to_vec()))
}

fn open_log(path: PathBuf) -> Result<(PathBuf, File), TunerError> {
    match File::options().create(true).append(true).open(&path) {
        Ok(file) => Ok((path, file)),
        Err(source) => Err(TunerError::Log { path, source }),
    }
}

impl Tuner {
    /// Writes down how the NICs are, and gives them the first delay. Refuses if another daemon runs on this
    /// host.
    pub fn begin(options: TunerOptions) -> Result<Self, TunerError> {
        if !nix::unistd::Uid::effective().is_root() {
            return Err(TunerError::NotRoot);
        }
        let TunerOptions { host, nics, lengths, means, log, record, plan, bundle } = options;
        let bundle = bundle.then(|| bundle_of(&nics)).transpose()?;
        let log = log.map(open_log).transpose()?;
        let pid = std::process::id().cast_signed();
        let mut note = TunerNote { pid, host, plan, ..TunerNote::default() };
        // The note comes before anything is changed, so that two daemons never hold the same NICs.
        let mut instance = Instance::begin(&note)?;
        let mut control = DelayControl::begin(&note.host, &record, &nics, means)?;
        let tuned = |(interface, means): (String, Means)| TunedNic { interface, means: means.to_string() };
        note.nics = control.means().into_iter().map(tuned).collect();
        instance.say(&note)?;
        let controller = Controller::new(lengths);
        let us = controller.best_us();
        if let Err(error) = control.set_us(us) {
            control.end(&record)?;
            return Err(error.into());
        }
        note.best_us = us;
        let sampler = Sampler::new(&nics);
        let noted = Instant::now();
        Ok(Self { control, controller, sampler, instance, note, noted, log, bundle, record, us })
    }

    /// Each NIC and by what its delay is set.
    pub fn means(&self) -> Vec<(String, Means)> {
        self.control.means()
    }

    /// Whether the NICs have interrupts of their own; otherwise packets stand for them.
    pub fn counts_interrupts(&self) -> bool {
        self.sampler.counts_interrupts()
    }

    /// Follows the load until `stop` is set, with a decision every `period`. `say` is told in words what
    /// changes.
    pub fn follow(
        &mut self,
        stop: &AtomicBool,
        period: Duration,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), TunerError> {
        let mut before = self.sampler.look(self.control.counts());
        while !stop.load(Ordering::Relaxed) {
            // A signal that comes during the sleep is seen after it: one period late at worst.
            thread::sleep(pause(&self.controller, period));
            let now = self.sampler.look(self.control.counts());
            let sample = now.since(&before);
            let step = self.step_bundle(&sample, &now, &before);
            let decision = self.controller.step(&sample);
            self.tell(&sample, &decision, step, say)?;
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

    /// Gives the NICs back what they had.
    pub fn end(self) -> Result<(), TunerError> {
        // The note goes last, so that nobody else takes the NICs before.
        let Self { control, instance, record, .. } = self;
        let ended = control.end(&record);
        drop(instance);
        Ok(ended?)
    }

    fn step_bundle(&mut self, sample: &Sample, now: &Counts, before: &Counts) -> Option<BundleStep> {
        let (bundle, names) = self.bundle.as_mut()?;
        let rate = |of: &dyn Fn(&NicCounts) -> u64| {
            let sum = |counts: &Counts| counts.nics.iter().map(of).sum::<u64>();
            sum(now).saturating_sub(sum(before)) as f64 * 8.0 / sample.seconds
        };
        let bits = rate(&|nic| nic.received).max(rate(&|nic| nic.sent));
        let step = bundle.step(&BundleSample { busy: sample.busy, user: sample.user, bits });
        self.note.resting = names[bundle.used()..].to_vec();
        (step != BundleStep::Stay).then_some(step)
    }

    /// Makes known what was decided: to the log every period, to `say` what has changed, in the note that and
    /// about once a second.
    fn tell(
        &mut self,
        sample: &Sample,
        decision: &Decision,
        bundle: Option<BundleStep>,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), TunerError> {
        let best_us = self.controller.best_us();
        if let Some((path, file)) = &mut self.log {
            let mut line = Line::new(self.us, sample, decision, best_us);
            (line.bundle, line.resting) = (bundle, &self.note.resting);
            let text = serde_json::to_string(&line)? + "\n";
            let fail = |source| TunerError::Log { path: path.clone(), source };
            file.write_all(text.as_bytes()).map_err(fail)?;
        }
        let has_moved = best_us != self.note.best_us;
        if has_moved {
            say(&moved(&self.note, best_us, sample, decision));
            self.note.changes += 1;
        }
        if let Some(step) = bundle {
            say(&format!(
                "{}: bundle: {step:?}, out of it: [{}]",
                self.note.host,
                self.note.resting.join(", ")
            ));
        }
        if has_moved || bundle.is_some() || self.noted.elapsed() >= NOTE_INTERVAL {
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

/// Which delay is the best now instead of the note's, why, and what was seen of the load.
fn moved(note: &TunerNote, best_us: u32, sample: &Sample, decision: &Decision) -> String {
    format!(
        "{}: delay {best_us} us instead of {}: {}; {:.0} packets/s, {:.0} interrupts/s, {:.0} % busy",
        note.host,
        note.best_us,
        why(&decision.reason),
        sample.packet_rate(),
        sample.interrupt_rate(),
        sample.busy * 100.0
    )
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
