//! A full shared memory is an error, never SIGBUS. This needs a small tmpfs, hence root.

use std::ffi::CString;
use std::path::Path;

use tasuki_ring::stats_page::{Identity, Layout, Writer};
use tasuki_ring::{OpenError, Outbox, RingError, Segment, SegmentOptions, Token, Verdict};

/// Mounts a tmpfs of `bytes` bytes in a mount namespace of this thread, which ends with the thread. False if
/// that is not allowed.
fn small_tmpfs(at: &Path, bytes: usize) -> bool {
    let target = CString::new(at.to_str().expect("a plain path")).expect("no zero");
    let options = CString::new(format!("size={bytes}")).expect("no zero");
    // SAFETY: all strings end in zero and live through the calls; CLONE_FS is undone for this thread alone.
    let done = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) == 0
            && libc::mount(c"none".as_ptr(), target.as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast())
                == 0
    };
    if !done {
        eprintln!("skipped: mounting needs CAP_SYS_ADMIN: {}", std::io::Error::last_os_error());
    }
    done
}

#[test]
fn a_full_shared_memory_is_an_error_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    if !small_tmpfs(directory.path(), 512 << 10) {
        return;
    }
    let token = Token::random().expect("random");
    let options = SegmentOptions { ring_bytes: 128 << 10, max_peers: 64, ..SegmentOptions::new(token) };
    // 8 MiB of rings fit into half a MiB because the file is sparse.
    let mut inbox = Segment::create_in(directory.path(), &options).expect("the head fits");
    let mut outboxes = Vec::new();
    let error = loop {
        match Outbox::open_in(directory.path(), &token, &token) {
            Ok(outbox) => outboxes.push(outbox),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, OpenError::NoSpace { bytes: 131_072, .. }), "{error}");
    assert_eq!(outboxes.len(), 3, "512 KiB hold the head and three rings of 128 KiB");
    // Every byte of what was granted can be used.
    for outbox in &mut outboxes {
        for _ in 0..10 {
            let len = outbox.max_record();
            assert!(outbox.push(len, |into| into.fill(1)));
            assert_eq!(
                inbox.receive(9, |_, bytes| {
                    assert_eq!(bytes, vec![1; len]);
                    Verdict::Consumed
                }),
                1
            );
        }
    }
    let second = SegmentOptions { token: Token::random().expect("random"), max_peers: 4096, ..options };
    let error = Segment::create_in(directory.path(), &second).err().expect("a head of 1 MiB does not fit");
    assert!(matches!(error, RingError::NoSpace { .. }), "{error}");
    let layout = Layout { peers: 10_000, ..Layout::default() };
    let error = Writer::create_in(directory.path(), &layout, &Identity::default()).err().expect("no room");
    assert!(matches!(error, RingError::NoSpace { .. }), "{error}");
    let left = std::fs::read_dir(directory.path()).expect("the directory").count();
    assert_eq!(left, 1, "only the first segment is there");
    // The slot of a sender that has gone keeps its memory, so that there is room for the next sender.
    outboxes.pop();
    inbox.receive(1, |_, _| Verdict::Consumed);
    outboxes.push(Outbox::open_in(directory.path(), &token, &token).expect("the memory of the slot before"));
}
