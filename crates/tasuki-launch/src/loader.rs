//! Asks a program's own dynamic loader which libraries it would load: only the loader knows run paths,
//! LD_LIBRARY_PATH, its cache and its own defaults.

use crate::{
    Abi, DetectError, Environment,
    elf::{self, Kind},
    query::query,
};
use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

const LIMIT: Duration = Duration::from_secs(20);

/// An MPI library that a program needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The name that the program asks for, e.g. `libmpi.so.40`.
    pub name: String,
    /// The ABI that the name stands for.
    pub abi: Abi,
    /// Where the loader finds it; `None`: it does not.
    pub path: Option<PathBuf>,
}

/// A shared library that a program loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The name that is asked for, without folders.
    pub name: String,
    /// Where the loader finds it.
    pub path: PathBuf,
}

/// The shared libraries that `program` would get under `env`, those of its libraries among them; none if it
/// is linked statically or no program of its own. Libraries that are not found are left out.
///
/// # Errors
/// If the program cannot be read, or its loader does not answer.
pub fn shared_libraries(program: &Path, env: &Environment) -> Result<Vec<Library>, DetectError> {
    let kind =
        elf::kind(program).map_err(|source| DetectError::Unreadable { path: program.into(), source })?;
    let Kind::Dynamic { loader } = kind else { return Ok(Vec::new()) };
    let (list, _) = ask(&loader, program, env)
        .map_err(|source| DetectError::Loader { program: program.into(), source })?;
    let known = lines(&list).filter_map(|(name, path)| Some(Library { name: name.into(), path: path? }));
    Ok(known.filter(|library| library.path.is_absolute()).collect())
}

/// The MPI libraries that `program` would get under `env`. Does not run the program.
pub fn mpi_libraries(loader: &Path, program: &Path, env: &Environment) -> io::Result<Vec<Needed>> {
    // The loader's exit code is 1 if libraries are missing, but then its list is complete too.
    let (list, error) = ask(loader, program, env)?;
    let found = parse(&list);
    match error.filter(|_| found.is_empty()) {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

/// What the loader lists, and what it says if it ended with an error.
fn ask(loader: &Path, program: &Path, env: &Environment) -> io::Result<(String, Option<io::Error>)> {
    let argv = [loader.as_os_str().into(), "--list".into(), program.as_os_str().into()];
    let answer = query(&argv, env, LIMIT)?;
    let reason = answer.stderr.lines().next().unwrap_or("no reason given");
    let error = io::Error::other(format!("{}: {reason}", loader.display()));
    let error = (!answer.is_success()).then_some(error);
    Ok((answer.stdout, error))
}

/// Name and path of each library. Lines are `\tNAME => PATH (0xADDRESS)`, `\tNAME => not found` or `\tPATH
/// (0xADDRESS)`.
fn lines(list: &str) -> impl Iterator<Item = (&str, Option<PathBuf>)> {
    list.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.rsplit_once(" (0x").map_or(line, |(line, _)| line);
        let (name, path) = line.split_once(" => ").unwrap_or((line, line));
        let name = Path::new(name).file_name()?.to_str()?;
        Some((name, (path != "not found").then(|| PathBuf::from(path))))
    })
}

fn parse(list: &str) -> Vec<Needed> {
    let mut found: Vec<Needed> = Vec::new();
    for (name, path) in lines(list) {
        let Some(abi) = Abi::of_library(name) else { continue };
        if found.iter().all(|known| known.path != path || known.name != name) {
            found.push(Needed { name: name.to_owned(), abi, path });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    // The format is that of glibc's `ld.so --list`, which ldd(1) prints.
    #[test]
    fn reads_what_ldd_prints() {
        let list = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmpi_mpifh.so.40 => /lib/libmpi_mpifh.so.40 \
                    (0x01)\n\tlibmpi.so.40 => /opt/with space/lib/libmpi.so.40 \
                    (0x00007f64a5fcc000)\n\tlibmpi.so.12 => not found\n\t/opt/lib/libmpi.so.12 \
                    (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n\tstatically linked\n";
        let found: Vec<_> = parse(list).into_iter().map(|n| (n.abi, n.path)).collect();
        let expected = vec![
            (Abi::OpenMpi, Some("/opt/with space/lib/libmpi.so.40".into())),
            (Abi::Mpich, None),
            (Abi::Mpich, Some("/opt/lib/libmpi.so.12".into())),
        ];
        assert_eq!(found, expected);
    }
}
