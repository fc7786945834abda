//! The record of what was changed, and from what. It is on the disk before the first change is made.

use crate::{Change, HostError, Key, NicWish, Value, files, lock::Lock};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};
use tasuki_cluster::sync_folder_of;

/// Version of the format.
const VERSION: u32 = 1;
const FILE: &str = "changes.json";
/// The file, beside the record, by which one process has the folder to itself.
const LOCK: &str = "lock";

/// What was changed on a host, oldest change first.
///
/// Every key occurs once: `from` is its value before the first change, `to` the latest that was asked for. A
/// change may not have been made, because the process that wrote the record may have ended before. Setting
/// every key to `from`, newest first, restores the host in any case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    version: u32,
    /// Name of the host in its cluster.
    pub host: String,
    /// Name of the cluster.
    pub cluster: String,
    boot: String,
    namespace: String,
    /// The changes.
    pub changes: Vec<Change>,
    /// Changes that a driver does not make, because the value that it has already, `from`, is what it makes
    /// of `to`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounded: Vec<Change>,
    /// What all cabled NICs were to have besides what the plan says, for those that come later.
    #[serde(default, skip_serializing_if = "NicWish::is_nothing")]
    pub nics: NicWish,
}

/// What tells this network of this running machine from all others: the start of the machine, and the network
/// namespace of the calling thread.
pub fn here() -> (String, String) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/thread-self/ns/net").unwrap_or_default();
    (boot.trim().into(), namespace.display().to_string())
}

impl Record {
    /// A record without changes, for the network namespace of the calling thread.
    pub fn new(host: &str, cluster: &str) -> Self {
        let (boot, namespace) = here();
        let (host, cluster) = (host.into(), cluster.into());
        let (changes, rounded, nics) = (Vec::new(), Vec::new(), NicWish::default());
        Self { version: VERSION, host, cluster, boot, namespace, changes, rounded, nics }
    }

    /// Whether it holds no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.rounded.is_empty()
    }

    /// Adds changes that are about to be made.
    pub fn add(&mut self, changes: &[Change]) {
        for change in changes {
            match self.changes.iter_mut().find(|known| known.key == change.key) {
                Some(known) => known.to = change.to.clone(),
                None => self.changes.push(change.clone()),
            }
        }
    }

    /// Notes what a driver has made of what it was given, so that it is not given the same again.
    pub fn note_rounding(&mut self, asked: &[Change], made: &[Change]) {
        for (asked, made) in asked.iter().zip(made) {
            self.rounded.retain(|known| known.key != asked.key);
            if asked.to != made.to {
                let (key, from, to) = (asked.key.clone(), made.to.clone(), asked.to.clone());
                self.rounded.push(Change { key, from, to });
            }
        }
    }

    /// Removes keys that have their old value again, once all changes are made, except those that a watch may
    /// change.
    pub fn settle(&mut self, watched: &[Key]) {
        self.changes.retain(|change| change.from != change.to || watched.contains(&change.key));
    }

    /// Notes the state of keys that another process will change for Tasuki, so that `undo` restores them.
    /// Returns whether something was added.
    pub fn guard(&mut self, guarded: impl IntoIterator<Item = (Key, Value)>) -> bool {
        let known = self.changes.len();
        for (key, value) in guarded {
            if !self.changes.iter().any(|change| change.key == key) {
                self.changes.push(Change { key, from: value.clone(), to: value });
            }
        }
        self.changes.len() > known
    }
}

/// The folder that holds the record. While this value lives, no other process changes the host.
#[derive(Debug)]
pub struct Journal {
    host: String,
    folder: PathBuf,
    lock: Option<Lock>,
}

impl Journal {
    /// Opens a folder for writing, and makes it if needed. Fails if another process has it.
    pub fn lock(host: &str, folder: &Path) -> Result<Self, HostError> {
        let fail = |doing| {
            let (host, path) = (host.to_owned(), folder.to_path_buf());
            move |source| HostError::File { host, doing, path, source }
        };
        fs::create_dir_all(folder).map_err(fail("make the folder"))?;
        match Lock::take(&folder.join(LOCK)).map_err(fail("lock"))? {
            Some(lock) => Ok(Self { host: host.into(), folder: folder.into(), lock: Some(lock) }),
            None => Err(HostError::Busy { host: host.into(), path: folder.into() }),
        }
    }

