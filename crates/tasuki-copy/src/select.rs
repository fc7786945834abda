//! What is sent: the program, libraries of it that hosts lack, and files that the user names.

use crate::{CopyError, protocol::Item};
use std::{
    ffi::OsString,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Component, Path, PathBuf},
};
use tasuki_launch::{Environment, Library, shared_libraries};

/// Below a job's folder: the working folder of the ranks.
pub const WORK: &str = "files";
/// Below a job's folder: libraries.
pub const LIBRARIES: &str = "lib";
/// Parts of the C library, which have to be those of the host's own loader (glibc 2.36, `shlib-versions`).
const OF_LIBC: &[&str] = &[
    "ld-linux",
    "ld64",
    "libc",
    "libm",
    "libmvec",
    "libpthread",
    "libdl",
    "librt",
    "libutil",
    "libresolv",
    "libanl",
    "libnsl",
    "libnss",
    "libthread_db",
    "libBrokenLocale",
    "libcrypt",
    "linux-vdso",
];

/// What the user wants to be run, and sent.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The command, with its program's absolute path.
    pub argv: &'a [OsString],
    /// The environment in which the program will run: its libraries are looked for in it.
    pub env: &'a Environment,
    /// Files and folders that are sent too.
    pub files: &'a [PathBuf],
    /// What hosts must have.
    pub needed: Needed<'a>,
}

/// A library that is not sent: hosts must have it.
#[derive(Clone, Copy, Debug)]
pub enum Needed<'a> {
    /// That of the program's MPI.
    Mpi(&'a Path),
    /// Tasuki's for OpenMP programs.
    OpenMp(&'a Path),
}

impl<'a> Needed<'a> {
    /// Where it is, here and on hosts.
    pub fn path(self) -> &'a Path {
        match self {
            Self::Mpi(path) | Self::OpenMp(path) => path,
        }
    }

    /// What is wrong if hosts lack it, whose names have commas between them.
    pub fn missing(self, hosts: String) -> CopyError {
        match self {
            Self::Mpi(path) => CopyError::NoMpi { hosts, library: path.into() },
            Self::OpenMp(path) => CopyError::NoOpenMp { hosts, library: path.into() },
        }
    }
}

/// A file of this machine that is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it is here.
    pub path: PathBuf,
    /// What hosts are told of it.
    pub item: Item,
    /// What it was when it was looked at.
    pub state: FileState,
}

/// What tells a file, as it was once, from another one at its place and from itself after it was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Device and number on it.
    file: (u64, u64),
    bytes: u64,
    /// When it was last written to, seconds and nanoseconds.
    written: (i64, i64),
}

impl FileState {
    /// That of a file with these data.
    pub fn of(data: &fs::Metadata) -> Self {
        let (file, written) = ((data.dev(), data.ino()), (data.mtime(), data.mtime_nsec()));
        Self { file, bytes: data.len(), written }
    }
}

/// The argument that is the program: the first word, or, where all hosts have the same at the same place (an
/// interpreter, `env`, `numactl`), the first argument that is a file.
pub fn program_of(argv: &[OsString], hosts_have_first: bool) -> Option<usize> {
    if !hosts_have_first {
        return Some(0);
    }
    argv.iter().skip(1).position(|word| Path::new(word).is_file()).map(|at| at + 1)
}

/// The libraries of a program that a host might lack.
pub fn libraries(program: &Path, env: &Environment) -> Result<Vec<Library>, CopyError> {
    let all = shared_libraries(program, env)?;
    Ok(all.into_iter().filter(|library| !is_of_libc(&library.name)).collect())
}

fn is_of_libc(name: &str) -> bool {
    let stem = name.split(['.', '-']).next().unwrap_or(name);
    OF_LIBC.iter().any(|part| *part == stem || (part.contains('-') && name.starts_with(part)))
}

/// A file with its place below the job's folder.
pub fn source(path: &Path, folder: &str, name: &Path) -> Result<Source, CopyError> {
    let not_read = |source| CopyError::File { path: path.into(), source };
    let data = fs::metadata(path).map_err(not_read)?;
    // To open a pipe would wait for a program that writes to it.
    if !data.is_file() {
        return Err(CopyError::NoFile(path.into()));
    }
    // It is opened so that a file which may not be read is named before anything is sent.
    fs::File::open(path).map_err(not_read)?;
    let name = name.to_str().ok_or_else(|| CopyError::NotText(path.into()))?;
    let item =
        Item { name: format!("{folder}/{name}"), bytes: data.len(), mode: data.permissions().mode() & 0o777 };
    Ok(Source { path: path.into(), item, state: FileState::of(&data) })
}

