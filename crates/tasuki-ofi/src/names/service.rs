//! The listener that tells an endpoint's address, and the question to it. The listener sends the bytes of the
//! address to every process that connects, and closes. An address contains the secret by which the endpoint
//! accepts packets: an endpoint that is opened with a service is open to everybody who can connect there.
//! Others never listen.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tasuki_engine::{Address, Uninherited};
use tasuki_tuning::provider;

/// Listens at a location until it is dropped.
pub struct NameService {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// The process that listens: a child after fork(2) has neither the socket nor the thread.
    owner: u32,
}

struct Shared {
    listener: Uninherited<TcpListener>,
    stop: AtomicBool,
}

impl NameService {
    /// Begins to tell `address` at `at`.
    pub fn open(at: SocketAddr, address: &Address) -> io::Result<NameService> {
        let listener = Uninherited::new(listen(at)?);
        let shared = Arc::new(Shared { listener, stop: AtomicBool::new(false) });
        let (served, bytes) = (Arc::clone(&shared), address.to_bytes());
        let thread = std::thread::Builder::new().name("tasuki-names".to_owned());
        let thread = thread.spawn(move || {
            block_signals();
            served.serve(&bytes);
        })?;
        Ok(NameService { shared, thread: Some(thread), owner: std::process::id() })
    }
}

impl Drop for NameService {
    fn drop(&mut self) {
        let thread = self.thread.take();
        if self.owner != std::process::id() {
            std::mem::forget(thread);
            return;
        }
        self.shared.stop.store(true, Ordering::Release);
        // SAFETY: an open socket. What waits in accept returns: shutdown(2) of a socket that listens ends
        // that on Linux.
        unsafe { libc::shutdown(self.shared.listener.as_raw_fd(), libc::SHUT_RDWR) };
        if let Some(thread) = thread {
            // A panic there has been reported; there is nothing to be saved.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn serve(&self, bytes: &[u8]) {
        while !self.stop.load(Ordering::Acquire) {
            match self.listener.accept() {
                // The bytes fit into the buffer of a new socket. A peer that has left already needs no
                // answer.
                Ok((mut asker, _)) => {
                    _ = asker.write_all(bytes).and_then(|()| asker.shutdown(Shutdown::Write))
                }
                Err(_) => std::thread::sleep(provider::NAME_PAUSE),
            }
        }
    }
}

/// All addresses of the host are those of both families; where the kernel has no IPv6, those of IPv4.
fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    match TcpListener::bind(at) {
        Err(error) if at.is_ipv6() && error.raw_os_error() == Some(libc::EAFNOSUPPORT) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, at.port()))
        }
        result => result,
    }
}

/// The program's signals are handled by the program's threads.
fn block_signals() {
    // SAFETY: sigfillset initialises the set, which outlives the call; no old mask is asked for.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}

/// The address that the listener at `at` tells.
pub fn ask(at: SocketAddr) -> io::Result<Address> {
    let mut connection = TcpStream::connect_timeout(&at, provider::NAME_WAIT)?;
    connection.set_read_timeout(Some(provider::NAME_WAIT))?;
    let mut bytes = [0; Address::LEN];
    connection.read_exact(&mut bytes)?;
    Address::from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{ANYWHERE, location};

    #[test]
    fn an_address_is_told_until_the_service_closes() {
        let address = Address { endpoint: 5, incarnation: 6, secret: [7; 16], ..location(ANYWHERE) };
        let service = NameService::open("127.0.0.1:0".parse().expect("a location"), &address);
        let service = service.expect("the kernel finds a port");
        let at = service.shared.listener.local_addr().expect("it is bound");
        assert_eq!(ask(at).expect("an answer"), address);
        assert_eq!(ask(at).expect("another answer"), address);
        let taken = NameService::open(at, &address).err().expect("the port is taken");
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        drop(service);
        assert_eq!(ask(at).expect_err("nobody listens").kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn who_tells_something_else_is_not_believed() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the kernel finds a port");
        let at = listener.local_addr().expect("it is bound");
        let other = std::thread::spawn(move || {
            let (mut asker, _) = listener.accept().expect("somebody asks");
            asker.write_all(&[b'x'; Address::LEN]).expect("it is sent");
        });
        assert_eq!(ask(at).expect_err("no address").kind(), io::ErrorKind::InvalidData);
        other.join().expect("no panic");
    }
}
