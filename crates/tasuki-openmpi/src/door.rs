//! Where the agents of this host's `mpirun` bring the daemons' commands: a socket in a folder that only the
//! job's user may enter.

use crate::{Layout, error::OpenMpiError};
use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::unix::{
        ffi::OsStrExt,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// The variable with the path of the socket, for agents.
pub const VARIABLE: &str = "TASUKI_OPENMPI_DOOR";
/// The longest order that is read, in bytes.
const ORDER_MAX: u64 = 1 << 18;
/// What an agent hears when the command is on its way.
const TAKEN: u8 = b'k';

/// The socket.
pub struct Door {
    listener: UnixListener,
    folder: TempDir,
}

/// A daemon that an agent wants, and the agent.
pub struct Wanted {
    /// The host, by its place in the layout.
    pub place: usize,
    /// What a shell on it is to run.
    pub command: Vec<u8>,
    agent: UnixStream,
}

impl Door {
    /// Opens it.
    pub fn open() -> Result<Self, OpenMpiError> {
        let failed = OpenMpiError::while_doing("make a socket for mpirun's agents");
        let folder = tempfile::Builder::new().prefix("tasuki-openmpi-").tempdir().map_err(&failed)?;
        let listener = UnixListener::bind(folder.path().join("door")).map_err(&failed)?;
        Ok(Self { listener, folder })
    }

    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("door")
    }

    /// A copy of the socket for a thread of its own.
    pub fn listener(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

/// Takes the order of an agent. `None`: it has left, or wants what makes no sense, and hears so.
pub fn take(agent: UnixStream, layout: &Layout) -> Option<Wanted> {
    let mut order = Vec::new();
    (&agent).take(ORDER_MAX).read_to_end(&mut order).ok()?;
    let at = order.iter().position(|byte| *byte == 0)?;
    let place = layout.place(std::str::from_utf8(&order[..at]).ok()?).filter(|place| *place > 0)?;
    Some(Wanted { place, command: order.split_off(at + 1), agent })
}

impl Wanted {
    /// Tells the agent that the command is on its way.
    pub fn taken(mut self) {
        // An agent that has been killed needs no answer.
        let _ = self.agent.write_all(&[TAKEN]);
    }
}

/// Brings an order to the door at this path, and waits until it is on its way.
pub fn bring(path: &Path, host: &str, command: &[u8]) -> Result<(), OpenMpiError> {
    let failed = OpenMpiError::while_doing("tell the job which daemon mpirun wants");
    let late = || OpenMpiError::TooLate(host.into());
    let mut socket = UnixStream::connect(path).map_err(|_| late())?;
    let order = [host.as_bytes(), command].join(&0);
    socket.write_all(&order).map_err(&failed)?;
    socket.shutdown(Shutdown::Write).map_err(&failed)?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).map_err(&failed)?;
    if answer == [TAKEN] { Ok(()) } else { Err(late()) }
}

/// The words that an agent was called with behind the host, as the shell of the other host gets them. A
/// daemon is not to leave its parent, by whose end its own is known.
pub fn command(words: &[std::ffi::OsString]) -> Vec<u8> {
    let stays = words.iter().filter(|word| *word != "--daemonize");
    stays.map(|word| word.as_bytes()).collect::<Vec<_>>().join(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn layout() -> Layout {
        Layout(vec![("n1".into(), 1), ("n2".into(), 1)])
    }

    #[test]
    fn an_order_comes_as_it_was_brought() {
        let door = Door::open().unwrap();
        let words = ["PATH=/x:$PATH ; /x/orted", "--daemonize", "-mca", "a", "\"1\""].map(Into::into);
        let (path, order) = (door.path(), command(&words));
        let agent = thread::spawn(move || bring(&path, "n2", &order).map_err(|error| error.to_string()));
        let wanted = take(door.listener().unwrap().accept().unwrap().0, &layout()).unwrap();
        assert_eq!(
            (wanted.place, wanted.command.as_slice()),
            (1, &b"PATH=/x:$PATH ; /x/orted -mca a \"1\""[..])
        );
        wanted.taken();
        assert_eq!(agent.join().unwrap(), Ok(()));
    }

    #[test]
    fn who_is_not_taken_hears_so() {
        let door = Door::open().unwrap();
        for host in ["n1", "n3", ""] {
            let path = door.path();
            let agent = thread::spawn(move || bring(&path, host, b"x").is_err());
            assert!(take(door.listener().unwrap().accept().unwrap().0, &layout()).is_none(), "{host}");
            assert!(agent.join().unwrap(), "{host}");
        }
        let path = door.path();
        drop(door);
        assert!(bring(&path, "n2", b"x").unwrap_err().to_string().contains("too late"));
        assert!(!path.parent().unwrap().exists(), "nothing is left");
    }
}
