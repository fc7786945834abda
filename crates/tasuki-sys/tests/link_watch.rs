//! The kernel's reports about the ends of a cable: to any user, and also after they were not read for long.
//! Needs root for the cable.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use std::os::fd::AsFd;
use tasuki_sys::netlink::{LinkWatch, Netlink, VethEnd};

/// Moves this thread into a network namespace of its own, with a cable from `e0` to `e1` and both up. False
/// without root.
fn cable() -> bool {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root to make network namespaces");
        return false;
    }
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    let end = |name| VethEnd { name, mac: None, mtu: 1500, namespace: None };
    Netlink::open().expect("netlink").add_veth(&end("e0"), &end("e1")).expect("a cable");
    set_up("e0", true);
    set_up("e1", true);
    true
}

fn set_up(name: &str, up: bool) {
    let mut netlink = Netlink::open().expect("netlink");
    let index = netlink.link(name).expect("an interface").index;
    netlink.set_up(index, up).expect("up or down");
}

/// Waits until the last report on the interface at `place` says `carrier`. The time that the kernel takes is
/// not tested.
fn until(watch: &mut LinkWatch, place: usize, carrier: bool) {
    for _ in 0..600 {
        let mut last = None;
        watch.poll(|at, carrier| last = if at == place { Some(carrier) } else { last });
        if last == Some(carrier) {
            return;
        }
        let mut one = [PollFd::new(watch.as_fd(), PollFlags::POLLIN)];
        poll(&mut one, PollTimeout::from(100u16)).expect("poll");
    }
    panic!("never told that the carrier of {place} is {carrier}");
}

#[test]
fn both_ends_of_a_cable_are_told_of() {
    if !cable() {
        return;
    }
    let mut watch = LinkWatch::open(["lo", "e0", "e1", "e9"]).expect("a watch");
    // One interface is down in the new namespace and one does not exist: the first look finds that.
    let mut first = Vec::new();
    watch.poll(|at, carrier| first.push((at, carrier)));
    first.sort_unstable();
    assert_eq!(first, [(0, false), (3, false)]);
    for _ in 0..2 {
        set_up("e1", false);
        until(&mut watch, 1, false);
        set_up("e1", true);
        until(&mut watch, 1, true);
    }
    let mut netlink = Netlink::open().expect("netlink");
    let index = netlink.link("e1").expect("e1").index;
    netlink.delete_link(index).expect("gone");
    until(&mut watch, 1, false);
}

/// More is reported than the socket holds while it is not read: then the final state counts.
#[test]
fn what_was_lost_is_looked_up() {
    if !cable() {
        return;
    }
    let mut watch = LinkWatch::open(["e0"]).expect("a watch");
    watch.poll(|_, carrier| assert!(carrier));
    for down in [true, false] {
        (0..500).for_each(|turn| set_up("e0", (turn % 2 == 0) == down));
        set_up("e0", !down);
        if down {
            until(&mut watch, 0, false);
        }
    }
    // The interface went from down to up again, and that was not read.
    until(&mut watch, 0, true);
}

#[test]
fn an_ordinary_user_may_listen() {
    if !cable() {
        return;
    }
    set_up("e1", false);
    // SAFETY: no pointers are passed. The call itself, unlike the library's function, changes this thread
    // alone.
    let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
    assert_eq!(changed, 0, "{}", std::io::Error::last_os_error());
    let mut watch = LinkWatch::open(["e0"]).expect("a watch");
    until(&mut watch, 0, false);
}
