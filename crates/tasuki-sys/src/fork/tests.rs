use super::*;
use nix::unistd::{ForkResult, Pid, fork, pause};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Children of other tests inherit what a test has not noted yet.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A forked child that lives on until this value ends.
struct Child(Pid);

impl Child {
    /// Forks a child, which calls `body`; gives what that returns. The child goes on to do nothing. Other
    /// threads of this process may have held any lock, so `body` only makes system calls.
    fn fork(body: impl FnOnce() -> u8) -> (Child, u8) {
        let (mut reader, mut writer) = io::pipe().expect("a pipe");
        // SAFETY: the child makes system calls only, and never returns.
        let child = match unsafe { fork() }.expect("a child") {
            ForkResult::Parent { child } => Child(child),
            ForkResult::Child => {
                let _ = writer.write(&[body()]);
                loop {
                    pause();
                }
            }
        };
        let mut said = [0];
        reader.read_exact(&mut said).expect("the child says it");
        (child, said[0])
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = nix::sys::signal::kill(self.0, nix::sys::signal::Signal::SIGKILL);
        let _ = nix::sys::wait::waitpid(self.0, None);
    }
}

fn socket() -> (UdpSocket, SocketAddr) {
    // An address that nothing else uses: sockets of other tests get no port there.
    let socket = UdpSocket::bind("127.4.29.7:0").expect("a socket");
    let at = socket.local_addr().expect("it is bound");
    (socket, at)
}

/// Whether an address can be bound to. A program that another test starts may have all sockets for a moment,
/// until it calls execve(2).
fn comes_free(at: SocketAddr) -> bool {
    (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        UdpSocket::bind(at).is_ok()
    })
}

// bind(2): EADDRINUSE while any process has a socket with the port.
#[test]
fn a_port_is_free_again_though_a_child_lives_on_and_until_then_the_parent_uses_it() {
    let _alone = alone();
    let (socket, at) = socket();
    let socket = Uninherited::new(socket);
    let _child = Child::fork(|| 0);
    socket.send_to(b"own", at).expect("sent");
    let mut bytes = [0; 8];
    assert_eq!(socket.recv_from(&mut bytes).expect("received"), (3, at));
    assert_eq!(UdpSocket::bind(at).expect_err("taken").kind(), io::ErrorKind::AddrInUse);
    drop(socket);
    assert!(comes_free(at), "the child has it");
}

#[test]
fn a_descriptor_that_is_given_out_again_is_inherited_as_any_other() {
    let _alone = alone();
    let (socket, at) = socket();
    let socket = Uninherited::new(socket).into_inner();
    let _child = Child::fork(|| 0);
    drop(socket);
    assert_eq!(UdpSocket::bind(at).expect_err("the child has it").kind(), io::ErrorKind::AddrInUse);
}

/// Whether a number leads to /dev/null, which has the numbers 1 and 3 (the kernel's devices.txt), and is
/// closed on exec.
fn is_blank(number: RawFd) -> bool {
    // SAFETY: zeroes are a value of this struct of numbers, which lives through the calls.
    let (stat, flags) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let told = libc::fstat(number, &raw mut stat);
        ((told == 0).then_some(stat), libc::fcntl(number, libc::F_GETFD))
    };
    flags == libc::FD_CLOEXEC && stat.is_some_and(|stat| stat.st_rdev == libc::makedev(1, 3))
}

#[test]
fn the_numbers_stay_taken_in_a_child_and_its_own_children_keep_what_it_puts_there() {
    let _alone = alone();
    let sockets = [socket().0, socket().0, socket().0].map(Uninherited::new);
    let numbers = sockets.each_ref().map(|one| one.as_raw_fd());
    let (mut reader, writer) = io::pipe().expect("a pipe");
    let pipe = writer.as_raw_fd();
    let (_child, said) = Child::fork(|| {
        let are_blank = numbers.into_iter().all(is_blank);
        // SAFETY: system calls with live memory; the grandchild leaves by _exit.
        unsafe {
            libc::dup2(pipe, numbers[1]);
            let grandchild = libc::fork();
            if grandchild == 0 {
                libc::write(numbers[1], b"kept".as_ptr().cast(), 4);
                libc::_exit(0);
            }
            libc::waitpid(grandchild, std::ptr::null_mut(), 0);
        }
        u8::from(are_blank)
    });
    assert_eq!(said, 1, "the numbers lead to /dev/null");
    let mut word = [0; 4];
    reader.read_exact(&mut word).expect("the grandchild has the pipe");
    assert_eq!(&word, b"kept");
    assert!(sockets.iter().all(|one| one.local_addr().is_ok()), "the parent has them as before");
}

const LEN: usize = 8192;

/// Memory that this process shares with its children, at this address if one is given; `None` if something
/// else is there.
fn shared(at: Option<NonNull<u8>>) -> Option<NonNull<u8>> {
    let place = at.map_or(std::ptr::null_mut(), |at| at.as_ptr().cast());
    let fixed = if at.is_some() { libc::MAP_FIXED_NOREPLACE } else { 0 };
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | fixed;
    // SAFETY: a new mapping, which replaces none.
    let memory = unsafe { libc::mmap(place, LEN, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if memory == libc::MAP_FAILED { None } else { NonNull::new(memory.cast()) }
}

/// Puts a value into the last byte of such memory, and gives the one that was there.
fn exchange(at: NonNull<u8>, value: u8) -> u8 {
    // SAFETY: the memory is mapped, and this process and its child touch it one after the other.
    unsafe { at.add(LEN - 1).replace(value) }
}

/// Memory that was noted, and what comes to be at its address afterwards; false if another thread had
/// something mapped there first.
fn memory_of_a_child() -> bool {
    let at = shared(None).expect("memory");
    // SAFETY: a mapping that was just made, and that nothing else uses.
    let noted = unsafe { UninheritedMemory::new(at, LEN) };
    exchange(noted.at(), 7);
    let (child, said) = Child::fork(|| exchange(at, 9));
    assert_eq!((said, exchange(at, 7)), (0, 7), "it is zero in the child, and nothing of it is shared");
    drop((child, noted));
    let Some(later) = shared(Some(at)) else { return false };
    assert_eq!(later, at);
    exchange(at, 5);
    let (_child, said) = Child::fork(|| exchange(at, 6));
    assert_eq!((said, exchange(at, 0)), (5, 6), "inherited as memory is that is shared");
    // SAFETY: the mapping was made above, and nothing uses it any more.
    assert_eq!(unsafe { libc::munmap(at.as_ptr().cast(), LEN) }, 0);
    true
}

#[test]
fn memory_is_zero_in_a_child_and_its_own_until_the_mapping_ends() {
    let _alone = alone();
    assert!((0..1000).any(|_| memory_of_a_child()));
}
