//! What one host has to say.

use crate::room::{Limits, Room};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use tasuki_ring::stats_page::{ReadError, Reader, Snapshot, list};
use tasuki_stripe::StripeCounts;
use tasuki_sys::netlink::Netlink;

/// The hidden subcommand of `tasuki` that prints a host's [`HostPages`] as JSON.
pub const PAGES_COMMAND: &str = "stats-pages";

/// The statistics pages and striping counters of one host.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct HostPages {
    /// Pages of processes that live.
    pub pages: Vec<Snapshot>,
    /// Pages of this user that could not be read, and why.
    pub problems: Vec<String>,
    /// Pages of other users that could not be read, and why: any user may leave there what is no page.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What the host striped over its NICs.
    #[serde(default)]
    pub striping: Option<StripeCounts>,
    /// Why that is not known: only root may read the counters.
    #[serde(default)]
    pub striping_problem: Option<String>,
}

impl HostPages {
    /// Those of the host that this process runs on.
    pub fn local() -> Self {
        let mut found = Self::of_processes();
        match striping() {
            Ok(striping) => found.striping = striping,
            Err(problem) => found.striping_problem = Some(problem),
        }
        found
    }

    /// Those of this host's processes, without what it stripes.
    pub fn of_processes() -> Self {
        let mut found = Self::default();
        found.read(list(), nix::unistd::geteuid().as_raw(), &Limits::default());
        found.pages = Snapshot::by_process(found.pages);
        found
    }

    /// Reads the pages at `paths`, each file once whatever its names, for the user of this number. Users
    /// with small pages come first, and nobody's pages take the room of others.
    fn read(&mut self, paths: Vec<PathBuf>, reader: u32, limits: &Limits) {
        let (mut known, mut users) = (BTreeSet::new(), BTreeMap::<u32, (u64, Vec<PathBuf>)>::new());
        for path in paths {
            // A page that is gone belongs to a process that ended meanwhile.
            let Ok(file) = path.symlink_metadata() else { continue };
            if known.insert((file.dev(), file.ino())) {
                let user = users.entry(file.uid()).or_default();
                user.0 = user.0.saturating_add(file.len());
                user.1.push(path);
            }
        }
        let mut users: Vec<_> = users.into_iter().collect();
        users.sort_by_key(|(_, (bytes, _))| *bytes);
        let (mut room, count) = (Room::new(limits), users.len());
        for (number, (user, (_, paths))) in users.into_iter().enumerate() {
            let mut share = room.share(count - number, limits);
            let problems = self.read_of_user(user, paths, &mut share);
            room.use_up(&share);
            let told = if user == reader { &mut self.problems } else { &mut self.notes };
            told.extend(problems);
        }
    }

    /// Reads the pages of one user, and returns what is wrong with them. Pages of processes that are just
    /// starting or ending are passed over.
    fn read_of_user(&mut self, user: u32, paths: Vec<PathBuf>, room: &mut Room) -> Vec<String> {
        let (mut problems, all) = (Vec::new(), paths.len());
        for (number, path) in paths.into_iter().enumerate() {
            let is_room = match Reader::open(&path) {
                Ok(reader) if reader.is_stale() => room.has_file(),
                Ok(reader) if room.has_page(reader.bytes()) => {
                    let page = reader.snapshot();
                    let is_room = room.has_said(&page);
                    self.pages.extend(is_room.then_some(page));
                    is_room
                }
                Ok(_) => false,
                Err(error) => {
                    problems.extend(problem(&path, &error));
                    room.has_file()
                }
            };
            if !is_room {
                let left = all - number;
                problems.push(format!(
                    "{left} of {all} pages of user {user} are left out: they are too many, or too large"
                ));
                break;
            }
        }
        problems
    }
}

/// What is wrong with what is no page of this version, if that is worth a word.
fn problem(path: &Path, error: &ReadError) -> Option<String> {
    match error {
        // The page's process has only just started: it has said nothing yet.
        ReadError::Unfinished { .. } => None,
        // Only root sees the processes of other users: they are nothing to say to the others.
        ReadError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => None,
        // The page's process ended between listing and opening.
        _ if !path.exists() => None,
        error => Some(error.to_string()),
    }
}

