//! What a core file says of the process that died.

use crate::elf;
use std::{collections::HashMap, fs::File, io};

/// The types of notes: the state of a thread, the process, the auxiliary vector.
const PRSTATUS: u32 = 1;
const PRPSINFO: u32 = 3;
const AUXV: u32 = 6;
/// Where `struct elf_prstatus` holds the signal, and `struct elf_prpsinfo` the process.
const SIGNAL_AT: usize = 0;
const PROCESS_AT: usize = 24;
/// The entry of the auxiliary vector with the address of the program's path (AT_EXECFN).
const PATH: u64 = 31;
/// How far from that address the environment is looked for, in bytes. It lies right below; Linux gives it,
/// with the arguments, a quarter of the stack's limit, which is 2 MiB as systems have it.
const REACH: u64 = 2 << 20;
/// Environment variables in which launchers put a process's rank: Open MPI, Hydra, PMIx, Slurm.
const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];

/// What a core file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dump {
    /// The process, by the number that it had for itself.
    pub process: Option<u32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The path by which the program was started.
    pub program: Option<String>,
    /// Its environment, as it began.
    pub environment: HashMap<String, String>,
    /// Whether the file lacks a part of what its headers promise: a limit, or a full disk.
    pub is_cut: bool,
}

impl Dump {
    /// Reads a file. `None`: it is no core file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(file: &File) -> io::Result<Option<Self>> {
        let Some(segments) = elf::segments(file)? else { return Ok(None) };
        let length = file.metadata()?.len();
        let notes = elf::notes(file, &segments);
        let first = |kind| notes.iter().find(|note| note.0 == kind).map(|note| note.1.as_slice());
        let path = first(AUXV).and_then(|vector| {
            vector.chunks_exact(16).find(|entry| elf::number64(entry, 0) == Some(PATH))?.get(8..)
        });
        let memory = path
            .and_then(|bytes| elf::number64(bytes, 0))
            .and_then(|address| Some((address, elf::around(file, &segments, address, REACH)?)));
        let (program, environment) = memory.map_or_else(Default::default, |(address, (begin, bytes))| {
            let at = usize::try_from(address - begin).unwrap_or_default();
            (text(bytes.get(at..).unwrap_or_default()), variables(&bytes[..at.min(bytes.len())]))
        });
        Ok(Some(Self {
            process: first(PRPSINFO).and_then(|it| elf::number32(it, PROCESS_AT)),
            signal: first(PRSTATUS).and_then(|it| i32::try_from(elf::number32(it, SIGNAL_AT)?).ok()),
            program,
            environment,
            is_cut: segments.is_empty() || segments.iter().any(|segment| segment.end() > length),
        }))
    }

    /// The rank in MPI_COMM_WORLD, as the launcher has told it.
    pub fn rank(&self) -> Option<u32> {
        RANKS.iter().find_map(|name| self.environment.get(*name)?.parse().ok())
    }
}

/// A text that ends with a byte of zero.
fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    String::from_utf8(bytes[..end].to_vec()).ok().filter(|text| !text.is_empty())
}

/// The variables among texts that end with bytes of zero. Of several of one name the last counts: what lies
/// before the environment may look like one.
fn variables(bytes: &[u8]) -> HashMap<String, String> {
    let texts = bytes.split(|byte| *byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
    let pairs = texts.filter_map(|text| text.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
