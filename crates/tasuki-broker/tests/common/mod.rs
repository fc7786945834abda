//! What the tests of the broker share: a network of their own, a broker in it, and threads that run as other
//! users. For the kernel, users and capabilities belong to a thread (credentials(7)), so no further processes
//! are needed.
#![allow(dead_code, reason = "each test file uses a part")]

use nix::{
    sys::{
        eventfd::EventFd,
        socket::{
            AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, connect, recvmsg,
            send, socket,
        },
    },
    unistd::Uid,
};
use std::{
    io::{self, IoSliceMut},
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::fs::PermissionsExt,
    },
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    thread,
    time::Duration,
};
use tasuki_broker::{Limits, Listener, Nics, Options, serve};
use tasuki_link::{
    RawLink, RawOptions,
    broker::{Answer, Broker, BrokerError, Request, Wish},
};

/// The group whose members get lanes.
pub const GROUP: u32 = 4100;
/// A user who is a member by a supplementary group.
pub const MEMBER: User = User { uid: 4201, gid: 4201, groups: &[4300, GROUP] };
/// A user who is a member by the primary group.
pub const OTHER: User = User { uid: 4202, gid: GROUP, groups: &[] };
/// A user who is not a member.
pub const STRANGER: User = User { uid: 4203, gid: 4203, groups: &[4300] };

/// Addresses of the NICs.
pub const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
/// Tasuki's ethertype, as `docs/reference/wire.md` defines it.
pub const ETHERTYPE: u16 = 0x88b5;

/// The user that a thread becomes.
#[derive(Clone, Copy)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    pub groups: &'static [u32],
}

/// Puts this thread, and those that it starts, into a network namespace with a cable between `e0` and `e1`
/// and another between `other0` and `other1`. Returns false, after a note that says why, if that is not
/// allowed.
pub fn network(test: &str) -> bool {
    if !Uid::effective().is_root() {
        assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "{test} needs root");
        eprintln!("SKIPPED {test}: network namespaces and other users need root");
        return false;
    }
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("a network namespace");
    ip("link set lo up");
    for (name, far) in [("e0", "e1"), ("other0", "other1")] {
        ip(&format!("link add {name} type veth peer name {far}"));
    }
    ip("link set e0 address 02:00:00:00:00:01");
    ip("link set e1 address 02:00:00:00:00:02");
    for nic in ["e0", "e1", "other0", "other1"] {
        let quiet = format!("net.ipv6.conf.{nic}.disable_ipv6=1");
        assert!(Command::new("sysctl").args(["-qw", &quiet]).status().expect("sysctl").success());
        ip(&format!("link set {nic} up"));
    }
    true
}

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status().expect("ip");
    assert!(status.success(), "ip {words}");
}

fn change(call: libc::c_long, arguments: [libc::c_long; 3]) {
    // SAFETY: the calls take numbers, and for setgroups a pointer to a live slice of the length given. The
    // system call is made directly because the C library would change all threads of the process.
    let result = unsafe { libc::syscall(call, arguments[0], arguments[1], arguments[2]) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}

/// Runs `body` in a thread that is this user and has no capability.
pub fn as_user<T: Send>(user: User, body: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            become_user(user);
            let refused = socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), None);
            assert_eq!(refused.err(), Some(nix::errno::Errno::EPERM), "it could do without a broker");
            body()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

pub fn become_user(user: User) {
    change(libc::SYS_setgroups, [user.groups.len() as i64, user.groups.as_ptr() as i64, 0]);
    change(libc::SYS_setresgid, [i64::from(user.gid); 3]);
    change(libc::SYS_setresuid, [i64::from(user.uid); 3]);
}

