//! Recording the messages of a job: every process writes into a folder of its host, and afterwards the
//! records of all hosts are fetched and the folders removed.

use crate::random;
use nix::{fcntl::OFlag, unistd::geteuid};
use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, Instant},
};
use tasuki_fleet::{Fleet, HostError, Task, for_each_host};
use tasuki_launch::{Flavour, Mpi, Transport};
use tasuki_trace::Part;
use thiserror::Error;

/// The internal command that gives the records of one host and removes them: `trace-parts FOLDER`.
pub const PARTS_COMMAND: &str = "trace-parts";

/// The variable with the folder, which the provider reads.
const VARIABLE: &str = "TASUKI_TRACE";
/// How long a host may send nothing while its records are fetched.
const SILENCE: Duration = Duration::from_secs(30);

/// Why there is no trace.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The program's messages do not pass the provider.
    #[error(
        "--trace records what goes over Tasuki, and this program would use {0}: `tasuki doctor` says why"
    )]
    Transport(&'static str),
    /// The kernel gives no random numbers for the name of the folder.
    #[error("the kernel gives no random numbers for the name of a folder: {0}")]
    Random(#[from] getrandom::Error),
    /// A file for what hosts send cannot be made.
    #[error("no temporary file for the records: {0}")]
    Temporary(#[from] io::Error),
    /// A host did not give its records.
    #[error("the records of the job were not fetched: {0}")]
    Host(#[from] HostError),
}

/// A job whose messages are recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The folder for the records, the same on every host.
    folder: PathBuf,
}

impl Recording {
    /// A recording with a folder that nobody can guess.
    ///
    /// # Errors
    /// If the transport is not Tasuki, or the kernel gives no random numbers.
    pub fn new(transport: &Transport) -> Result<Self, TraceError> {
        if !matches!(transport, Transport::Tasuki(_)) {
            return Err(TraceError::Transport(transport.name()));
        }
        Ok(Self { folder: format!("/tmp/tasuki-trace-{}", random::digits()?).into() })
    }

    /// Variables for the ranks, as `NAME=VALUE`: where to write; and within a host messages go through the
    /// provider, too, which else would not see them.
    pub fn exports(&self, mpi: &Mpi) -> Vec<String> {
        let mut all = vec![format!("{VARIABLE}={}", self.folder.display())];
        if mpi.flavour == Flavour::Intel {
            all.push("I_MPI_FABRICS=ofi".into());
        }
        all
    }

    /// Fetches the records of all hosts, and removes them there.
    ///
    /// # Errors
    /// If a host is not reached, stops sending, or sends something else. All others have given theirs then.
    pub fn fetch(&self, fleet: &Fleet) -> Result<Vec<Part>, TraceError> {
        let parts = for_each_host(fleet.len(), |host| self.fetch_from(fleet, host));
        let mut all = Vec::new();
        for parts in parts {
            all.extend(parts?);
        }
        Ok(all)
    }

    fn fetch_from(&self, fleet: &Fleet, host: usize) -> Result<Vec<Part>, TraceError> {
        let odd = |why: String| HostError { host: fleet.name(host), why, remedy: None };
        let file = tempfile::tempfile()?;
        let task = Task::tasuki([OsStr::new(PARTS_COMMAND), self.folder.as_os_str()]);
        let mut command = fleet.command(host, &task);
        command.stdin(Stdio::null()).stdout(file.try_clone()?);
        let mut child = command.spawn().map_err(|error| odd(format!("`tasuki {PARTS_COMMAND}`: {error}")))?;
        wait_while_it_sends(&mut child, &file).map_err(|why| odd(why.to_string()))?;
        let mut bytes = Vec::new();
        io::Seek::rewind(&mut &file)?;
        (&file).read_to_end(&mut bytes)?;
        split(&bytes).map_err(|why| odd(why).into())
    }
}

/// Waits for a command that writes to a file; ends it if nothing comes for long.
fn wait_while_it_sends(child: &mut Child, file: &File) -> io::Result<()> {
    let (mut length, mut since) = (0, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return if status.success() {
                Ok(())
            } else {
                Err(io::Error::other(format!("ended by {status}")))
            };
        }
        let now = file.metadata()?.len();
        if now != length {
            (length, since) = (now, Instant::now());
        } else if since.elapsed() > SILENCE {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other(format!("has sent nothing for {} s", SILENCE.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The parts in what a host has sent: a length of 8 bytes, then the part.
fn split(mut bytes: &[u8]) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let cut = || "its records were cut off on the way".to_owned();
        let (length, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
        let (part, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        parts.push(Part::parse(part).map_err(|error| error.to_string())?);
        bytes = rest;
    }
    Ok(parts)
}

/// Writes the records in a folder of this host in the form that [`Recording::fetch`] reads, and removes them
/// and the folder. A folder that is not there holds nothing, and neither does one of another user: the name
/// is a secret only until the first rank has made the folder on its host.
///
/// # Errors
/// If a file cannot be read or removed, or nobody takes what is written.
pub fn give_parts(folder: &Path, out: &mut dyn Write) -> io::Result<()> {
    give_parts_of(geteuid().as_raw(), folder, out)
}

/// The records of the user of this number.
fn give_parts_of(user: u32, folder: &Path, out: &mut dyn Write) -> io::Result<()> {
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.is_dir() || found.uid() != user => return Ok(()),
        Ok(_) => {}
    }
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension() != Some(OsStr::new("part")) {
            continue;
        }
        let Some(part) = read_part(user, &path)? else { continue };
        out.write_all(&(part.len() as u64).to_le_bytes())?;
        out.write_all(&part)?;
        fs::remove_file(&path)?;
    }
    out.flush()?;
    // What is left there is none of the records, which are all given.
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// What a file of records holds; `None`: it is no file of this user. A named pipe is not waited for.
fn read_part(user: u32, path: &Path) -> io::Result<Option<Vec<u8>>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(None);
    }
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != user {
        return Ok(None);
    }
    let mut part = Vec::new();
    file.read_to_end(&mut part)?;
    Ok(Some(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{process::Command, sync::mpsc::channel};
    use tasuki_trace::{Head, Name, Record};

    #[test]
    fn what_is_given_is_what_is_read_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("records");
        fs::create_dir(&place).unwrap();
        let mut parts = Vec::new();
        for rank in 0..3u8 {
            let head = Head { rank: Some(rank.into()), name: Name([rank; 32]) };
            let end = Record::End { at: 5, compute: 6, one_sided: 7 };
            let mut bytes = Vec::new();
            head.put(&mut bytes);
            end.put(&mut bytes);
            fs::write(place.join(format!("{rank}.part")), bytes).unwrap();
            parts.push(Part { head, records: vec![end] });
        }
        let mut given = Vec::new();
        give_parts(&place, &mut given).unwrap();
        assert!(!place.exists());
        let mut read = split(&given).unwrap();
        read.sort_by_key(|part| part.head.rank);
        assert_eq!(read, parts);
        for length in [1, 8, given.len() - 1] {
            assert!(split(&given[..length]).is_err(), "{length} bytes");
        }
        given.clear();
        give_parts(&place, &mut given).unwrap();
        assert!(given.is_empty());
    }

    #[test]
    fn what_others_put_there_is_neither_waited_for_nor_given() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("records");
        fs::create_dir(&place).unwrap();
        let path = |name: &str| place.join(name);
        assert!(Command::new("mkfifo").arg(path("pipe.part")).status().unwrap().success());
        fs::write(folder.path().join("elsewhere"), "secret").unwrap();
        std::os::unix::fs::symlink("../elsewhere", path("link.part")).unwrap();
        fs::write(path("own.part"), "own").unwrap();
        let (told, given) = channel();
        let own = geteuid().as_raw();
        std::thread::spawn(move || {
            let mut of_another = Vec::new();
            give_parts_of(own + 1, &place, &mut of_another).unwrap();
            let mut out = Vec::new();
            give_parts(&place, &mut out).unwrap();
            told.send((of_another, out)).unwrap();
        });
        let (of_another, out) = given.recv_timeout(Duration::from_secs(60)).expect("nobody is waited for");
        assert!(of_another.is_empty());
        assert_eq!(out, [&3_u64.to_le_bytes()[..], b"own"].concat());
    }
}
