//! Interrupt delays that `tasuki tune` has set on this host, by hand or by load: their records, and taking
//! them back.

use crate::{
    ApplyError,
    record::{is_kept, state_folder, undo_at},
    report::merge,
};
use nix::unistd::Uid;
use std::path::{Path, PathBuf};
use tasuki_fleet::host_name;
use tasuki_host::{Key, Mode, Report, Setup, TUNE_UNIT, Value, daemon};
use tasuki_watch::{TunerNote, said};

/// The folder of the record of `tasuki tune`: beside that of `apply`, so that each can be undone without the
/// other.
pub fn tune_folder(state_dir: Option<&Path>) -> PathBuf {
    state_folder(state_dir).join("tune")
}

/// The folder of the record of a `tasuki tune run` that follows a cluster file's plan. No other command uses
/// it, so that what the plan has set can be taken back by itself.
pub fn tune_plan_folder(state_dir: Option<&Path>) -> PathBuf {
    state_folder(state_dir).join("following")
}

/// Ends a running `tasuki tune run`.
pub fn end_tuner() -> Result<(), ApplyError> {
    daemon::systemctl("stop", TUNE_UNIT);
    tasuki_watch::end::<TunerNote>()?;
    Ok(())
}

/// Ends a running `tasuki tune run`, and gives NICs back the delays that they had before `tasuki tune`.
///
/// # Errors
/// If the daemon cannot be ended, or a NIC cannot be read or set.
pub fn restore_tuning(state_dir: Option<&Path>, mode: Mode) -> Result<Report, ApplyError> {
    if mode == Mode::Change && Uid::effective().is_root() {
        end_tuner()?;
    }
    // An interrupt delay cuts nobody off, so an interface by which the user is logged in may be changed too.
    let mut report = Setup::open(&host_name(), &tune_folder(state_dir), mode, true)?.undo(&mut |_| ())?;
    if let Some(planned) = undo_at(&host_name(), &tune_plan_folder(state_dir), mode)? {
        if report.changes.is_empty() {
            // The note of an empty record says that there was nothing to undo, which is not true of both.
            report.notes.clear();
        }
        merge(&mut report, planned);
    }
    note_loaded_drivers(&mut report);
    Ok(report)
}

/// Whether there is anything for [`restore_tuning`] to do.
pub(crate) fn is_tuned(state_dir: Option<&Path>) -> bool {
    is_kept(&tune_folder(state_dir)) || is_kept(&tune_plan_folder(state_dir)) || said::<TunerNote>().is_some()
}

/// Notes that a driver keeps a parameter until it is loaded again, if a file with such a parameter was
/// removed.
fn note_loaded_drivers(report: &mut Report) {
    let is_module = |key: &Key, to: &Value| match key {
        Key::File { path } => *to == Value::Absent && path.starts_with("/etc/modprobe.d"),
        _ => false,
    };
    if report.changes.iter().any(|change| is_module(&change.key, &change.to)) {
        report.notes.push(
            "a driver that was loaded with InterruptThrottleRate keeps it until it is loaded again \
             (modprobe -r, modprobe, or a restart)"
                .into(),
        );
    }
}
