//! What this process asks the runtime by PMI-1: to keep values, to wait for the other hosts, to give values.

use crate::error::OpenMpiError;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::{
    io::{BufRead, BufReader, Write},
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::net::UnixStream,
    },
};

/// The variable with the number of the connection's descriptor.
pub const DESCRIPTOR: &str = "PMI_FD";
/// The longest answer that is read, in bytes: a value has at most 1023.
const LINE_MAX: usize = 4096;

/// A connection to the runtime.
pub struct Pmi {
    answers: BufReader<UnixStream>,
    space: String,
}

impl Pmi {
    /// Begins to talk over the connection that the runtime has left to this process.
    ///
    /// # Errors
    /// If there is none, or it does not speak PMI-1.
    pub fn begin() -> Result<Self, OpenMpiError> {
        let number = std::env::var(DESCRIPTOR).ok().and_then(|number| number.parse::<i32>().ok());
        let number = number.filter(|number| *number > 2).ok_or(OpenMpiError::Outside(DESCRIPTOR))?;
        // SAFETY: the runtime has left this descriptor to this process, and no other code of it has it: this
        // is called once, by a process that was started for it. If the number is of none, calls fail.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        // mpirun and ranks are not to talk over it.
        let close = fcntl(&socket, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
        close.map_err(OpenMpiError::while_doing("keep the runtime's connection from mpirun"))?;
        Self::over(socket.into())
    }

    fn over(socket: UnixStream) -> Result<Self, OpenMpiError> {
        let mut pmi = Pmi { answers: BufReader::new(socket), space: String::new() };
        pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init ")?;
        let said = pmi.ask("cmd=get_my_kvsname", "cmd=my_kvsname ")?;
        pmi.space = word(&said, "kvsname").unwrap_or_default().to_owned();
        Ok(pmi)
    }

    /// Keeps a value, which is one word, for others.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), OpenMpiError> {
        let line = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        self.ask(&line, "cmd=put_result rc=0").map(drop)
    }

    /// A value that somebody has put before the last fence.
    pub fn get(&mut self, key: &str) -> Result<String, OpenMpiError> {
        let said = self.ask(&format!("cmd=get kvsname={} key={key}", self.space), "cmd=get_result rc=0 ")?;
        Ok(word(&said, "value").unwrap_or_default().to_owned())
    }

    /// Waits until all hosts are here.
    pub fn fence(&mut self) -> Result<(), OpenMpiError> {
        self.ask("cmd=barrier_in", "cmd=barrier_out").map(drop)
    }

    /// Says that this process needs the others no more.
    pub fn finalize(mut self) -> Result<(), OpenMpiError> {
        self.ask("cmd=finalize", "cmd=finalize_ack").map(drop)
    }

    fn ask(&mut self, line: &str, wanted: &'static str) -> Result<String, OpenMpiError> {
        let failed = OpenMpiError::while_doing("talk to the runtime");
        self.answers.get_mut().write_all(format!("{line}\n").as_bytes()).map_err(&failed)?;
        let mut said = Vec::new();
        while !said.ends_with(b"\n") && said.len() < LINE_MAX {
            let bytes = self.answers.fill_buf().map_err(&failed)?;
            let count = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
            if count == 0 {
                break;
            }
            said.extend_from_slice(&bytes[..count]);
            self.answers.consume(count);
        }
        let said = String::from_utf8_lossy(&said).trim_end().to_owned();
        if said.starts_with(wanted) { Ok(said) } else { Err(OpenMpiError::Pmi { wanted, said }) }
    }
}

/// The value of a word of an answer.
fn word<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    // The lines are those of MPICH's src/pmi/maint/pmi-1.1.txt.
    #[test]
    fn it_says_what_the_protocol_says_and_ends_where_the_runtime_does_not() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let answers = [
            (
                "cmd=init pmi_version=1 pmi_subversion=1",
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            ),
            ("cmd=get_my_kvsname", "cmd=my_kvsname kvsname=job-7"),
            ("cmd=put kvsname=job-7 key=a value=b", "cmd=put_result rc=0 msg=success"),
            ("cmd=barrier_in", "cmd=barrier_out"),
            ("cmd=get kvsname=job-7 key=a", "cmd=get_result rc=0 msg=success value=b"),
            ("cmd=get kvsname=job-7 key=c", "cmd=get_result rc=-1 msg=key_c_not_found"),
        ];
        let server = thread::spawn(move || {
            let mut lines = BufReader::new(theirs.try_clone().unwrap()).lines();
            for (asked, answer) in answers {
                assert_eq!(lines.next().unwrap().unwrap(), asked);
                (&theirs).write_all(format!("{answer}\n").as_bytes()).unwrap();
            }
        });
        let mut pmi = Pmi::over(ours).unwrap();
        pmi.put("a", "b").unwrap();
        pmi.fence().unwrap();
        assert_eq!(pmi.get("a").unwrap(), "b");
        assert!(pmi.get("c").unwrap_err().to_string().contains("key_c_not_found"));
        server.join().unwrap();
        assert!(pmi.fence().is_err(), "the runtime is gone");
    }
}
