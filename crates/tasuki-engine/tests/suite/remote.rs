//! Puts and gets against plain memory as the oracle. The side whose memory it is never calls anything: its
//! helper serves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tasuki_engine::{
    Buffer, Completion, Endpoint, Failure, Peer, RemoteArgs, RemoteDone, RemoteFailure, UnregisterError,
};

use crate::node::{LANES, Lane, options};

const SIZE: usize = 3 << 20;

/// An endpoint that asks for transfers (the origin), one that serves them (the target), and the memory that
/// the target serves.
struct Pair {
    asks: Endpoint,
    serves: Option<Endpoint>,
    there: Peer,
    memory: Box<[u8]>,
    key: u64,
}

fn pair(lane: Lane) -> Pair {
    let [asks, serves] = [(); 2].map(|()| Endpoint::open(&options(lane)).unwrap());
    let there = asks.add_peer(&serves.address());
    let mut memory: Box<[u8]> = (0..SIZE).map(|i| (i % 253) as u8).collect();
    // SAFETY: the memory lives as long as the endpoint, and is looked at only when no transfer is under way.
    let key = unsafe { serves.register(Buffer { ptr: memory.as_mut_ptr(), len: SIZE }) }.unwrap();
    Pair { asks, serves: Some(serves), there, memory, key }
}

impl Pair {
    fn post(&self, get: bool, key: u64, offset: u64, bytes: &mut [u8], context: u64) {
        let buffer = Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() };
        let args = RemoteArgs { peer: self.there, key, offset, buffer, data: None, quiet: false, context };
        // SAFETY: all tests keep the bytes, and leave them alone, until the transfers are over.
        unsafe { if get { self.asks.get(&args) } else { self.asks.put(&args) } }.unwrap();
    }

    fn wait(&self, count: usize) -> Vec<RemoteDone> {
        let (start, mut done) = (Instant::now(), Vec::new());
        while done.len() < count {
            self.asks.wait(Some(Duration::from_millis(10)));
            self.asks.poll_remote(usize::MAX, |one| done.push(one));
            assert!(start.elapsed() < Duration::from_secs(60), "a hang:\n{}", self.asks.describe());
        }
        assert!(self.asks.poll().is_none(), "transfers are no messages");
        done
    }

    /// The side that serves may not know yet that all it sent has been acknowledged.
    fn unregister(&self) {
        let (start, serves) = (Instant::now(), self.serves.as_ref().unwrap());
        while let Err(error) = serves.unregister(self.key) {
            assert!(matches!(error, UnregisterError::Busy(_)), "{error}");
            self.asks.progress();
            serves.progress();
            assert!(start.elapsed() < Duration::from_secs(60), "a hang:\n{}", serves.describe());
        }
    }

    fn one(&self, get: bool, key: u64, offset: u64, bytes: &mut [u8]) -> Result<(), RemoteFailure> {
        self.post(get, key, offset, bytes, 77);
        let [done] = self.wait(1)[..] else { panic!("one transfer ends once") };
        let expected = (77, self.there, get, bytes.len() as u64);
        assert_eq!((done.context, done.peer, done.get, done.len), expected);
        done.result
    }
}

#[test]
fn bytes_are_put_and_got_whatever_their_number() {
    for lane in LANES {
        let pair = pair(lane);
        let mut oracle = pair.memory.to_vec();
        for (round, len) in [0, 1, 4096, 4097, 60_000, 1 << 20, SIZE - 9].into_iter().enumerate() {
            let offset = [9, 5, 0][round % 3];
            let mut bytes: Vec<u8> = (0..len).map(|i| (i * 7 + round) as u8).collect();
            assert_eq!(pair.one(false, pair.key, offset as u64, &mut bytes), Ok(()), "{lane:?}, {len} bytes");
            oracle[offset..offset + len].copy_from_slice(&bytes);
            // Complete means placed.
            assert!(pair.memory[..] == oracle, "{lane:?}, {len} bytes");
            let mut back = vec![0xee; len];
            assert_eq!(pair.one(true, pair.key, offset as u64, &mut back), Ok(()), "{lane:?}, {len} bytes");
            assert!(back == bytes, "{lane:?}, {len} bytes");
        }
        pair.unregister();
    }
}

/// What the serving side hears: the data of puts that carried some, once, and with the bytes in place.
#[test]
fn completion_data_is_told_where_the_bytes_are() {
    for lane in LANES {
        let pair = pair(lane);
        let serves = pair.serves.as_ref().unwrap();
        for (round, len) in [0, 1, 4096, 4097, 1 << 20].into_iter().enumerate() {
            let mut bytes = vec![round as u8 + 1; len];
            let buffer = Buffer { ptr: bytes.as_mut_ptr(), len };
            let data = Some(u64::MAX - round as u64);
            let (peer, key, context) = (pair.there, pair.key, round as u64);
            let put = RemoteArgs { peer, key, offset: 3, buffer, data, quiet: false, context };
            // SAFETY: the bytes stay until the transfer is over, which is waited for below.
            unsafe { pair.asks.put(&put) }.unwrap();
            assert_eq!(pair.wait(1)[0].result, Ok(()));
            assert!(pair.memory[3..3 + len] == bytes, "{lane:?}, {len} bytes");
            let Some(Completion::Put { source, data: told, len: written }) = serves.poll() else {
                panic!("{lane:?}, {len} bytes: nothing is told");
            };
            assert_eq!((Some(told), written), (data, len as u64));
            assert_eq!(serves.peer_address(source), Some(pair.asks.address()));
            // Neither a put without data nor one that is refused is told.
            assert_eq!(pair.one(false, pair.key, 3, &mut bytes), Ok(()));
            let wrong = RemoteArgs { key: pair.key ^ 1, ..put };
            // SAFETY: as above.
            unsafe { pair.asks.put(&wrong) }.unwrap();
            assert_eq!(pair.wait(1)[0].result, Err(RemoteFailure::Refused));
            assert!(serves.poll().is_none(), "{lane:?}, {len} bytes");
        }
        pair.unregister();
    }
}

