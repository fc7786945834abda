//! Asks a program's own dynamic loader which libraries it would load: only the loader knows run paths,
//! LD_LIBRARY_PATH, its cache and its own defaults.

use crate::{Abi, Environment, query::query};
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

/// The MPI libraries that `program` would get under `env`. Does not run the program.
pub fn mpi_libraries(loader: &Path, program: &Path, env: &Environment) -> io::Result<Vec<Needed>> {
    let argv = [loader.as_os_str().into(), "--list".into(), program.as_os_str().into()];
    let answer = query(&argv, env, LIMIT)?;
    // The loader's exit code is 1 if libraries are missing, but then its list is complete too.
    let found = parse(&answer.stdout);
    if found.is_empty() && !answer.is_success() {
        let reason = answer.stderr.lines().next().unwrap_or("no reason given").to_owned();
        return Err(io::Error::other(format!("{}: {reason}", loader.display())));
    }
    Ok(found)
}

/// Lines are `\tNAME => PATH (0xADDRESS)`, `\tNAME => not found` or `\tPATH (0xADDRESS)`.
fn parse(list: &str) -> Vec<Needed> {
    let mut found: Vec<Needed> = Vec::new();
    for line in list.lines() {
        let line = line.trim();
        let line = line.rsplit_once(" (0x").map_or(line, |(line, _)| line);
        let (name, path) = line.split_once(" => ").unwrap_or((line, line));
        let Some(name) = Path::new(name).file_name().and_then(|name| name.to_str()) else { continue };
        let Some(abi) = Abi::of_library(name) else { continue };
        let path = (path != "not found").then(|| PathBuf::from(path));
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
