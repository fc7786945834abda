//! Copies between two hosts that are both this machine.

use super::*;
use std::{fs, path::Path};
use tasuki_cluster::generate::{Options, generate};
use tasuki_testkit::ports::own_port;

/// A host, and what it has.
struct Host {
    images: Images,
    copies: Copies,
    folder: tempfile::TempDir,
}

impl Host {
    fn of(bundle: &Bundle) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let copies = Copies::below(folder.path().join("copies"), bundle, "1").expect("keys");
        Self { images: Images::below(folder.path(), "1"), copies, folder }
    }

    /// The folder in which it keeps a checkpoint of n1.
    fn kept(&self, epoch: Epoch) -> PathBuf {
        self.folder.path().join(format!("copies/n1/images/7/{epoch}"))
    }

    /// Serves those who come, until the thread of another end is done.
    fn serve<T: Send>(&self, other: impl FnOnce() -> T + Send) -> T {
        let door = self.copies.listen();
        thread::scope(|scope| {
            let other = scope.spawn(other);
            while !other.is_finished() {
                door.open(&self.copies);
                thread::sleep(Duration::from_millis(1));
            }
            other.join().expect("no panic")
        })
    }
}

/// What a host stores below a folder.
pub(crate) fn stored_below(folder: &Path) -> (Images, Copies) {
    let copies = Copies::below(folder.join("copies"), &bundles()[0], "1").expect("keys");
    (Images::below(folder, "1"), copies)
}

/// The bundles of hosts that are all this machine.
pub(crate) fn bundles() -> Vec<Bundle> {
    let cluster = generate(&"full:2".parse().expect("a shape"), &Options::default()).expect("a cluster");
    let mut bundles = Bundle::make_all(&cluster, 1, true).expect("bundles");
    let port = own_port() - PORT_OFFSET;
    for bundle in &mut bundles {
        bundle.port = port;
        bundle.hosts.iter_mut().for_each(|host| host.address = "127.0.0.1".into());
    }
    bundles
}

fn pair() -> (Host, Host) {
    let bundles = bundles();
    (Host::of(&bundles[0]), Host::of(&bundles[1]))
}

fn get(from: &Host, to: &Host, epoch: Epoch) -> Result<(), String> {
    to.serve(|| from.copies.get("n2", (7, epoch), &from.images, &AtomicBool::new(false)).map(drop))
}

#[test]
fn what_a_host_has_lost_it_gets_back_from_the_one_that_has_a_copy() {
    let (own, other) = pair();
    for epoch in [40, 50, 60] {
        own.images.make_up(7, epoch);
        assert_eq!(other.serve(|| own.copies.put("n2", 7, epoch, &own.images)), Ok(()));
    }
    let kept = [40, 50, 60].map(|epoch| other.kept(epoch).exists());
    assert_eq!(kept, [false, true, true], "of copies the last two are kept, as of checkpoints");
    own.images.discard(7);
    assert!(own.images.sound(7, 60).is_err());
    assert_eq!(get(&own, &other, 60), Ok(()));
    assert!(own.images.sound(7, 60).is_ok());
    // One that is damaged is replaced.
    fs::write(own.folder.path().join("images/7/60/criu/pages"), "other bytes").expect("writes");
    assert!(own.images.sound(7, 60).is_err());
    assert_eq!(get(&own, &other, 60), Ok(()));
    assert!(own.images.sound(7, 60).is_ok());
    let none = get(&own, &other, 40).expect_err("it has gone");
    assert!(none.contains("from n2") && none.contains("no checkpoint 40"), "{none}");
}

#[test]
fn a_copy_that_is_damaged_does_not_come_back() {
    let (own, other) = pair();
    own.images.make_up(7, 40);
    other.serve(|| own.copies.put("n2", 7, 40, &own.images)).expect("it is kept");
    fs::write(other.kept(40).join("criu/pages"), "other bytes").expect("writes");
    let why = get(&own, &other, 40).expect_err("it is damaged");
    assert!(why.contains("pages has"), "{why}");
    assert!(own.images.sound(7, 40).is_ok(), "what was there stays");
}

#[test]
fn a_copy_that_cannot_be_kept_is_told_and_leaves_nothing() {
    let (own, other) = pair();
    own.images.make_up(7, 40);
    // A file stands where the folder should.
    fs::write(other.folder.path().join("copies"), "").expect("writes");
    let why = other.serve(|| own.copies.put("n2", 7, 40, &own.images)).expect_err("it cannot be kept");
    assert!(why.starts_with("no copy is on n2: ") && why.contains("cannot write"), "{why}");
    let unknown = own.copies.put("n9", 7, 40, &own.images).expect_err("there is no such host");
    assert!(unknown.contains("not in the cluster"), "{unknown}");
    let away = own.copies.put("n2", 7, 40, &own.images).expect_err("nobody listens");
    assert!(away.contains("refused"), "{away}");
}