fn striping() -> Result<Option<StripeCounts>, String> {
    let mut netlink = Netlink::open().map_err(|error| error.to_string())?;
    StripeCounts::read(&mut netlink).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        io::{BufRead, BufReader},
        process::{Child, Command, Stdio},
    };
    use tasuki_ring::stats_page::{Identity, Layout, Writer};

    /// A process that keeps pages, which is ended with the test.
    struct Keeper(Child);

    impl Keeper {
        /// Makes copies of a page under these names, and keeps them as a writer does (byte 1 << 40 is
        /// locked).
        fn of(folder: &Path, names: &[&str]) -> Self {
            let layout = Layout { peers: 1, rails: 1, drops: 1, public: false };
            let page = Writer::create_in(folder, &layout, &Identity::default()).expect("a page");
            let paths = names.iter().map(|name| folder.join(name));
            let copied = paths.map(|path| fs::copy(page.path(), &path).map(|_| path));
            let paths: Vec<PathBuf> = copied.collect::<Result<_, _>>().expect("copies");
            let script = "import fcntl, sys
files = [open(name, 'r+b') for name in sys.argv[1:]]
for file in files:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 1 << 40)
print('ready', flush=True)
sys.stdin.readline()";
            let mut python = Command::new("python3");
            python.args(["-c", script]).args(paths).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut keeper = Self(python.spawn().expect("python3 starts"));
            let mut line = String::new();
            let said = keeper.0.stdout.take().expect("piped");
            BufReader::new(said).read_line(&mut line).expect("a line");
            assert_eq!(line, "ready\n");
            keeper
        }
    }

    impl Drop for Keeper {
        fn drop(&mut self) {
            // It has not ended, as its input has not.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn own() -> u32 {
        nix::unistd::geteuid().as_raw()
    }

    #[test]
    fn a_page_that_is_being_made_is_no_problem_and_a_broken_one_is_that_of_its_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("new"), []).expect("writes");
        fs::write(path("has-its-length"), [0; 8192]).expect("writes");
        fs::write(path("broken"), [7; 8192]).expect("writes");
        let read = |reader| {
            let mut found = HostPages::default();
            let paths = ["new", "has-its-length", "ended", "broken"].map(path).to_vec();
            found.read(paths, reader, &Limits::default());
            assert!(found.pages.is_empty());
            (found.problems, found.notes)
        };
        let (problems, notes) = read(own());
        assert!(problems.len() == 1 && problems[0].contains("broken"), "{problems:?}");
        assert_eq!(notes, [""; 0]);
        assert_eq!(read(own() + 1), (Vec::new(), problems), "what others leave there is no problem");
    }

    #[test]
    fn a_page_with_many_names_is_read_once() {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
        let _keeper = Keeper::of(folder.path(), &["a"]);
        let paths: Vec<PathBuf> = ["a", "b", "c"].map(|name| folder.path().join(name)).to_vec();
        paths[1..].iter().for_each(|link| fs::hard_link(&paths[0], link).expect("links"));
        let mut found = HostPages::default();
        found.read(paths, own(), &Limits::default());
        assert_eq!((found.pages.len(), found.problems), (1, Vec::new()));
    }

    #[test]
    fn more_pages_than_a_user_may_have_are_left_out_and_said() {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
        let _keeper = Keeper::of(folder.path(), &["a", "b", "c"]);
        let read = |limits: &Limits| {
            let mut found = HostPages::default();
            let paths = ["a", "b", "c"].map(|name| folder.path().join(name)).to_vec();
            found.read(paths, own(), limits);
            (found.pages.len(), found.problems)
        };
        assert_eq!(read(&Limits::default()), (3, Vec::new()));
        let bytes = fs::metadata(folder.path().join("a")).expect("a page").len() as usize;
        let all = Limits::default();
        for limits in [Limits { files: 2, ..all }, Limits { read: 2 * bytes, ..all }] {
            let (count, problems) = read(&limits);
            assert_eq!(count, 2);
            let left =
                format!("1 of 3 pages of user {} are left out: they are too many, or too large", own());
            assert_eq!(problems, [left]);
        }
        assert_eq!(read(&Limits { said: 0, ..all }).0, 0);
    }
}
