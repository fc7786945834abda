//! The statistics page in one process.

use tasuki_ring::stats_page::{
    Carrier, EndpointRecord, Identity, Lane, Layout, OPERATIONS_MAX, Operation, OperationRecord, PeerRecord,
    RailRecord, RailState, ReadError, Reader, Writer, list,
};

fn identity() -> Identity {
    Identity { address: "10.77.0.1:40000#1".to_owned(), lanes: "shm+udp".to_owned() }
}

#[test]
fn what_is_written_is_read() {
    let layout = Layout { peers: 3, rails: 2, drops: 2, public: false };
    let mut writer = Writer::create(&layout, &identity()).unwrap();
    assert!(list().contains(&writer.path().to_path_buf()));
    let endpoint = EndpointRecord { messages_sent: 1, helper_calls: u64::MAX, ..EndpointRecord::default() };
    let peer = PeerRecord {
        name: "n2 10.77.0.2".to_owned(),
        carrier: Carrier::Udp,
        dead: true,
        credit: 65_536,
        ..PeerRecord::default()
    };
    let rail = RailRecord {
        rail: 31,
        lane: Lane::Raw,
        nic: "enp3s0f0np0".to_owned(),
        state: RailState::Up,
        srtt_ns: 9_000,
        inflight: 3,
        ..RailRecord::default()
    };
    writer.endpoint(&endpoint);
    writer.carried(u64::MAX - 1);
    writer.peer(1, &peer);
    writer.rail(1, 1, &rail);
    writer.drops(&[("bad checksum", 3), ("duplicate", 0), ("beyond the page", 9)]);
    writer.peer(4, &peer);
    writer.rail(9, 9, &rail);
    let reader = Reader::open(writer.path()).unwrap();
    let snapshot = reader.snapshot();
    assert_eq!((snapshot.pid, snapshot.stale, snapshot.torn), (std::process::id(), false, 0));
    assert_eq!((&snapshot.identity, &snapshot.endpoint), (&identity(), &endpoint));
    assert_eq!(snapshot.carried, u64::MAX - 1);
    assert_eq!(snapshot.drops, [("bad checksum".to_owned(), 3), ("duplicate".to_owned(), 0)]);
    assert_eq!((snapshot.peers.len(), snapshot.peers_beyond), (1, 2));
    assert_eq!((snapshot.peers[0].index, &snapshot.peers[0].peer), (1, &peer));
    assert_eq!(snapshot.peers[0].rails, [rail]);
    assert!(snapshot.program.starts_with("page-"), "{}", snapshot.program);
    let json = serde_json::to_value(&snapshot).unwrap();
    assert_eq!(
        (&json["peers"][0]["carrier"], &json["peers"][0]["rails"][0]["state"]),
        (&"udp".into(), &"up".into())
    );
    writer.remove_peer(1);
    assert_eq!(reader.snapshot().peers, []);
    let path = writer.path().to_path_buf();
    // Reading in the writer's own process must not end its lock.
    drop(reader);
    let reader = Reader::open(&path).unwrap();
    assert!(!reader.is_stale());
    drop(writer);
    assert!(!path.exists() && reader.is_stale());
}

#[test]
fn two_endpoints_of_a_process_have_two_pages() {
    let layout = Layout { peers: 1, rails: 1, drops: 1, public: true };
    let (a, b) =
        (Writer::create(&layout, &identity()).unwrap(), Writer::create(&layout, &identity()).unwrap());
    assert_ne!(a.path(), b.path());
}

#[test]
fn files_that_are_no_pages_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page");
    let mut large = b"tasukist".to_vec();
    large.extend(1_u64.to_ne_bytes());
    large.extend([0xff; 200]);
    let mut short = b"tasukist".to_vec();
    [1_u64, 10, 1, 1, 0, 0, 0].iter().for_each(|value| short.extend(value.to_ne_bytes()));
    for contents in [vec![1; 8], b"tasukist".repeat(1000), large, short] {
        std::fs::write(&path, &contents).unwrap();
        assert!(matches!(Reader::open(&path), Err(ReadError::Layout { .. })));
    }
    for contents in [vec![], vec![0; 4096]] {
        std::fs::write(&path, &contents).unwrap();
        assert!(matches!(Reader::open(&path), Err(ReadError::Unfinished { .. })));
    }
    assert!(matches!(Reader::open(&directory.path().join("none")), Err(ReadError::Io { .. })));
}

#[test]
fn as_many_operations_are_read_as_the_endpoint_lists() {
    let layout = Layout { peers: 1, rails: 1, drops: 1, public: false };
    let mut writer = Writer::create(&layout, &identity()).unwrap();
    let operation = |operation, peer: Option<u32>, tag: u64| OperationRecord {
        operation,
        tagged: peer.is_some(),
        peer,
        tag,
        ignore: !tag,
        bytes: 1 << 40,
    };
    let all = [
        operation(Operation::Receive, None, u64::MAX),
        operation(Operation::Send, Some(0), 7),
        operation(Operation::Unexpected, Some(u32::MAX - 1), 0),
    ];
    all.iter().enumerate().for_each(|(index, record)| writer.operation(index, record));
    writer.operation(OPERATIONS_MAX, &all[0]);
    let mut read = |operations_listed| {
        writer.endpoint(&EndpointRecord { operations_listed, ..EndpointRecord::default() });
        Reader::open(writer.path()).unwrap().snapshot().operations
    };
    assert_eq!(read(3), all);
    assert_eq!(read(2), all[..2]);
    assert_eq!(read(u64::MAX), all, "a page that lists more than it has room for");
    assert_eq!(read(0), []);
}
