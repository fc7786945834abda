//! The receive-interrupt delays of a cluster file: those that stay the same have a record of their own, below that of the rest; those that follow
//! the load are the business of `tasuki tune run`.

use crate::{
    background,
    failure::Failure,
    tune::{following, is_kept, undo_at},
};
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};
use tasuki_cluster::{Cluster, DelayWish, HostId, Tuning};
use tasuki_host::{Following, Key, Mode, Report, Setup, Status, TUNE_UNIT, Value, Wish};
use tasuki_watch::{TunePlan, TunerNote, said};

/// What a file says of a host.
pub struct Delays {
    host: String,
    folder: PathBuf,
    wishes: Vec<Wish>,
    plan: Option<TunePlan>,
}

/// Where the record is; `state`: the folder of that of the rest.
fn folder(state: &Path) -> PathBuf {
    state.join("delays")
}

impl Delays {
    /// `state` is the folder of the host's record.
    pub fn of(cluster: &Cluster, host: HostId, state: &Path) -> Self {
        let (mut wishes, mut nics) = (Vec::new(), Vec::new());
        for (interface, wish) in cluster.delays(host) {
            let interface = interface.to_owned();
            match wish {
                DelayWish::Set(delay) => wishes.push(Wish { interface, delay, means: None }),
                DelayWish::Dynamic => nics.push(interface),
            }
        }
        let Tuning { least_us, most_us, .. } = cluster.tune.unwrap_or_default();
        let plan = (!nics.is_empty()).then_some(TunePlan { nics, least_us, most_us });
        Self { host: cluster.host_of(host).name.clone(), folder: folder(state), wishes, plan }
    }

    /// Whether a delay follows the load.
    pub fn is_dynamic(&self) -> bool {
        self.plan.is_some()
    }

    /// The file by which `tasuki tune run` knows.
    pub fn file(&self) -> Option<(Key, Value)> {
        let plan = self.plan.as_ref()?;
        Some((Key::File { path: TunePlan::PATH.into() }, Value::Text(plan.to_json())))
    }

    /// What would be changed, and what is in the way.
    pub fn look(&self, mode: Mode) -> Result<Report, Failure> {
        let mode = if mode == Mode::Change { Mode::Check } else { mode };
        let mut report = self.keep(mode)?;
        let by_hand = said::<TunerNote>().filter(|note| note.plan.is_none());
        if let Some(note) = by_hand.filter(|_| self.is_dynamic() || !self.wishes.is_empty()) {
            report.problems.push(format!(
                "{}: `tasuki tune run` (process {}), which somebody has started by hand, sets delays; end it first: tasuki tune undo",
                self.host, note.pid
            ));
        }
        Ok(report)
    }

    fn keep(&self, mode: Mode) -> Result<Report, Failure> {
        if self.wishes.is_empty() && !is_kept(&self.folder) {
            return Ok(Report { host: self.host.clone(), done: true, ..Report::default() });
        }
        Ok(Setup::open(&self.host, &self.folder, mode, true)?.keep_delays(&self.wishes, &mut |_| ())?)
    }

    /// Ends the daemon if it follows another plan: its NICs are to be as they were before anything else sets them, also if it was killed.
    pub fn end_other_plan(&self, state: &Path) -> Result<(), Failure> {
        if let Some(plan) = said::<TunerNote>().and_then(|note| note.plan) {
            if Some(&plan) == self.plan.as_ref() {
                return Ok(());
            }
            end()?;
        }
        undo_at(&self.host, &following(Some(state)), Mode::Change).map(|_| ())
    }

    /// Sets those that stay the same. To be called once the NICs are up.
    pub fn set(&self) -> Result<Report, Failure> {
        self.keep(Mode::Change)
    }

    /// Has those that follow the load do so. `by_unit`: a unit starts the daemon.
    pub fn follow(&self, state: &Path, by_unit: bool) -> Result<(), Failure> {
        if !self.is_dynamic() || by_unit || said::<TunerNote>().is_some() {
            return Ok(());
        }
        let state = state.display().to_string();
        let words = ["tune", "run", "--planned", "--background", "--state-dir", &state];
        background::start(TUNE_UNIT, &words, Stdio::null()).map_err(|failure| {
            Failure::new(format!(
                "the host is set up, but `tasuki tune run` does not start: {}",
                failure.message
            ))
        })
    }
}

/// Ends the daemon.
pub fn end() -> Result<(), Failure> {
    background::systemctl("stop", TUNE_UNIT);
    tasuki_watch::end::<TunerNote>()?;
    Ok(())
}

/// Gives NICs what they had before the cluster file's delays.
pub fn restore(host: &str, state: &Path, mode: Mode) -> Result<Option<Report>, Failure> {
    undo_at(host, &folder(state), mode)
}

/// Adds to a host's status what there is of its delays.
pub fn add_status(status: &mut Status, state: &Path) -> Result<(), Failure> {
    let host = status.host.clone();
    let folder = folder(state);
    if is_kept(&folder) {
        let delays = Setup::open(&host, &folder, Mode::Show, true)?.status(&host)?;
        status.changed += delays.changed;
        status.drift.extend(delays.drift);
    }
    if let Some(plan) = TunePlan::load()? {
        let runs = said::<TunerNote>().is_some_and(|note| note.plan.as_ref() == Some(&plan));
        status.following = Some(Following { nics: plan.nics, runs });
    }
    Ok(())
}
