//! The program and the libraries that a process has in its memory, and which of them an address belongs to.

use procfs::process::{MMapPath, Process};
use std::path::PathBuf;

/// Files that are mapped, by address.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    program: PathBuf,
    maps: Vec<((u64, u64), PathBuf)>,
}

impl Modules {
    /// Of a process; nothing if the kernel does not say.
    pub fn of(pid: u32) -> Self {
        let Some(process) = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok()) else {
            return Self::default();
        };
        let maps = process.maps().map(|maps| maps.0).unwrap_or_default().into_iter();
        let file = |map: procfs::process::MemoryMap| match map.pathname {
            MMapPath::Path(path) => Some((map.address, path)),
            _ => None,
        };
        Self { program: process.exe().unwrap_or_default(), maps: maps.filter_map(file).collect() }
    }

    /// The library that has the code at this address; `None`: the program itself, or unknown.
    pub fn library(&self, address: u64) -> Option<String> {
        let has = |((from, to), _): &&((u64, u64), PathBuf)| (*from..*to).contains(&address);
        let (_, path) = self.maps.iter().find(has)?;
        (*path != self.program).then(|| path.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_told_from_its_libraries() {
        let own = Modules::of(std::process::id());
        let here = the_program_is_told_from_its_libraries as fn() as usize as u64;
        assert_eq!(own.library(here), None);
        let libc = own.library(libc::getpid as *const () as usize as u64).expect("a library");
        assert!(libc.contains("libc"), "{libc}");
        assert_eq!((own.library(0), Modules::of(u32::MAX).library(here)), (None, None));
    }
}