/// The place below the working folder of a path that the user has written: a path that leads down from the
/// working folder keeps its folders, of any other one the last part is left.
pub fn place(path: &Path) -> PathBuf {
    let plain: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    let leads_down = plain.components().all(|part| matches!(part, Component::Normal(_)));
    match leads_down {
        true => plain,
        false => path.file_name().map(PathBuf::from).unwrap_or_default(),
    }
}

/// A file that the user names, or all files of a folder; links to folders are not followed.
pub fn named(path: &Path, place: &Path, all: &mut Vec<Source>) -> Result<(), CopyError> {
    if !path.is_dir() {
        all.push(source(path, WORK, place)?);
        return Ok(());
    }
    let not_read = |source| CopyError::File { path: path.into(), source };
    let mut entries =
        fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(not_read)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let is_link = entry.file_type().map_err(not_read)?.is_symlink();
        if !(is_link && entry.path().is_dir()) {
            named(&entry.path(), &place.join(entry.file_name()), all)?;
        }
    }
    Ok(())
}

/// Refuses two files at one place. A file that is named twice is sent once.
pub fn check_places(all: &mut Vec<Source>) -> Result<(), CopyError> {
    all.sort_by(|a, b| a.item.name.cmp(&b.item.name));
    all.dedup_by(|a, b| {
        a.item.name == b.item.name && a.path.canonicalize().ok() == b.path.canonicalize().ok()
    });
    let twice = all.windows(2).find(|pair| pair[0].item.name == pair[1].item.name);
    twice.map_or(Ok(()), |pair| {
        let [first, second] = [&pair[0], &pair[1]].map(|source| source.path.clone());
        Err(CopyError::SamePlace { first, second, name: pair[0].item.name.clone() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_stays_where_it_is_and_others_are_looked_at() {
        for name in ["libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6", "libpthread.so.0", "linux-vdso.so.1"] {
            assert!(is_of_libc(name), "{name}");
        }
        for name in ["libmine.so", "libmpi.so.40", "libcrypto.so.3", "libstdc++.so.6", "libcurl-gnutls.so.4"]
        {
            assert!(!is_of_libc(name), "{name}");
        }
        let own = std::env::current_exe().unwrap();
        let all = libraries(&own, &std::env::vars_os().collect()).unwrap();
        assert!(all.iter().all(|library| library.path.is_file() && !is_of_libc(&library.name)), "{all:?}");
    }

    #[test]
    fn a_path_that_leads_down_keeps_its_folders_and_others_do_not() {
        for (path, expected) in [
            ("input.dat", "input.dat"),
            ("./data/x", "data/x"),
            ("/home/me/a.out", "a.out"),
            ("../../b", "b"),
            ("a/../b", "b"),
        ] {
            assert_eq!(place(Path::new(path)), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn the_program_is_the_first_word_that_hosts_do_not_have() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("a.py");
        fs::write(&script, "").unwrap();
        let argv = ["/usr/bin/python3".into(), "-u".into(), script.clone().into_os_string(), "x".into()];
        assert_eq!(program_of(&argv, false), Some(0));
        assert_eq!(program_of(&argv, true), Some(2));
        assert_eq!(program_of(&argv[..2], true), None);
    }

    #[test]
    fn folders_are_sent_whole_and_two_files_at_one_place_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("data/deep")).unwrap();
        for name in ["data/a", "data/deep/b", "a"] {
            fs::write(at(name), name).unwrap();
        }
        std::os::unix::fs::symlink(at("data"), at("data/round")).unwrap();
        let mut all = Vec::new();
        named(&at("data"), Path::new("data"), &mut all).unwrap();
        named(&at("data/a"), Path::new("data/a"), &mut all).unwrap();
        check_places(&mut all).unwrap();
        let names: Vec<_> = all.iter().map(|source| source.item.name.as_str()).collect();
        assert_eq!(names, ["files/data/a", "files/data/deep/b"]);
        named(&at("a"), Path::new("data/a"), &mut all).unwrap();
        let said = check_places(&mut all).unwrap_err().to_string();
        assert!(said.contains("would both be files/data/a"), "{said}");
        nix::unistd::mkfifo(&at("data/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let pipe = named(&at("data"), Path::new("data"), &mut all).unwrap_err().to_string();
        assert!(pipe.contains("data/pipe is no file"), "{pipe}");
        let absent = named(&at("absent"), Path::new("absent"), &mut all).unwrap_err().to_string();
        assert!(absent.contains("cannot read") && absent.contains("absent"), "{absent}");
    }
}
