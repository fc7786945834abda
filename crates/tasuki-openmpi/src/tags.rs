//! Which rank has written what comes through `mpirun`, where that was told to say so.
//!
//! Version 5 puts `[1,3]<stdout>: ` before every line, where 1 stands for the ranks that `mpirun` has started
//! and 3 for the rank. Version 4.1 puts `[1,3]<stdout>:` before every line and before every piece that it
//! reads, which may begin in the midst of a line.

use std::{collections::BTreeMap, fmt};

/// The longest beginning of a line that may still become a tag.
const TAG_MAX: usize = 40;
/// Bytes of a line that are kept until the line is whole, at most.
const LINE_MAX: usize = 64 << 10;

/// The writer of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writer {
    /// The launcher itself.
    Launcher,
    /// A rank.
    Rank {
        /// 1, or more for ranks that ranks have started (`MPI_Comm_spawn`).
        job: u32,
        /// Its number.
        rank: u32,
    },
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Writer::Launcher => f.write_str("mpirun"),
            Writer::Rank { job: 1, rank } => write!(f, "{rank}"),
            Writer::Rank { job, rank } => write!(f, "{job},{rank}"),
        }
    }
}

/// A stream of one of the job's processes.
type Stream = (u32, bool);

/// Takes tags away from what `mpirun` writes, and puts lines together.
#[derive(Debug)]
pub struct Tags {
    /// A space follows each tag.
    is_spaced: bool,
    /// Of each stream what may be the beginning of a tag.
    held: BTreeMap<Stream, Vec<u8>>,
    /// The writer whose line a stream is in.
    current: BTreeMap<Stream, Writer>,
    /// Lines that are not whole.
    lines: BTreeMap<(Stream, Writer), Vec<u8>>,
    has_seen: bool,
}

impl Tags {
    /// The options by which the `mpirun` of a version (`openmpi-4.1.4`) puts tags before what ranks write.
    pub fn options(mpi: &str) -> &'static [&'static str] {
        if is_4(mpi) { &["--tag-output"] } else { &["--output", "tag"] }
    }

    /// Those of an MPI with this name; `None`: it is no Open MPI.
    pub fn of(mpi: &str) -> Option<Self> {
        mpi.starts_with("openmpi-").then(|| Self {
            is_spaced: !is_4(mpi),
            held: BTreeMap::new(),
            current: BTreeMap::new(),
            lines: BTreeMap::new(),
            has_seen: false,
        })
    }

    /// Whether there was any tag so far.
    pub fn has_seen(&self) -> bool {
        self.has_seen
    }

    /// Takes what a process has written to a stream; returns lines that are whole now, or very long, each
    /// with who has written it.
    pub fn take(&mut self, process: u32, is_error: bool, bytes: &[u8]) -> Vec<(Writer, Vec<u8>)> {
        let stream = (process, is_error);
        let mut all = self.held.remove(&stream).unwrap_or_default();
        all.extend(bytes);
        let (mut from, mut at, mut whole) = (0, 0, Vec::new());
        while at < all.len() {
            match all[at] {
                b'\n' => {
                    at += 1;
                    self.add(stream, &all[from..at], &mut whole);
                    from = at;
                    self.current.remove(&stream);
                }
                b'[' => match tag(&all[at..], self.is_spaced) {
                    Found::Tag(writer, length) => {
                        self.add(stream, &all[from..at], &mut whole);
                        self.has_seen = true;
                        self.current.insert(stream, writer);
                        (at, from) = (at + length, at + length);
                    }
                    Found::Part => {
                        self.add(stream, &all[from..at], &mut whole);
                        self.held.insert(stream, all.split_off(at));
                        return whole;
                    }
                    Found::Nothing => at += 1,
                },
                _ => at += 1,
            }
        }
        self.add(stream, &all[from..], &mut whole);
        whole
    }

    /// What is left of lines that will never be whole, with whether they are of standard error.
    pub fn rest(&mut self) -> Vec<(Writer, bool, Vec<u8>)> {
        let mut whole = Vec::new();
        for (stream, held) in std::mem::take(&mut self.held) {
            self.add(stream, &held, &mut whole);
        }
        let lines = std::mem::take(&mut self.lines).into_iter();
        lines.map(|(((_, is_error), writer), line)| (writer, is_error, line)).collect()
    }

    /// Adds a piece to the line of the one who writes.
    fn add(&mut self, stream: Stream, piece: &[u8], whole: &mut Vec<(Writer, Vec<u8>)>) {
        let writer = self.current.get(&stream).copied().unwrap_or(Writer::Launcher);
        let line = self.lines.entry((stream, writer)).or_default();
        line.extend(piece);
        if line.ends_with(b"\n") || line.len() >= LINE_MAX {
            whole.push((writer, std::mem::take(line)));
        }
        if line.is_empty() {
            self.lines.remove(&(stream, writer));
        }
    }
}

