//! The receive-interrupt delays of a cluster file. Those that stay the same have a record of their own, in a
//! folder below that of the rest; `tasuki tune run` sets those that follow the load.

use crate::{
    ApplyError,
    record::{is_kept, undo_at},
    tuning::{end_tuner, tune_plan_folder},
};
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};
use tasuki_cluster::{Cluster, DelayWish, HostId, Tuning};
use tasuki_host::{Following, Key, Mode, Report, Setup, Status, TUNE_UNIT, Value, Wish, daemon};
use tasuki_watch::{TunePlan, TunerNote, said};

/// The delays that a cluster file has for a host.
pub struct Delays {
    host: String,
    folder: PathBuf,
    wishes: Vec<Wish>,
    plan: Option<TunePlan>,
}

/// The folder of the record of delays; `state`: the folder of the record of the rest.
pub fn folder(state: &Path) -> PathBuf {
    state.join("delays")
}

impl Delays {
    /// The delays that the cluster has for a host, but for NICs that are `missing` there. `state` is the
    /// folder of the host's record.
    pub fn of(cluster: &Cluster, host: HostId, missing: &[String], state: &Path) -> Self {
        let (mut wishes, mut nics) = (Vec::new(), Vec::new());
        let is_there = |interface: &str| !missing.iter().any(|one| one == interface);
        for (interface, wish) in cluster.delays(host).into_iter().filter(|(name, _)| is_there(name)) {
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

    /// The file that tells `tasuki tune run` which delays follow the load.
    pub fn file(&self) -> Option<(Key, Value)> {
        let plan = self.plan.as_ref()?;
        Some((Key::File { path: TunePlan::PATH.into() }, Value::Text(plan.to_json())))
    }

    /// What would be changed, and what prevents it.
    pub fn look(&self, mode: Mode) -> Result<Report, ApplyError> {
        let mode = if mode == Mode::Change { Mode::Check } else { mode };
        let mut report = self.keep(mode)?;
        let by_hand = said::<TunerNote>().filter(|note| note.plan.is_none());
        if let Some(note) = by_hand.filter(|_| self.is_dynamic() || !self.wishes.is_empty()) {
            report.problems.push(format!(
                "{}: `tasuki tune run` (process {}), which somebody has started by hand, sets delays; \
                 end it first: tasuki tune undo",
                self.host, note.pid
            ));
        }
        Ok(report)
    }

    fn keep(&self, mode: Mode) -> Result<Report, ApplyError> {
        if self.wishes.is_empty() && !is_kept(&self.folder) {
            return Ok(Report { host: self.host.clone(), done: true, ..Report::default() });
        }
        Ok(Setup::open(&self.host, &self.folder, mode, true)?.keep_delays(&self.wishes, &mut |_| ())?)
    }

    /// Ends a running `tasuki tune run` that follows another plan, and puts its NICs back, also if it was
    /// killed: that has to be done before anything else sets their delays.
    pub fn end_other_plan(&self, state: &Path) -> Result<(), ApplyError> {
        if let Some(plan) = said::<TunerNote>().and_then(|note| note.plan) {
            if Some(&plan) == self.plan.as_ref() {
                return Ok(());
            }
            end_tuner()?;
        }
        undo_at(&self.host, &tune_plan_folder(Some(state)), Mode::Change).map(|_| ())
    }

    /// Sets the delays that stay the same. To be called once the NICs are up.
    pub fn set(&self) -> Result<Report, ApplyError> {
        self.keep(Mode::Change)
    }

    /// Starts `tasuki tune run` for the delays that follow the load, unless it runs or (`by_unit`) a unit
    /// starts it.
    pub fn follow(&self, state: &Path, by_unit: bool) -> Result<(), ApplyError> {
        if !self.is_dynamic() || by_unit || said::<TunerNote>().is_some() {
            return Ok(());
        }
        let state = state.display().to_string();
        let argv = ["tune", "run", "--planned", "--background", "--state-dir", &state];
        daemon::start(TUNE_UNIT, &argv, Stdio::null()).map_err(ApplyError::TunerStart)
    }
}

/// Adds to a host's status what is known of its delays.
pub fn add_status(status: &mut Status, state: &Path) -> Result<(), ApplyError> {
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
