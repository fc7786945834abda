//! How the processes of a program talk.

use std::fmt::Display;

use crate::error::Error;

/// The processes of a program, and the two functions by which they exchange bytes. All processes call the
/// same functions in the same order, as collective calls of MPI.
pub trait Group {
    /// This process, counted from 0.
    fn rank(&self) -> usize;

    /// The number of processes.
    fn size(&self) -> usize;

    /// Gives `mine` to all, and stores what each has given in `all`, in the order of ranks. `mine` has the
    /// same length at all of them, `all` that length for each process. As `MPI_Allgather`.
    ///
    /// # Errors
    /// What the program's function says.
    fn gather(&mut self, mine: &[u8], all: &mut [u8]) -> Result<(), GroupError>;

    /// Sends `out` to the process `to` while it receives `into` from the process `from`, where there is one.
    /// The other side knows of it and of its length. As `MPI_Sendrecv`.
    ///
    /// # Errors
    /// What the program's function says.
    fn exchange(
        &mut self,
        out: &[u8],
        to: Option<usize>,
        into: &mut [u8],
        from: Option<usize>,
    ) -> Result<(), GroupError>;
}

/// A function of the program has failed, with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the program's function that exchanges messages returned {0}")]
pub struct GroupError(pub i32);

/// Gathers bytes of which each process may have another number.
pub(crate) fn bytes(group: &mut impl Group, mine: &[u8]) -> Result<Vec<Vec<u8>>, GroupError> {
    let lengths = words(group, &[mine.len() as u64])?;
    let longest = lengths.iter().map(|length| length[0] as usize).max().unwrap_or(0);
    if longest == 0 {
        return Ok(vec![Vec::new(); group.size()]);
    }
    let mut padded = mine.to_vec();
    padded.resize(longest, 0);
    let mut all = vec![0; longest * group.size()];
    group.gather(&padded, &mut all)?;
    let parts = all.chunks_exact(longest).zip(&lengths);
    Ok(parts.map(|(part, length)| part[..length[0] as usize].to_vec()).collect())
}

/// Gathers the same number of words from each process.
pub(crate) fn words(group: &mut impl Group, mine: &[u64]) -> Result<Vec<Vec<u64>>, GroupError> {
    let mine = to_bytes(mine);
    let mut all = vec![0; mine.len() * group.size()];
    group.gather(&mine, &mut all)?;
    Ok(all.chunks_exact(mine.len()).map(to_words).collect())
}

/// Words as bytes that every machine reads alike.
pub(crate) fn to_bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The words that [`to_bytes`] has written.
pub(crate) fn to_words(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.chunks_exact(8);
    words.map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

/// Bytes that are exchanged at a time.
const CHUNK: usize = 4 << 20;

/// A stream of bytes that goes to another process, or nowhere, or comes from one.
pub(crate) struct Side<F> {
    /// The other process; without one nothing is exchanged on this side.
    pub peer: Option<usize>,
    /// Bytes of the whole stream.
    pub bytes: u64,
    /// Makes the next piece of what goes out, or takes the next one of what has come.
    pub piece: F,
}

/// Sends one stream while another one comes, piece by piece in turn.
pub(crate) fn transfer(
    group: &mut impl Group,
    mut out: Side<impl FnMut(&mut [u8])>,
    mut into: Side<impl FnMut(&[u8])>,
) -> Result<(), GroupError> {
    let (mut sent, mut come) =
        (vec![0; CHUNK.min(out.bytes as usize)], vec![0; CHUNK.min(into.bytes as usize)]);
    for step in 0..out.bytes.max(into.bytes).div_ceil(CHUNK as u64) {
        let here = |whole: u64| whole.saturating_sub(step * CHUNK as u64).min(CHUNK as u64) as usize;
        let (sent, come) = (&mut sent[..here(out.bytes)], &mut come[..here(into.bytes)]);
        (out.piece)(sent);
        let (to, from) = (out.peer.filter(|_| !sent.is_empty()), into.peer.filter(|_| !come.is_empty()));
        if to.is_some() || from.is_some() {
            group.exchange(if to.is_some() { sent } else { &[] }, to, come, from)?;
        }
        (into.piece)(come);
    }
    Ok(())
}

/// Tells all processes how this one has fared. If any has failed, all get an error: the one that has its own,
/// the others that of the first.
pub(crate) fn agree<T, E: Display + Into<Error>>(
    group: &mut impl Group,
    host: &str,
    mine: Result<T, E>,
) -> Result<T, Error> {
    let text = match &mine {
        Ok(_) => String::new(),
        Err(error) => format!("process {} on {host}: {error}", group.rank()),
    };
    let told = bytes(group, text.as_bytes())?;
    let first = told.into_iter().find(|text| !text.is_empty());
    match (mine, first) {
        (Err(error), _) => Err(error.into()),
        (Ok(_), Some(text)) => Err(Error::Told(String::from_utf8_lossy(&text).into_owned())),
        (Ok(value), None) => Ok(value),
    }
}