    /// Opens a folder for reading. It need not exist.
    pub fn read_only(host: &str, folder: &Path) -> Self {
        Self { host: host.into(), folder: folder.into(), lock: None }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn fail(&self, doing: &'static str) -> impl FnOnce(std::io::Error) -> HostError + use<> {
        let (host, path) = (self.host.clone(), self.path());
        move |source| HostError::File { host, doing, path, source }
    }

    /// The record, if there is one, and whether it is of an earlier start of the machine (or of another
    /// network namespace): then it holds only what outlives a start.
    pub fn load(&self) -> Result<Option<(Record, bool)>, HostError> {
        let text = match fs::read_to_string(self.path()) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.fail("read")(error)),
        };
        let bad = |why: String| HostError::Journal { host: self.host.clone(), path: self.path(), why };
        let mut record: Record = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        if record.version != VERSION {
            return Err(bad(format!("it is of version {}, not {VERSION}", record.version)));
        }
        let now = here();
        let is_old = (&record.boot, &record.namespace) != (&now.0, &now.1);
        if is_old {
            (record.boot, record.namespace) = now;
            record.changes.retain(|change| change.key.is_lasting());
            record.rounded.clear();
        }
        Ok(Some((record, is_old)))
    }

    /// Writes the record. It is on the disk when this returns.
    pub fn save(&self, record: &Record) -> Result<(), HostError> {
        let text = serde_json::to_string_pretty(record).map_err(|error| HostError::Journal {
            host: self.host.clone(),
            path: self.path(),
            why: error.to_string(),
        })?;
        files::replace(&self.path(), text.as_bytes(), files::FOR_ALL).map_err(self.fail("write"))
    }

    /// Removes the record, because the host is as it was. The folder is removed too, unless something else is
    /// in it.
    pub fn remove(&self) -> Result<(), HostError> {
        match fs::remove_file(self.path()) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(self.fail("remove")(error)),
            _ => {}
        }
        self.lock.iter().for_each(Lock::remove);
        // The removal is on the disk either by the folder's removal or by this.
        if fs::remove_dir(&self.folder).is_err() {
            sync_folder_of(&self.path()).map_err(self.fail("remove"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Value};
    use nix::fcntl::{Flock, FlockArg};

    fn change(path: &str, from: &str, to: &str) -> Change {
        let key = Key::Sysctl { path: path.into() };
        Change { key, from: Value::Text(from.into()), to: Value::Text(to.into()) }
    }

    fn file(path: &str) -> Change {
        let key = Key::File { path: path.into() };
        Change { key, from: Value::Absent, to: Value::Text("x".into()) }
    }

    #[test]
    fn the_first_value_is_kept_whatever_comes_later() {
        let mut record = Record::new("n1", "c");
        record.add(&[change("a", "0", "1"), change("b", "0", "1")]);
        record.add(&[change("a", "1", "2"), change("b", "1", "0")]);
        assert_eq!(record.changes, [change("a", "0", "2"), change("b", "0", "0")]);
        record.settle(&[]);
        assert_eq!(record.changes, [change("a", "0", "2")]);
    }

    #[test]
    fn a_record_is_read_back_and_a_locked_folder_refused() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let journal = Journal::lock("n1", &state).unwrap();
        assert!(matches!(Journal::lock("n1", &state), Err(HostError::Busy { .. })));
        assert_eq!(journal.load().unwrap(), None);
        let mut record = Record::new("n1", "c");
        record.add(&[change("a", "0", "1"), file("/etc/x")]);
        journal.save(&record).unwrap();
        assert_eq!(journal.load().unwrap(), Some((record, false)));
        journal.remove().unwrap();
        assert!(!state.exists());
    }

    #[test]
    fn what_any_user_may_lock_keeps_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        // Every user may open a folder that all may read, and a file of the record.
        let journal = Journal::lock("n1", folder.path()).unwrap();
        journal.save(&Record::new("n1", "c")).unwrap();
        drop(journal);
        let open = |path: &Path| fs::File::open(path).unwrap();
        let all = [open(folder.path()), open(&folder.path().join(FILE))];
        let held = all.map(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).unwrap());
        let journal = Journal::lock("n1", folder.path()).unwrap();
        assert!(journal.load().unwrap().is_some());
        drop(held);
    }

    #[test]
    fn after_a_restart_only_files_are_left() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::lock("n1", folder.path()).unwrap();
        let mut record = Record::new("n1", "c");
        record.boot = "another".into();
        record.add(&[change("a", "0", "1"), file("/etc/x")]);
        journal.save(&record).unwrap();
        let (loaded, is_old) = journal.load().unwrap().unwrap();
        assert!(is_old);
        assert_eq!(loaded.changes, [file("/etc/x")]);
    }

    #[test]
    fn a_record_that_is_none_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::lock("n1", folder.path()).unwrap();
        for text in ["", "{", "{\"version\":1}", "[]"] {
            fs::write(folder.path().join(FILE), text).unwrap();
            let error = journal.load().unwrap_err().to_string();
            assert!(error.contains("n1") && error.contains(FILE), "{error}");
        }
    }
}