#[test]
fn many_transfers_at_once_do_not_mix() {
    for lane in LANES {
        let pair = pair(lane);
        const EACH: usize = 20_000;
        let count = SIZE / EACH;
        let mut rows: Vec<Vec<u8>> = (0..count).map(|i| vec![i as u8 + 1; (i * 331) % EACH]).collect();
        for (i, row) in rows.iter_mut().enumerate() {
            pair.post(false, pair.key, (i * EACH) as u64, row, i as u64);
        }
        let mut seen: Vec<u64> = pair.wait(count).iter().map(|done| done.context).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..count as u64));
        let mut back: Vec<Vec<u8>> = rows.iter().map(|row| vec![0; row.len()]).collect();
        for (i, row) in back.iter_mut().enumerate() {
            pair.post(true, pair.key, (i * EACH) as u64, row, i as u64);
        }
        assert!(pair.wait(count).iter().all(|done| done.result.is_ok()));
        assert!(back == rows, "{lane:?}");
        for (i, row) in rows.iter().enumerate() {
            // What no put named is as it was.
            let untouched = i * EACH + row.len()..(i + 1) * EACH;
            assert!(untouched.clone().all(|at| pair.memory[at] == (at % 253) as u8), "{lane:?}, row {i}");
        }
    }
}

#[test]
fn wrong_keys_and_bounds_are_refused_and_touch_nothing() {
    for lane in LANES {
        let pair = pair(lane);
        let before = pair.memory.clone();
        let end = SIZE as u64;
        for len in [1, 5000] {
            let mut bytes = vec![0xaa; len];
            for get in [false, true] {
                for (key, offset) in
                    [(pair.key ^ 1, 0), (pair.key, end - len as u64 + 1), (pair.key, u64::MAX)]
                {
                    let result = pair.one(get, key, offset, &mut bytes);
                    assert_eq!(result, Err(RemoteFailure::Refused), "{lane:?} get {get} {len} at {offset}");
                }
            }
            assert!(bytes.iter().all(|byte| *byte == 0xaa));
        }
        assert!(pair.memory == before);
        let serves = pair.serves.as_ref().unwrap();
        assert_eq!(serves.unregister(pair.key ^ 1), Err(UnregisterError::Unknown));
        assert_eq!(serves.unregister(pair.key), Ok(()));
        assert_eq!(pair.one(false, pair.key, 0, &mut [1]), Err(RemoteFailure::Refused));
        assert!(pair.memory == before);
    }
}

#[test]
fn transfers_with_a_peer_that_has_left_fail() {
    for lane in LANES {
        let mut pair = pair(lane);
        assert_eq!(pair.one(false, pair.key, 0, &mut [1]), Ok(()));
        drop(pair.serves.take());
        let gone = Err(RemoteFailure::Peer(Failure::PeerClosed));
        for len in [1, 50_000] {
            assert_eq!(pair.one(false, pair.key, 0, &mut vec![1; len]), gone, "{lane:?}");
            assert_eq!(pair.one(true, pair.key, 0, &mut vec![1; len]), gone, "{lane:?}");
        }
    }
}

/// An endpoint may be its own peer.
#[test]
fn transfers_with_oneself() {
    let mut pair = pair(Lane::Shared);
    pair.there = pair.asks.add_peer(&pair.asks.address());
    let mut memory = vec![0; 100_000];
    // SAFETY: as in `pair`.
    let key = unsafe { pair.asks.register(Buffer { ptr: memory.as_mut_ptr(), len: memory.len() }) }.unwrap();
    for len in [10, 99_000] {
        let mut bytes = vec![len as u8; len];
        assert_eq!(pair.one(false, key, 1000, &mut bytes), Ok(()));
        assert!(memory[1000..1000 + len] == bytes);
        bytes.fill(0);
        assert_eq!(pair.one(true, key, 1000, &mut bytes), Ok(()));
        assert!(bytes.iter().all(|byte| *byte == len as u8));
    }
}

/// The time of one put, from its post to its completion, ns. Both sides poll.
fn time_of_a_put(pair: &Pair, bytes: &mut [u8]) -> u64 {
    let (start, mut done) = (Instant::now(), false);
    pair.post(false, pair.key, 0, bytes, 0);
    while !done {
        pair.asks.progress();
        pair.asks.poll_remote(usize::MAX, |one| done = one.result.is_ok());
    }
    start.elapsed().as_nanos() as u64
}

/// Prints what puts cost. For the constant `rma.INLINE_PUT_MAX`; it proves nothing but that they complete.
#[test]
#[ignore = "measures"]
fn puts_timed() {
    for lane in [Lane::Shared, Lane::Packets] {
        let name = format!("{lane:?}");
        let mut pair = pair(lane);
        let (serves, stop) = (pair.serves.take().unwrap(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    serves.progress();
                }
            });
            for len in [8, 1024, 4096, 65_536] {
                let mut bytes = vec![7; len];
                let mut times: Vec<u64> = (0..2000).map(|_| time_of_a_put(&pair, &mut bytes)).collect();
                times.sort_unstable();
                let [low, median, high] = [200, 1000, 1800].map(|at| times[at]);
                println!("{name}, put of {len} bytes: median {median} ns ({low} to {high})");
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
