//! How much is read of the pages of a host, and said of them: any user may put as many of them there, and as
//! large ones, as there is memory.

use std::io::{self, Write};
use tasuki_ring::stats_page::Snapshot;

/// What all users together may have, and how many pages each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Pages of each user.
    pub files: usize,
    /// Bytes of pages that are read.
    pub read: usize,
    /// Bytes of JSON that tell of them.
    pub said: usize,
}

impl Default for Limits {
    /// A page takes 0.6 MB, and what is said of the pages of a host is to be less than what is taken of an
    /// answer, 128 MiB: those of 128 ranks with 256 peers each over five rails are 48 MB.
    fn default() -> Self {
        Self { files: 4096, read: 1 << 30, said: 112 << 20 }
    }
}

/// What is left of the limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    left: Limits,
    used: Limits,
}

impl Room {
    pub fn new(limits: &Limits) -> Self {
        Self { left: *limits, used: Limits { files: 0, read: 0, said: 0 } }
    }

    /// What the next of so many users may have. Users with the least come first, so that what they leave is
    /// for the others.
    pub fn share(&self, users: usize, limits: &Limits) -> Self {
        let of = |left: usize| left / users.max(1);
        Self::new(&Limits { files: limits.files, read: of(self.left.read), said: of(self.left.said) })
    }

    /// Takes away what was used of a share.
    pub fn use_up(&mut self, share: &Self) {
        self.left.read = self.left.read.saturating_sub(share.used.read.min(share.left.read));
        self.left.said = self.left.said.saturating_sub(share.used.said.min(share.left.said));
    }

    /// Whether there is room for one more file, which is taken.
    pub fn has_file(&mut self) -> bool {
        self.used.files += 1;
        self.used.files <= self.left.files
    }

    /// Whether there is room for one more page of so many bytes, which is taken.
    pub fn has_page(&mut self, bytes: usize) -> bool {
        self.used.read = self.used.read.saturating_add(bytes);
        self.has_file() && self.used.read <= self.left.read
    }

    /// Whether there is room for what a page says, which is taken.
    pub fn has_said(&mut self, page: &Snapshot) -> bool {
        self.used.said = self.used.said.saturating_add(said(page));
        self.used.said <= self.left.said
    }
}

/// How many bytes of JSON tell of a page.
fn said(page: &Snapshot) -> usize {
    let mut counted = Counted(0);
    // A page has nothing that JSON cannot say, and counting does not fail.
    let _ = serde_json::to_writer(&mut counted, page);
    counted.0
}

/// Counts what is written.
struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_with_much_leaves_room_to_the_others() {
        let limits = Limits { files: 10, read: 900, said: 90 };
        let mut room = Room::new(&limits);
        let mut small = room.share(3, &limits);
        assert!(small.has_page(100));
        room.use_up(&small);
        let mut other = room.share(2, &limits);
        assert!(other.has_page(400) && !other.has_page(1));
        room.use_up(&other);
        assert!(room.share(1, &limits).has_page(400), "what was refused takes nothing from others");
        let page = Snapshot::default();
        let bytes = serde_json::to_vec(&page).expect("JSON").len();
        let mut room = Room::new(&Limits { said: 2 * bytes, ..limits });
        assert!(room.has_said(&page) && room.has_said(&page) && !room.has_said(&page));
    }
}