// The job ends well while its copy is under way, and the other host is told of that before the copy is there.
#[test]
fn a_copy_that_comes_too_late_is_removed() {
    let (own, other) = pair();
    own.images.make_up(7, 40);
    let gone = Images::below(Path::new("/no/folder"), "1");
    let late = other.serve(|| {
        own.copies.put("n2", 7, 40, &own.images).expect("it is kept");
        own.images.discard(7);
        own.copies.drop_at("n2", 7).map_err(|error| error.to_string())
    });
    assert_eq!((late, other.kept(40).exists()), (Ok(()), false));
    assert!(other.serve(|| own.copies.put("n2", 7, 40, &gone)).is_err());
    assert!(!other.kept(40).exists());
}

// Two further checkpoints were taken while the copy of one was under way: it takes no other copy along.
#[test]
fn a_copy_that_is_slow_removes_no_others() {
    let (own, other) = pair();
    own.images.make_up(7, 40);
    other.serve(|| own.copies.put("n2", 7, 40, &own.images)).expect("it is kept");
    own.images.drop_epoch(7, 40);
    own.images.make_up(7, 60);
    assert_eq!(other.serve(|| own.copies.look_after("n2", 7, &own.images)), Ok(()));
    assert!(other.kept(40).exists());
    own.images.discard(7);
    assert!(other.serve(|| own.copies.look_after("n2", 7, &own.images)).is_err());
    assert!(!other.kept(40).exists());
}

#[test]
fn copies_of_a_run_that_was_given_up_go_with_the_next_one() {
    let (own, other) = pair();
    let put = |epoch| {
        own.images.make_up(7, epoch);
        other.serve(|| own.copies.put("n2", 7, epoch, &own.images)).expect("it is kept");
    };
    [40, 50].into_iter().for_each(put);
    own.images.forget_newer(7, 40);
    put(60);
    assert_eq!([40, 50, 60].map(|epoch| other.kept(epoch).exists()), [true, false, true]);
    // What this host has lost is there.
    own.images.discard(7);
    put(70);
    assert_eq!([60, 70].map(|epoch| other.kept(epoch).exists()), [true, true]);
}

#[test]
fn who_has_no_key_of_the_cluster_gets_nothing_and_leaves_nothing() {
    let (all, strangers) = (bundles(), bundles());
    let other = Host::of(&all[1]);
    let mut thief = strangers[0].clone();
    (thief.port, thief.authority) = (all[0].port, all[0].authority.clone());
    thief.hosts = all[0].hosts.clone();
    thief.hosts[0].certificate = strangers[0].hosts[0].certificate.clone();
    let thief = Host::of(&thief);
    thief.images.make_up(7, 40);
    assert!(other.serve(|| thief.copies.put("n2", 7, 40, &thief.images)).is_err());
    assert!(get(&thief, &other, 40).is_err());
    assert!(!other.kept(40).exists());
}

// A host that keeps a copy is connected, and never says whether it is sound: the user cancels the job.
#[test]
fn a_copy_that_is_waited_for_is_given_up_when_nobody_wants_it() {
    let (own, other) = pair();
    let door = other.copies.listen();
    let (stop, tls) = (AtomicBool::new(false), Arc::clone(&other.copies.0.server));
    let listener = door.socket().expect("it listens").try_clone_to_owned().expect("a descriptor");
    let listener = std::net::TcpListener::from(listener);
    listener.set_nonblocking(false).expect("it waits");
    thread::scope(|scope| {
        let waits = scope.spawn(|| own.copies.get("n2", (7, 40), &own.images, &stop).map(drop));
        let (socket, _) = listener.accept().expect("somebody comes");
        let tls = ServerConnection::new(tls).expect("TLS");
        let mut line = StreamOwned::new(tls, ready(socket).expect("a socket"));
        prove(&mut line).expect("it is n1");
        assert!(matches!(hear(&mut line).expect("a word"), Ask::Get { job: 7, epoch: 40 }));
        stop.store(true, Ordering::Relaxed);
        // The line is open until it has been given up at the other end.
        let why = waits.join().expect("no panic").expect_err("it is given up");
        assert!(why.contains("given up"), "{why}");
    });
}
