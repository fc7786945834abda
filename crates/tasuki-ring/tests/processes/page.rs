//! The statistics page of another process.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use tasuki_ring::stats_page::{self, Identity, Layout, Reader, Writer};

use super::other::Other;
use super::tasks::equal;

#[test]
fn a_page_is_read_consistently_while_it_is_written_and_swept_when_its_writer_is_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut other = Other::start("page", &[&directory.path().display().to_string()]);
    let path = PathBuf::from(other.hear());
    assert_eq!(stats_page::list_in(directory.path()), std::slice::from_ref(&path));
    assert_eq!(std::fs::metadata(&path).expect("the page").mode() & 0o777, 0o600);
    let reader = Reader::open(&path).expect("the page");
    let mut last = 0;
    while last < 300_000 {
        let snapshot = reader.snapshot();
        let n = snapshot.endpoint.messages_sent;
        if snapshot.torn == 0 {
            assert_eq!(snapshot.endpoint, equal(n));
            assert!(n >= last, "{n} after {last}");
            last = n;
        }
        assert!(!snapshot.stale);
        assert_eq!(snapshot.identity.lanes, "shm");
    }
    assert_eq!(other.hear(), "written");
    assert_eq!(reader.snapshot().pid, other.child.id());
    other.kill();
    assert!(reader.is_stale() && reader.snapshot().stale);
    assert_eq!(reader.snapshot().endpoint, equal(300_000), "a dead program's last counters can be read");
    let writer =
        Writer::create_in(directory.path(), &Layout::default(), &Identity::default()).expect("a page");
    assert!(!path.exists());
    assert_eq!(stats_page::list_in(directory.path()), [writer.path()]);
}
