//! What ranks have written, as they wrote it, or with the rank before every line.

use std::io::{self, Write};
use tasuki_control::{Bytes, Kind, Record, Stream, Work};
use tasuki_openmpi::Tags;
use tasuki_terminal::Labels;

/// Prints what ranks have written.
pub struct Printer {
    label: bool,
    /// What the launcher of an Open MPI, through which all of it comes, says of who wrote it.
    tags: Option<Tags>,
    labels: Labels,
}

/// Has the launcher of an Open MPI say which rank has written each line.
pub fn ask_for_tags(work: &mut Work) {
    let (Kind::OpenMpi { launcher }, Some(mpi)) = (&mut work.kind, &work.mpi) else { return };
    let options = Tags::options(mpi).iter().map(|option| Bytes::from(option.as_bytes()));
    *launcher += options.len() as u32;
    // The launcher's options stand behind its name.
    work.argv.splice(1..1, options);
}

impl Printer {
    /// `mpi`: that of the job.
    pub fn new(label: bool, mpi: Option<&str>) -> Self {
        let tags = mpi.filter(|_| label).and_then(Tags::of);
        Self { label, tags, labels: Labels::default() }
    }

    /// Prints a piece of output.
    pub fn print(&mut self, record: &Record) -> io::Result<()> {
        let is_error = record.stream == Stream::Error;
        let bytes = if self.label { self.labelled(record, is_error) } else { record.bytes.to_vec() };
        write(is_error, &bytes)
    }

    /// Prints what is left at the end. Says so if ranks could not be told apart.
    pub fn finish(&mut self) -> io::Result<()> {
        let Some(tags) = &mut self.tags else { return Ok(()) };
        let (rest, has_seen) = (tags.rest(), tags.has_seen());
        for (writer, is_error, piece) in rest {
            let mut bytes = Vec::new();
            self.labels.add(&writer.to_string(), is_error, &piece, &mut bytes);
            write(is_error, &bytes)?;
        }
        if !has_seen && !self.labels.is_empty() {
            eprintln!(
                "tasuki: mpirun was not asked which rank wrote what, as `tasuki run --resident --label` does"
            );
        }
        Ok(())
    }

    fn labelled(&mut self, record: &Record, is_error: bool) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(record.bytes.len() + 16);
        match &mut self.tags {
            None => self.labels.add(&record.rank.to_string(), is_error, &record.bytes, &mut bytes),
            Some(tags) => {
                for (writer, piece) in tags.take(record.rank, is_error, &record.bytes) {
                    self.labels.add(&writer.to_string(), is_error, &piece, &mut bytes);
                }
            }
        }
        bytes
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
        let bytes: Vec<u8> =
            pieces.iter().flat_map(|piece| printer.labelled(&record(piece), false)).collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_line_gets_one_label_however_it_is_cut() {
        let mut printer = Printer::new(true, Some("mpich-4.3.0"));
        let pieces = [(3, "one\ntw"), (4, "x\n"), (3, "o\n"), (3, "three\n")];
        assert_eq!(said(&mut printer, &pieces), "[3] one\n[3] tw[4] x\no\n[3] three\n");
    }

    #[test]
    fn lines_that_come_through_mpirun_get_the_ranks_that_it_says() {
        let mut printer = Printer::new(true, Some("openmpi-4.1.4"));
        let pieces = [(0, "[1,3]<stdout>:tw[1,4]<stdout>:x\n[1,3]<std"), (0, "out>:o\n"), (1, "prted\n")];
        assert_eq!(said(&mut printer, &pieces), "[4] x\n[3] two\n[mpirun] prted\n");
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
        ask_for_tags(&mut work);
        assert_eq!((work.command(), work.argv[1].to_vec()), ("./a.out x".into(), b"--output".to_vec()));
        let plain = Work { kind: Kind::Pmi1, ..work };
        let mut asked = plain.clone();
        ask_for_tags(&mut asked);
        assert_eq!(asked, plain);
    }
}
