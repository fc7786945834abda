//! Core files of a job on this host.

use crate::{
    catalog,
    dump::Dump,
    front::HOST,
    kernel::{Kernel, Place},
    order::{Found, Search},
};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// By how much a file may seem older than the job, because clocks are read at different moments.
const SLACK: Duration = Duration::from_secs(2);

/// What was found on a host.
#[derive(Default)]
pub(crate) struct Finds {
    /// Core files of the job, open.
    pub cores: Vec<(Found, File)>,
    /// What there is to tell.
    pub notes: Vec<String>,
}

impl Finds {
    /// Looks where this host's kernel puts core files.
    pub fn of(search: &Search, kernel: &Kernel) -> Self {
        let mut finds = Self::default();
        match kernel.place() {
            Place::Files { folder, prefix } => {
                let folders = [Some(PathBuf::new()), folder].into_iter().flatten();
                let folders: BTreeSet<_> = folders.map(|folder| search.folder.join(folder)).collect();
                folders.iter().for_each(|folder| finds.look_in(folder, &prefix, search));
            }
            Place::Program(_) if kernel.is_catalogued() => catalog::look(search, &mut finds),
            // Some programs, as apport, leave it where the process ran after all.
            Place::Program(_) => finds.look_in(&search.folder, "core", search),
        }
        finds
    }

    fn look_in(&mut self, folder: &Path, prefix: &str, search: &Search) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && entry.file_name().to_string_lossy().starts_with(prefix) {
                self.look_at(entry.path(), search);
            }
        }
    }

    fn look_at(&mut self, path: PathBuf, search: &Search) {
        // Files that this user may not read are not of this user's job.
        let Ok(file) = File::open(&path) else { return };
        let dump = match Dump::read(&file) {
            Ok(Some(dump)) => dump,
            Ok(None) => return,
            Err(error) => return self.notes.push(format!("{}: {error}", path.display())),
        };
        if dump.environment.is_empty() && is_newer(&file, search.age) {
            let words = "is a core file that does not say of which job it is; it stays there";
            self.notes.push(format!("{} {words}", path.display()));
        }
        self.take(dump, file, Some(path), search);
    }

    /// Takes a core file if it is of the job, and of this host: hosts may share a folder.
    pub fn take(&mut self, dump: Dump, file: File, path: Option<PathBuf>, search: &Search) {
        let (variable, value) = &search.mark;
        let host = dump.environment.get(HOST);
        let is_here = host.is_none_or(|host| this_host().is_none_or(|here| here == *host));
        if dump.environment.get(variable) != Some(value) || !is_here {
            return;
        }
        let found = Found {
            path,
            bytes: file.metadata().map_or(0, |facts| facts.len()),
            rank: dump.rank(),
            process: dump.process,
            signal: dump.signal,
            program: dump.program,
            is_cut: dump.is_cut,
        };
        self.cores.push((found, file));
    }
}

/// This host's name, as the shell in front of a rank reads it.
fn this_host() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/hostname").ok()?.trim_end().to_owned())
}

/// Whether a file was written since `age` seconds ago.
fn is_newer(file: &File, age: u64) -> bool {
    let written = file.metadata().and_then(|facts| facts.modified());
    let began = SystemTime::now().checked_sub(Duration::from_secs(age) + SLACK);
    written.is_ok_and(|written| began.is_none_or(|began| written >= began))
}