/// Becomes a user and keeps CAP_NET_RAW, but no other capability: that is what the systemd unit gives the
/// broker.
pub fn become_service(uid: u32) {
    const PR_SET_KEEPCAPS: libc::c_long = 8;
    change(libc::SYS_prctl, [PR_SET_KEEPCAPS, 1, 0]);
    become_user(User { uid, gid: GROUP, groups: &[] });
    // struct __user_cap_header_struct and two of __user_cap_data_struct (linux/capability.h, version 3).
    let header = [0x2008_0522_u32, 0];
    let net_raw = 1_u32 << 13;
    let data = [net_raw, net_raw, 0, 0, 0, 0];
    change(libc::SYS_capset, [header.as_ptr() as i64, data.as_ptr() as i64, 0]);
}

/// A broker in a thread of this process; it ends with this value.
pub struct Running {
    pub path: PathBuf,
    stop: Arc<EventFd>,
    thread: Option<thread::JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

/// The options that most tests use: lanes of `e0` and `e1`.
pub fn options() -> Options {
    let nics = ["e0", "e1"].map(str::to_owned).into();
    Options { group: GROUP, nics: Nics::Named(nics), limits: Limits::default(), bypass: true }
}

impl Running {
    pub fn start(options: Options) -> Running {
        Running::start_as(options, || {})
    }

    /// Starts a broker. `first` is called in its thread when it listens.
    pub fn start_as(options: Options, first: impl FnOnce() + Send + 'static) -> Running {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("its mode");
        let path = folder.path().join("run/broker.sock");
        let listener = Listener::bind(&path, options.group).expect("listens");
        let stop = Arc::new(EventFd::new().expect("an event"));
        let stopping = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            first();
            serve(&listener, &options, stopping.as_fd()).expect("serves");
        });
        Running { path, stop, thread: Some(thread), _folder: folder }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.write(1).expect("stops");
        let ended = self.thread.take().map(thread::JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))), "the broker has panicked");
    }
}

/// Asks the broker for a lane as the client library does.
pub fn lane(path: &Path, nic: &str, endpoint: u32) -> Result<RawLink, BrokerError> {
    // With a limit that a busy machine keeps.
    Broker::in_background(path).lane(&RawOptions { nic: nic.to_owned(), endpoint, ring_bytes: 1 << 20 })
}

pub fn request(nic: &str, endpoint: u32) -> Request {
    Request { wish: Wish::Lane, endpoint, ring_bytes: 1 << 20, nic: nic.to_owned() }
}

/// Connects to the broker.
pub fn connection(path: &Path) -> OwnedFd {
    let fd =
        socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
    connect(fd.as_raw_fd(), &UnixAddr::new(path).expect("a path")).expect("connects");
    fd
}

/// Receives an answer and the descriptors with it; `None` if the broker has closed the connection.
pub fn hear(connection: &OwnedFd) -> Option<(Answer, Vec<OwnedFd>)> {
    let mut room = [0; 1024];
    let mut space = nix::cmsg_space!([RawFd; 4]);
    let mut parts = [IoSliceMut::new(&mut room)];
    let got = recvmsg::<()>(connection.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty()).ok()?;
    let mut sockets = Vec::new();
    for message in got.cmsgs().expect("whole control messages") {
        if let ControlMessageOwned::ScmRights(raw) = message {
            // SAFETY: the kernel has just opened these descriptors for this process, and no other code has
            // them.
            sockets.extend(raw.into_iter().map(|raw| unsafe { OwnedFd::from_raw_fd(raw) }));
        }
    }
    let len = got.bytes;
    (len > 0).then(|| (Answer::from_bytes(&room[..len]).expect("an answer"), sockets))
}

/// Sends bytes and receives the answer.
pub fn say(connection: &OwnedFd, bytes: &[u8]) -> Option<(Answer, Vec<OwnedFd>)> {
    send(connection.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL).ok()?;
    hear(connection)
}

/// Looks at a condition before it counts as a hang, 10 ms apart. On a machine that others keep busy jobs took
/// longer than 30 s to end.
const LOOKS_MOST: u32 = 30_000;

/// Waits until `condition` holds. The limit keeps a defect from hanging the tests; nothing is measured with
/// it.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..LOOKS_MOST {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("waited for five minutes or more for: {what}");
}
