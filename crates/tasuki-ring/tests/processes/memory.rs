//! Reading and writing the memory of another process.

use std::process::{Command, Stdio};

use tasuki_ring::{Cma, Outbox, Token};

use super::inbox;
use super::other::Other;

#[test]
fn memory_of_another_process_is_read_where_that_is_allowed() {
    let name = Token::random().expect("random");
    let mut other = Other::start("own", &[&name.to_string()]);
    let address: u64 = other.hear().parse().expect("an address");
    let outbox = Outbox::open(&name, &name).expect("the segment");
    let Some(cma) = Cma::probe(&outbox) else {
        eprintln!("skipped: process_vm_readv is forbidden here");
        return other.kill();
    };
    let mut bytes = vec![0; 100_000];
    cma.read(address, &mut bytes).expect("its memory");
    assert!(bytes.iter().zip(0_u32..).all(|(&byte, n)| u32::from(byte) == n % 251));
    // Page zero is never mapped; the last address wraps.
    assert!(cma.read(16, &mut bytes[..8]).is_err());
    assert!(cma.read(u64::MAX - 4, &mut bytes).is_err());
    // Writing changes these bytes and no others.
    let fresh = [0xff; 5000];
    // SAFETY: the other process leaves these bytes alone.
    let write = |at: u64, len: usize| unsafe { cma.write(at, fresh.as_ptr(), len) };
    write(address + 1001, 5000).expect("its memory");
    let mut after = vec![0; 100_000];
    cma.read(address, &mut after).expect("its memory");
    bytes[1001..6001].fill(0xff);
    assert!(bytes == after);
    assert!(write(16, 8).is_err() && write(u64::MAX - 4, 8).is_err());
    other.kill();
    assert!(cma.read(address, &mut bytes[..8]).is_err());
    assert!(write(address, 8).is_err());
    assert!(Cma::probe(&outbox).is_none());
}

#[test]
fn a_peer_in_a_pid_namespace_of_its_own_lives_and_is_read() {
    let unshare = ["--pid", "--fork", "--kill-child", "--"];
    let allowed = Command::new("unshare").args(unshare).arg("true").stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: a PID namespace needs CAP_SYS_ADMIN and util-linux");
    }
    let mut command = Command::new("unshare");
    command.args(unshare).arg(std::env::current_exe().expect("own path"));
    let name = Token::random().expect("random");
    let mut other = Other::start_by(command, "own", &[&name.to_string()]);
    let address: u64 = other.hear().parse().expect("an address");
    let outbox = Outbox::open(&name, &name).expect("the segment");
    // The process id that the peer has in its own namespace (1 or 2) is that of another process here.
    assert!(outbox.alive());
    let mut bytes = [0; 8];
    match Cma::probe(&outbox) {
        Some(cma) => {
            cma.read(address, &mut bytes).expect("its memory");
            assert_eq!(bytes, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
        None => eprintln!("process_vm_readv is forbidden here"),
    }
    other.tell();
    other.finish();
    assert!(!outbox.alive());
}

#[test]
fn own_memory_is_read_too() {
    let inbox = inbox();
    let outbox = Outbox::open(&inbox.token(), &inbox.token()).expect("the segment");
    let Some(cma) = Cma::probe(&outbox) else {
        return eprintln!("skipped: process_vm_readv is forbidden here");
    };
    let (from, mut into) = ([5_u8; 32], [0_u8; 32]);
    cma.read(from.as_ptr() as u64, &mut into).expect("own memory");
    assert_eq!(from, into);
}