fn is_4(mpi: &str) -> bool {
    mpi.starts_with("openmpi-4.")
}

/// What a text begins with.
enum Found {
    /// A tag of so many bytes.
    Tag(Writer, usize),
    /// What may become one.
    Part,
    Nothing,
}

fn tag(text: &[u8], is_spaced: bool) -> Found {
    let text = &text[..text.len().min(TAG_MAX)];
    let end = if is_spaced { &b">: "[..] } else { b">:" };
    let mut rest = &text[1..];
    let mut numbers = [0_u32; 2];
    for (number, mark) in numbers.iter_mut().zip([b',', b']']) {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match (rest.get(digits), str::from_utf8(&rest[..digits]).ok().and_then(|text| text.parse().ok())) {
            (None, _) if text.len() < TAG_MAX => return Found::Part,
            (Some(byte), Some(parsed)) if *byte == mark => *number = parsed,
            _ => return Found::Nothing,
        }
        rest = &rest[digits + 1..];
    }
    let [job, rank] = numbers;
    for name in [&b"<stdout"[..], b"<stderr", b"<stddiag"] {
        let wanted = [name, end].concat();
        if rest.starts_with(&wanted) {
            return Found::Tag(Writer::Rank { job, rank }, text.len() - rest.len() + wanted.len());
        }
        if wanted.starts_with(rest) {
            return Found::Part;
        }
    }
    Found::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANK: fn(u32) -> Writer = |rank| Writer::Rank { job: 1, rank };

    /// What is written to standard output, cut into pieces of a length: the lines with their labels.
    fn labelled(mpi: &str, text: &[u8], length: usize) -> Vec<String> {
        let mut tags = Tags::of(mpi).expect("an Open MPI");
        let mut lines: Vec<_> = text.chunks(length).flat_map(|piece| tags.take(0, false, piece)).collect();
        lines.extend(tags.rest().into_iter().map(|(writer, _, line)| (writer, line)));
        lines
            .into_iter()
            .map(|(writer, line)| format!("[{writer}] {}", String::from_utf8_lossy(&line)))
            .collect()
    }

    /// What the mpirun of Open MPI 4.1.4 wrote of two ranks that write parts of lines in turn.
    #[test]
    fn lines_of_version_4_that_lie_in_each_other_are_told_apart() {
        let text =
            b"[1,0]<stdout>:one 0\n[1,0]<stdout>:tw[1,1]<stdout>:one 1\n[1,1]<stdout>:tw[1,0]<stdout>:o 0\n\
                     [1,1]<stdout>:o 1\nmpirun says something\n[1,1]<stdout>: x[1] y[1,2] z[2,0]<stdout>:sp\n\
                     [1,1]<stdout>:\n[1,0]<stdout>:end";
        let wanted = [
            "[0] one 0\n",
            "[1] one 1\n",
            "[0] two 0\n",
            "[1] two 1\n",
            "[mpirun] mpirun says something\n",
            "[2,0] sp\n",
            "[1]  x[1] y[1,2] z\n",
            "[0] end",
        ];
        for length in 1..text.len() {
            assert_eq!(labelled("openmpi-4.1.4", text, length), wanted, "pieces of {length}");
        }
    }

    /// What the mpirun of Open MPI 5.0 wrote.
    #[test]
    fn lines_of_version_5_lose_the_space_of_their_tags_alone() {
        let text = b"[1,1]<stdout>: one 1\n[1,0]<stdout>:  [1,0]\n[1,1]<stdout>: end[1,0]<stdout>: [";
        for length in 1..text.len() {
            let wanted = ["[1] one 1\n", "[0]  [1,0]\n", "[0] [", "[1] end"];
            assert_eq!(labelled("openmpi-5.0.8", text, length), wanted, "pieces of {length}");
        }
    }

    #[test]
    fn streams_and_processes_are_told_apart_and_long_lines_do_not_wait() {
        let mut tags = Tags::of("openmpi-4.1.4").unwrap();
        assert!(!tags.has_seen());
        assert!(tags.take(0, false, b"[1,0]<stdout>:a").is_empty());
        assert_eq!(tags.take(0, true, b"[1,0]<stderr>:b\n"), [(RANK(0), b"b\n".to_vec())]);
        assert_eq!(tags.take(1, false, b"c\n"), [(Writer::Launcher, b"c\n".to_vec())]);
        assert!(tags.has_seen());
        let long = tags.take(0, false, &[b'x'; 1 << 20]);
        assert_eq!(long.iter().map(|(_, text)| text.len()).sum::<usize>(), (1 << 20) + 1);
        assert!(Tags::of("mpich-4.3.0").is_none());
    }
}
