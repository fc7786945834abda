//! Writing an epoch: each process its own image, and the copy that another one sends.

use crate::error::Error;
use crate::folder::{Draft, Folder, Line, Stamp};
use crate::group::{self, Group, Side};
use crate::image::{Encoder, Head};
use crate::keepers;

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
        let mut own = (round == 0).then(|| folder.draft(head.stamp, rank));
        let to = keepers[rank].filter(|_| rounds[rank] == round);
        let from = (0..keepers.len()).find(|other| keepers[*other] == Some(rank) && rounds[*other] == round);
        let mut copy = from.map(|other| folder.draft(head.stamp, other));
        let mut encoder = Encoder::new(head, regions.iter().map(|(_, memory)| *memory).collect());
        let image = |piece: &mut [u8]| {
            encoder.fill(piece);
            own.iter_mut().for_each(|own| own.write(piece));
        };
        let bytes = if round == 0 || to.is_some() { length(rank) } else { 0 };
        let out = Side { peer: to, bytes, piece: image };
        let keep = |piece: &[u8]| copy.iter_mut().for_each(|copy| copy.write(piece));
        let into = Side { peer: from, bytes: from.map_or(0, length), piece: keep };
        copied += into.bytes;
        group::transfer(group, out, into)?;
        let kept: Vec<_> = [own, copy].into_iter().flatten().map(Draft::keep).collect();
        written = written.and(kept.into_iter().collect());
    }
    group::agree(group, host, written)?;
    Ok((length(rank), copied))
}

/// The stamp of the next epoch, which all processes learn from the first. Without a line it begins one.
pub fn draw(group: &mut impl Group, host: &str, epoch: u64, line: Option<Line>) -> Result<Stamp, Error> {
    let drawn = getrandom::u64().map_err(|_| Error::Told("the kernel gives no random numbers".into()));
    let drawn = group::agree(group, host, drawn)?;
    let of_line = |line: Line| u64::from(line) << 32 | drawn & u64::from(u32::MAX);
    let drawn = line.map_or(drawn, of_line);
    let told = group::words(group, &[epoch, drawn])?;
    Ok(Stamp { epoch: told[0][0], drawn: told[0][1] })
}
