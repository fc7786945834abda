//! The writer of a statistics page and a reader.

use std::path::Path;

use loom::thread;

use crate::file::SharedFile;
use crate::map::{self, Map, Shape};
use crate::stats_page::seqlock::{Found, Sequence, erase, read, write};
use crate::stats_page::words::{Cursor, Words};

/// A record of two words that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair(u64, u64);

impl Words for Pair {
    const WORDS: usize = 2;

    fn put(&self, into: &mut Cursor<'_>) {
        into.number(self.0);
        into.number(self.1);
    }

    fn get(from: &mut Cursor<'_>) -> Pair {
        Pair(from.read(), from.read())
    }
}

/// Bytes of the page: a sequence word and the record.
const LEN: usize = 24;

fn page() -> (Map, SharedFile) {
    map::shape(Shape::Words);
    let file = SharedFile::create(Path::new("/page"), 0o600).expect("a file");
    file.set_len(LEN as u64).expect("a size");
    (Map::new(file.fd(), LEN, true).expect("a mapping"), file)
}

fn put(map: &Map, sequence: &mut Sequence, pair: Pair) {
    write(map, 0, Pair::WORDS, sequence, |into| pair.put(into));
}

/// Reads once as [`crate::stats_page::Reader`] does, and checks that the words belong together. None: there
/// is no record, or it could not be read in so many tries.
fn look(file: &SharedFile, tries: usize) -> Option<Pair> {
    let bytes = |offset: usize, into: &mut [u8]| file.read_at(offset as u64, into).is_ok();
    let mut before = [0; 8];
    assert!(bytes(0, &mut before));
    match read(u64::from_ne_bytes(before), tries, bytes) {
        Found::Record(Pair(first, second)) => {
            assert_eq!(first + 100, second, "a record is torn");
            Some(Pair(first, second))
        }
        Found::Empty | Found::Torn => None,
    }
}

/// A record is written twice while it is read.
pub(crate) fn written_while_read() {
    let (map, file) = page();
    let mut sequence = Sequence::default();
    let writer = thread::spawn(move || {
        put(&map, &mut sequence, Pair(1, 101));
        put(&map, &mut sequence, Pair(2, 102));
        map
    });
    look(&file, 2);
    let _map = writer.join().expect("no panic");
    assert_eq!(look(&file, 1), Some(Pair(2, 102)));
}

/// A record is taken off the page while it is read, and another takes its place.
pub(crate) fn replaced_while_read() {
    let (map, file) = page();
    let mut sequence = Sequence::default();
    put(&map, &mut sequence, Pair(1, 101));
    let writer = thread::spawn(move || {
        erase(&map, 0);
        put(&map, &mut sequence, Pair(2, 102));
        map
    });
    look(&file, 2);
    let _map = writer.join().expect("no panic");
    assert_eq!(look(&file, 1), Some(Pair(2, 102)));
}
