//! Writing an epoch: each process its own image, and the copy that another one sends.

use crate::error::Error;
use crate::folder::{Draft, Folder, Stamp};
use crate::group::{self, Group};
use crate::image::{Encoder, Head};
use crate::keepers;

/// Bytes that are written and sent at a time.
pub const CHUNK: usize = 4 << 20;

/// Writes this process's image and the copies that are sent to it, and sends its own to its keeper. Gives the
/// bytes of its own image, and of copies, once all processes have said that theirs are on the disk.
///
/// # Errors
/// Some process could not write, or the program's functions fail.
pub fn save(
    group: &mut impl Group,
    folder: &Folder,
    host: &str,
    keepers: &[Option<usize>],
    head: &Head,
    regions: &[(u32, &[u8])],
) -> Result<(u64, u64), Error> {
    let lengths = group::words(group, &[head.image_bytes()])?;
    let length = |rank: usize| lengths[rank][0];
    let (rank, rounds) = (group.rank(), keepers::rounds(keepers));
    let last = rounds.iter().max().copied().unwrap_or(0);
    let (mut written, mut copied) = (Ok(()), 0);
    for round in 0..=last {
        let own = (round == 0).then(|| folder.draft(head.stamp, rank));
        let to = keepers[rank].filter(|_| rounds[rank] == round);
        let from = (0..keepers.len()).find(|other| keepers[*other] == Some(rank) && rounds[*other] == round);
        let copy = from.map(|other| folder.draft(head.stamp, other));
        let mut flow = Flow { own, copy, to, from, encoder: Encoder::new(head, memory(regions)) };
        let out = if flow.own.is_some() || to.is_some() { length(rank) } else { 0 };
        let into = from.map_or(0, length);
        flow.run(group, out, into)?;
        copied += into;
        written = written.and(flow.finish());
    }
    group::agree(group, host, written)?;
    Ok((length(rank), copied))
}

fn memory<'a>(regions: &[(u32, &'a [u8])]) -> Vec<&'a [u8]> {
    regions.iter().map(|(_, memory)| *memory).collect()
}

/// What one process does in one round.
struct Flow<'a> {
    own: Option<Draft>,
    copy: Option<Draft>,
    to: Option<usize>,
    from: Option<usize>,
    encoder: Encoder<'a>,
}

impl Flow<'_> {
    /// Writes and sends `out` bytes of the own image, while `into` bytes of another one come and are written.
    fn run(&mut self, group: &mut impl Group, out: u64, into: u64) -> Result<(), Error> {
        let steps = out.max(into).div_ceil(CHUNK as u64);
        let mut piece = vec![0; CHUNK.min(out as usize)];
        let mut other = vec![0; CHUNK.min(into as usize)];
        for step in 0..steps {
            let here = |whole: u64| whole.saturating_sub(step * CHUNK as u64).min(CHUNK as u64) as usize;
            let piece = &mut piece[..here(out)];
            let other = &mut other[..here(into)];
            self.encoder.fill(piece);
            let to = self.to.filter(|_| !piece.is_empty());
            let from = self.from.filter(|_| !other.is_empty());
            if to.is_some() || from.is_some() {
                group.exchange(if to.is_some() { piece } else { &[] }, to, other, from)?;
            }
            if let Some(own) = &mut self.own {
                own.write(piece);
            }
            if let Some(copy) = &mut self.copy {
                copy.write(other);
            }
        }
        Ok(())
    }

    /// Waits until the disk has the files. All of a host's disk work is asked for before the first waits.
    fn finish(self) -> Result<(), Error> {
        let kept: Vec<_> = [self.own, self.copy].into_iter().flatten().map(Draft::keep).collect();
        kept.into_iter().collect()
    }
}

/// The stamp of the next epoch, which all processes learn from the first.
pub fn draw(group: &mut impl Group, host: &str, epoch: u64) -> Result<Stamp, Error> {
    let drawn = getrandom::u64().map_err(|_| Error::Order("the kernel gives no random numbers"));
    let drawn = group::agree(group, host, drawn)?;
    let told = group::words(group, &[epoch, drawn])?;
    Ok(Stamp { epoch: told[0][0], drawn: told[0][1] })
}
