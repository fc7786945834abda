//! What ranks of a job of the runtime have written, as they wrote it, or with the rank before every line.

use std::io::{self, Write};
use tasuki_control::{Bytes, Kind, Record, Stream, Work};
use tasuki_openmpi::Tags;
use tasuki_terminal::Labels;

/// What is said at the end where ranks could not be told apart.
const NOT_ASKED: &str = "mpirun was not asked which rank wrote what, as `tasuki run --resident --label` does";

/// Prints what ranks have written.
pub struct Printer {
    /// Every line begins with the one who wrote it.
    label: bool,
    /// What the launcher of an Open MPI, through which all of it comes, says of who wrote it.
    tags: Option<Tags>,
    labels: Labels,
}

/// Has the launcher of an Open MPI say which rank has written each line. Returns whether the job has one.
pub fn ask_for_tags(work: &mut Work) -> bool {
    let (Kind::OpenMpi { launcher }, Some(mpi)) = (&mut work.kind, &work.mpi) else { return false };
    let options = Tags::options(mpi).iter().map(|option| Bytes::from(option.as_bytes()));
    *launcher += options.len() as u32;
    // The launcher's options stand behind its name.
    work.argv.splice(1..1, options);
    true
}

impl Printer {
    /// `label`: every line is to begin with the one who wrote it. `mpi`: that of the job; `tagged`: its
    /// launcher was told to say who has written each line, and what it says is taken away.
    pub fn new(label: bool, mpi: Option<&str>, tagged: bool) -> Self {
        let tags = mpi.filter(|_| label || tagged).and_then(Tags::of);
        Self { label, tags, labels: Labels::default() }
    }

    /// Prints a piece of output.
    ///
    /// # Errors
    /// Nobody reads it, or a disk is full.
    pub fn print(&mut self, record: &Record) -> io::Result<()> {
        let is_error = record.stream == Stream::Error;
        let bytes = self.shown(record, is_error);
        write(is_error, &bytes)
    }

    /// Prints what is left at the end. Returns what is to be said if ranks could not be told apart.
    ///
    /// # Errors
    /// As of [`Printer::print`].
    pub fn finish(&mut self) -> io::Result<Option<&'static str>> {
        let Some(tags) = &mut self.tags else { return Ok(None) };
        let (rest, has_seen) = (tags.rest(), tags.has_seen());
        for (writer, is_error, piece) in rest {
            let mut bytes = Vec::new();
            self.add(&writer.to_string(), is_error, &piece, &mut bytes);
            write(is_error, &bytes)?;
        }
        Ok((self.label && !has_seen && !self.labels.is_empty()).then_some(NOT_ASKED))
    }

    fn shown(&mut self, record: &Record, is_error: bool) -> Vec<u8> {
        if !self.label && self.tags.is_none() {
            return record.bytes.to_vec();
        }
        let mut bytes = Vec::with_capacity(record.bytes.len() + 16);
        match &mut self.tags {
            None => self.add(&record.rank.to_string(), is_error, &record.bytes, &mut bytes),
            Some(tags) => {
                for (writer, piece) in tags.take(record.rank, is_error, &record.bytes) {
                    self.add(&writer.to_string(), is_error, &piece, &mut bytes);
                }
            }
        }
        bytes
    }

    /// Adds what a writer has written, with its name before every line if that is wanted.
    fn add(&mut self, writer: &str, is_error: bool, piece: &[u8], bytes: &mut Vec<u8>) {
        match self.label {
            true => self.labels.add(writer, is_error, piece, bytes),
            false => bytes.extend_from_slice(piece),
        }
    }
}

fn write(is_error: bool, bytes: &[u8]) -> io::Result<()> {
    if is_error {
        return io::stderr().write_all(bytes);
    }
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(printer: &mut Printer, pieces: &[(u32, &str)]) -> String {
        let record = |(rank, text): &(u32, &str)| Record {
            rank: *rank,
            stream: Stream::Out,
            bytes: Bytes::from(text.as_bytes()),
        };
        let bytes: Vec<u8> = pieces.iter().flat_map(|piece| printer.shown(&record(piece), false)).collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_line_gets_one_label_however_it_is_cut() {
        let mut printer = Printer::new(true, Some("mpich-4.3.0"), false);
        let pieces = [(3, "one\ntw"), (4, "x\n"), (3, "o\n"), (3, "three\n")];
        assert_eq!(said(&mut printer, &pieces), "[3] one\n[3] tw[4] x\no\n[3] three\n");
    }

    #[test]
    fn lines_that_come_through_mpirun_get_the_ranks_that_it_says() {
        let pieces = [(0, "[1,3]<stdout>:tw[1,4]<stdout>:x\n[1,3]<std"), (0, "out>:o\n"), (1, "prted\n")];
        let mut printer = Printer::new(true, Some("openmpi-4.1.4"), true);
        assert_eq!(said(&mut printer, &pieces), "[4] x\n[3] two\n[mpirun] prted\n");
        assert_eq!(printer.finish().unwrap(), None);
        // Without labels the ranks' lines are as the ranks wrote them.
        let mut printer = Printer::new(false, Some("openmpi-4.1.4"), true);
        assert_eq!(said(&mut printer, &pieces), "x\ntwo\nprted\n");
        assert_eq!(printer.finish().unwrap(), None);
    }

    #[test]
    fn what_looks_like_a_tag_stays_where_mpirun_was_not_asked() {
        let pieces = [(0, "[1,3]<stdout>: mine\n")];
        let mut printer = Printer::new(false, Some("openmpi-5.0.8"), false);
        assert_eq!(said(&mut printer, &pieces), "[1,3]<stdout>: mine\n");
        // Labels that nobody has asked mpirun for are missed, and that is said.
        let mut printer = Printer::new(true, Some("openmpi-5.0.8"), false);
        assert_eq!(said(&mut printer, &[(0, "mine\n")]), "[mpirun] mine\n");
        assert_eq!(printer.finish().unwrap(), Some(NOT_ASKED));
    }

    #[test]
    fn an_mpirun_is_asked_and_the_job_is_called_as_before() {
        let request = tasuki_control::Report::sample();
        let tasuki_control::Report::Request { request: tasuki_control::Request::Submit { work, .. }, .. } =
            request
        else {
            panic!("the sample is a job")
        };
        let argv = ["/usr/bin/mpirun", "-n", "2", "./a.out", "x"].map(|word| Bytes::from(word.as_bytes()));
        let kind = Kind::OpenMpi { launcher: 3 };
        let mut work = Work { kind, argv: argv.into(), mpi: Some("openmpi-5.0.8".into()), ..*work };
        assert!(ask_for_tags(&mut work));
        assert_eq!((work.command(), work.argv[1].to_vec()), ("./a.out x".into(), b"--output".to_vec()));
        let plain = Work { kind: Kind::Pmi1, ..work };
        let mut asked = plain.clone();
        assert!(!ask_for_tags(&mut asked));
        assert_eq!(asked, plain);
    }
}
